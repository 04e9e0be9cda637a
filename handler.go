package kinglet

import (
	"context"

	"github.com/kinglet-go/kinglet/store"
)

// Handler is called with the changes of an informer, in order, on a goroutine of its
// own. It may block: meanwhile, changes of one key fold into one record, and no other
// handler is delayed. The context ends when the handler is removed or the informer
// stops.
//
// The Old of an Updated and the Last of a Deleted are the state that the handler received
// last. The Old of a Deleted is the final state, which may be a later one: a handler that
// keeps something by a part of the objects, such as a label, finds it by that of Last.
//
// The informer reuses the slice after the call; the objects in it are shared and
// read-only.
type Handler[T any] interface {
	Handle(ctx context.Context, changes []store.Change[T])
}

// BatchLimiter is a Handler that limits the size of its batches if
// HandlerOptions.MaxBatch is 0. A type that embeds such a handler has the method as
// well; a wrapper that holds one in a field declares its own.
type BatchLimiter interface {
	// MaxBatch returns the largest number of changes in one call, at least 1.
	MaxBatch() int
}

// HandlerFunc is a function as a Handler.
type HandlerFunc[T any] func(ctx context.Context, changes []store.Change[T])

// Handle calls f.
func (f HandlerFunc[T]) Handle(ctx context.Context, changes []store.Change[T]) { f(ctx, changes) }

// HandlerFuncs is a Handler with one function for each kind of change. A nil function
// is skipped.
type HandlerFuncs[T any] struct {
	// OnAdd is called for a key that is new to this handler, or new again after a
	// delete. initial is true for the state that the handler begins with.
	OnAdd func(ctx context.Context, obj T, initial bool)
	// OnUpdate is called for a later state. On a resync old and obj are the same.
	OnUpdate func(ctx context.Context, old, obj T)
	// OnDelete is called when the key is gone. What the handler keeps by a part of the
	// objects, such as a label, it finds by that of deleted.Last, the object of the last
	// OnAdd or OnUpdate.
	OnDelete func(ctx context.Context, deleted DeletedObject[T])
}

// DeletedObject is what is known of an object that is gone.
type DeletedObject[T any] struct {
	Key Key
	// Object is the final state, or the last one seen if FinalStateUnknown.
	Object T
	// Last is the state that the handler received last. It differs from Object if the
	// object changed in its last step, or if the handler was behind: updates of a key fold
	// into its delete.
	Last T
	// FinalStateUnknown is true if the delete itself was missed, and a later list
	// lacked the object.
	FinalStateUnknown bool
	// ResourceVersion is the collection's version at which the key was gone.
	ResourceVersion string
}

// MaxBatch returns 1, so that a panic names its key and no change follows a Remove.
func (h HandlerFuncs[T]) MaxBatch() int { return 1 }

// Handle calls the function that belongs to each change.
func (h HandlerFuncs[T]) Handle(ctx context.Context, changes []store.Change[T]) {
	for i := range changes {
		switch c := &changes[i]; c.Type {
		case store.Added:
			if h.OnAdd != nil {
				h.OnAdd(ctx, c.New, c.Reason == store.Initial)
			}
		case store.Updated:
			if h.OnUpdate != nil {
				h.OnUpdate(ctx, c.Old, c.New)
			}
		case store.Deleted:
			if h.OnDelete != nil {
				h.OnDelete(ctx, DeletedObject[T]{
					Key:               c.Key,
					Object:            c.Old,
					Last:              c.Last,
					FinalStateUnknown: c.FinalStateUnknown,
					ResourceVersion:   c.ResourceVersion,
				})
			}
		}
	}
}
