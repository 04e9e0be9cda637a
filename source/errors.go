package source

import (
	"fmt"

	"github.com/kinglet-go/kinglet/store"
)

// Stage names where an object was lost.
type Stage string

const (
	// StageDecode: bytes did not become an object of the expected type.
	StageDecode Stage = "decode"
	// StageKey: the object's key could not be read.
	StageKey Stage = "key"
	// StageTransform: the transform function failed or panicked.
	StageTransform Stage = "transform"
)

// ItemError says that one object could not be taken in, which one, and why.
// The stream goes on.
type ItemError struct {
	Stage Stage
	// Key is zero if the identity could not be read.
	Key             store.Key
	ResourceVersion string
	Err             error
}

func (e *ItemError) Error() string {
	name := e.Key.String()
	if e.Key == (store.Key{}) {
		name = "an object without readable identity"
	}
	return fmt.Sprintf("%s of %s (resourceVersion %q): %v", e.Stage, name, e.ResourceVersion, e.Err)
}

// Unwrap returns what went wrong.
func (e *ItemError) Unwrap() error { return e.Err }
