package store

import (
	"errors"
	"fmt"
)

// ErrNoIndex is wrapped by errors about an index name that does not exist.
var ErrNoIndex = errors.New("no such index")

// ErrIndexExists is wrapped when an index is added under a name in use.
var ErrIndexExists = errors.New("index exists already")

// ErrNoKeyFunc is wrapped by the error of a write that names no key, to a store
// without a KeyFunc.
var ErrNoKeyFunc = errors.New("the store has no key function")

// Errors returns the parts of an error that a write returned, in the order of
// the operations. There is a *KeyError for each operation that was not made. For
// each operation that was made although a user function failed, there is that
// function's error: an *IndexError, if the object is absent from that index. It
// is empty if err is nil.
func Errors(err error) []error {
	if err == nil {
		return nil
	}
	if several, ok := err.(interface{ Unwrap() []error }); ok {
		return several.Unwrap()
	}
	return []error{err}
}

// joined returns errs as one error. Errors returns its parts.
func joined(errs []error) error {
	if len(errs) == 1 {
		return errs[0]
	}
	return errors.Join(errs...)
}

// KeyError reports an object without a usable key. Nothing was written.
type KeyError struct {
	// Object describes what it was (its type, and name where known).
	Object string
	Err    error
}

func (e *KeyError) Error() string { return fmt.Sprintf("no key for %s: %v", e.Object, e.Err) }

// Unwrap returns the key function's error.
func (e *KeyError) Unwrap() error { return e.Err }

// IndexError reports that an index function failed for one object, which is
// stored but not found through that index.
type IndexError struct {
	Index string
	Key   Key
	Err   error
}

func (e *IndexError) Error() string {
	return fmt.Sprintf("index %q of %s: %v (stored, but absent from this index)", e.Index, e.Key, e.Err)
}

// Unwrap returns the index function's error.
func (e *IndexError) Unwrap() error { return e.Err }

// PanicError is the error of a user function that panicked: the function counts
// as failed, and the store goes on.
type PanicError struct {
	// Value is what was passed to panic.
	Value any
	// Stack is the stack at the panic.
	Stack []byte
}

func (e *PanicError) Error() string { return fmt.Sprintf("panic: %v", e.Value) }

// Unwrap returns the panic's value if it was an error.
func (e *PanicError) Unwrap() error {
	err, _ := e.Value.(error)
	return err
}
