package source

import (
	"errors"
	"fmt"
	"reflect"
	"runtime/debug"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kinglet-go/kinglet/internal/wire/official"
	"github.com/kinglet-go/kinglet/source/internal/encoding"
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

// ItemError reports which object could not be read, and why. The stream goes on.
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

// NamelessError reports an object without a name, and so without a key here. It
// carries the object, for stores with other keys.
type NamelessError struct {
	object any
}

func (e *NamelessError) Error() string { return "the object has no name" }

// Object returns the object.
func (e *NamelessError) Object() any { return e.object }

// ErrEncoding reports a response, or an object, in an encoding that sources do
// not read.
var ErrEncoding = encoding.ErrEncoding

// ErrNoExactLists: the source has no Traits.ExactLists.
var ErrNoExactLists = errors.New("the source cannot list one version exactly")

// ErrNoStatus: an Error event has no Status, so it is unknown what went wrong and
// what the watch has missed.
var ErrNoStatus = errors.New("an Error event without a status")

// KindError reports an object of another kind, or of another Go type, than
// expected.
type KindError struct {
	Want, Got schema.GroupVersionKind
	// WantType and GotType are set where Go types were compared. Then Want and
	// Got are what else is known, and are mostly empty for typed objects.
	WantType, GotType reflect.Type
}

func (e *KindError) Error() string {
	if e.WantType != nil {
		return fmt.Sprintf("got %v where %v was due", described(e.GotType, e.Got), described(e.WantType, e.Want))
	}
	got := e.Got.String()
	if e.Got.Kind == "" {
		got = "an object that does not say its kind"
	}
	return fmt.Sprintf("got %s where %s was due", got, e.Want)
}

// described is a Go type, and the kind if it is known.
func described(typ reflect.Type, gvk schema.GroupVersionKind) string {
	if gvk.Empty() {
		return fmt.Sprint(typ)
	}
	return fmt.Sprintf("%v (%s)", typ, gvk)
}

// MalformedError reports bytes that violate the format, so that it is unknown
// where the next object begins. It ends the list or watch. It has What was being
// read, a string; the Offset of the first byte that did not fit, an int64, in the
// decompressed body; and Err.
type MalformedError = encoding.MalformedError

// TooLargeError reports one object that announced, or had, more bytes than
// Options.MaxObjectBytes. It ends the list or watch, before memory is allocated
// for them: etcd holds no object of such a size, so a length that large means a
// corrupt stream, and skipping it might skip all that follows. It has the Bytes
// that were announced, or for JSON, which announces nothing, that had arrived;
// and the Limit. Both are int64.
type TooLargeError = encoding.TooLargeError

// PanicError reports a panic in the code of a decoder, a transform or a key function. It
// has the Value that was passed to panic, which Unwrap returns if it is an error, and the
// Stack at the time, which Error leaves out.
type PanicError = official.PanicError

// guard calls fn, which runs user code, and turns its panic into a *PanicError:
// one object must not take down the stream.
func guard[R any](fn func() (R, error)) (res R, err error) {
	defer func() {
		if v := recover(); v != nil {
			var zero R
			res, err = zero, &PanicError{Value: v, Stack: debug.Stack()}
		}
	}()
	return fn()
}

func isNil[T any](obj T) bool {
	v := reflect.ValueOf(any(obj))
	switch v.Kind() {
	case reflect.Invalid:
		return true
	case reflect.Pointer, reflect.Map, reflect.Slice, reflect.Interface:
		return v.IsNil()
	}
	return false
}
