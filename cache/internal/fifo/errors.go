package fifo

import (
	"errors"
	"fmt"
)

// ErrClosed is returned by the Pop methods when the queue is closed and
// nothing waits in it any more.
var ErrClosed = errors.New("fifo: queue is closed")

// ErrNoKeyFunc is wrapped by the KeyError of every write to a queue that was
// made without a key function.
var ErrNoKeyFunc = errors.New("queue has no key function")

// ErrNoDeltas is returned by DeltaFIFO.AddIfNotPresent for an item without
// deltas. Nothing was queued.
var ErrNoDeltas = errors.New("fifo: item without deltas")

// ErrRequeue is what a process function returns to have its item put back. The
// Pop that called it returns Err, the inner error, which may be nil.
//
// The item goes to the end of the queue, unless its key came to wait again in
// the meantime: then a FIFO keeps the newer object, and a DeltaFIFO puts the
// returned deltas before the newer ones. A FIFO's item that was deleted or
// replaced in the meantime does not come back. An error that wraps an
// ErrRequeue works as well; Pop returns the inner error all the same.
//
// A closed queue takes items back too, and does not report ErrClosed before
// they have been popped again.
type ErrRequeue struct {
	Err error
}

// Error returns the text of the inner error, if there is one.
func (e ErrRequeue) Error() string {
	if e.Err == nil {
		return "fifo: item is to be queued again"
	}
	return e.Err.Error()
}

// Unwrap returns the inner error.
func (e ErrRequeue) Unwrap() error { return e.Err }

// KeyError says that an object has no usable key. Nothing was changed.
type KeyError[T any] struct {
	Object T
	Err    error
}

// Error names the type of the object, not its content, which may be large or
// secret.
func (e *KeyError[T]) Error() string {
	return fmt.Sprintf("fifo: no key for a %T: %v", e.Object, e.Err)
}

// Unwrap returns what the key function said.
func (e *KeyError[T]) Unwrap() error { return e.Err }

// TransformError says that the object under Key could not be transformed.
// Nothing was changed.
type TransformError[K comparable] struct {
	Key K
	Err error
}

func (e *TransformError[K]) Error() string {
	return fmt.Sprintf("fifo: transform of %v: %v", e.Key, e.Err)
}

// Unwrap returns what the transform function said.
func (e *TransformError[K]) Unwrap() error { return e.Err }

// LookupError says that Known failed for Key. It goes to Options.OnError; the
// write that asked went on as the method's documentation says.
type LookupError[K comparable] struct {
	Key K
	Err error
}

func (e *LookupError[K]) Error() string {
	return fmt.Sprintf("fifo: look-up of %v in the known objects: %v", e.Key, e.Err)
}

// Unwrap returns what Known said.
func (e *LookupError[K]) Unwrap() error { return e.Err }
