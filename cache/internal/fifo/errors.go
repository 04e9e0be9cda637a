package fifo

import (
	"errors"
	"fmt"

	"k8s.io/client-go/tools/cache"
)

// ErrClosed is returned by the Pop methods when the queue is closed and
// nothing waits in it any more.
var ErrClosed = cache.ErrFIFOClosed

// ErrNoKeyFunc is wrapped by the KeyError of every write to a queue that was
// made without a key function.
var ErrNoKeyFunc = errors.New("queue has no key function")

// ErrRequeue makes Pop put an item back, if its process function returns it. The
// Pop that called it returns Err, the inner error, which may be nil.
//
// The item goes to the end of the queue, unless its key was queued again in the
// meantime: then a FIFO keeps the newer object, and a DeltaFIFO puts the
// returned deltas before the newer ones. A FIFO's item that was deleted or
// replaced in the meantime does not come back. An error that wraps an ErrRequeue
// works as well; Pop returns the inner error then too.
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

// LookupError reports that Known failed for Key. It goes to Options.OnError; the
// write that needed the lookup goes on as documented there.
type LookupError[K comparable] struct {
	Key K
	Err error
}

func (e *LookupError[K]) Error() string {
	return fmt.Sprintf("fifo: look-up of %v in the known objects: %v", e.Key, e.Err)
}

// Unwrap returns Known's error.
func (e *LookupError[K]) Unwrap() error { return e.Err }
