package ctrlruntime

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kinglet-go/kinglet/internal/wire/fields"
)

// ReadOption is an option of a Get and of a List.
type ReadOption interface {
	client.GetOption
	client.ListOption
}

// Writable makes a read copy the fields with these paths, with all that is below them,
// and share the rest with the cache:
//
//	err := c.Get(ctx, key, &pod, ctrlruntime.Writable("status", "metadata.finalizers"))
//
// The program may write to these fields. It must not write to anything else that is
// reached through a pointer, a slice or a map: other readers would see that, and
// Options.MutationDetection finds it.
//
// A path is JSON names separated by dots. It leads through pointers, and into each
// element of a slice or map: with "spec.containers.env" the containers are copied, and
// share everything but their environment. A path that the type does not have fails the
// read with a *WritableError, which names the closest field; an unstructured object may
// have any path. Several of these options add up.
//
// The copy has apiVersion and kind. It is made even if deep copies are disabled. A type
// whose DeepCopyInto is written by hand is copied whole. Other clients and caches
// ignore the option, and copy everything.
func Writable(paths ...string) ReadOption {
	return &writable{paths: slices.Clone(paths), text: strings.Join(paths, " ")}
}

// writable is immutable.
type writable struct {
	paths []string
	// text names the set.
	text string
}

// ApplyToGet implements client.GetOption. It does nothing: other caches ignore the
// option.
func (*writable) ApplyToGet(*client.GetOptions) {}

// ApplyToList implements client.ListOption.
func (*writable) ApplyToList(*client.ListOptions) {}

// WritableError reports a path of Writable that an object's type does not have.
type WritableError struct {
	// Type is the object's type.
	Type reflect.Type
	// Path is empty if no path was given.
	Path string
	// Reason names the closest field.
	Reason string
}

// Error implements error.
func (e *WritableError) Error() string {
	return fmt.Sprintf("cannot make %q of %v writable: %s", e.Path, e.Type, e.Reason)
}

// only returns the fields of a type that are to be copied. The error is a
// *WritableError.
func (w *writable) only(t reflect.Type) (*fields.Drops, error) {
	if len(w.paths) == 0 {
		return nil, &WritableError{Type: t, Reason: "Writable names no field; leave it out to copy all of them"}
	}
	only, err := fields.DropsOf(t, w.paths)
	if wrong := (*fields.PathError)(nil); errors.As(err, &wrong) {
		return nil, &WritableError{Type: t, Path: wrong.Path, Reason: wrong.Reason()}
	}
	return only, err
}

// writableOf returns the union of the Writable options among opts; nil if there are
// none.
func writableOf[O any](opts []O) *writable {
	var all *writable
	for _, opt := range opts {
		w, ok := any(opt).(*writable)
		switch {
		case !ok:
		case all == nil:
			all = w
		default:
			all = &writable{paths: slices.Concat(all.paths, w.paths), text: all.text + " " + w.text}
		}
	}
	return all
}
