package json

import (
	"errors"
	"fmt"
	"reflect"
	"strings"
)

// ErrNotObject is what Decode returns where no JSON object begins.
var ErrNotObject = errors.New("json: not an object")

// TypeError is returned by Compile for a type that encoding/json would not
// decode field by field.
type TypeError struct{ Type reflect.Type }

func (e *TypeError) Error() string {
	return fmt.Sprintf("json: %v is no struct that is decoded field by field", e.Type)
}

// PathError is returned by Compile for a path to be dropped that no field
// answers to.
type PathError struct {
	Type reflect.Type
	Path string
	// At is how far the path leads, and Missing the name that is not there.
	At, Missing string
	// Nearest is the path of the field that resembles it most; empty if there
	// is no field at all.
	Nearest string
}

func (e *PathError) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "json: cannot drop %q from %v: no field %q", e.Path, e.Type, e.Missing)
	if e.At != "" {
		fmt.Fprintf(&b, " in %q", e.At)
	}
	if e.Nearest != "" {
		fmt.Fprintf(&b, "; the nearest is %q", e.Nearest)
	}
	return b.String()
}

// PanicError is returned by Decode if a type's own decoder panicked.
type PanicError struct {
	Value any
	Stack []byte
}

func (e *PanicError) Error() string {
	return fmt.Sprintf("json: decoding panicked: %v", e.Value)
}
