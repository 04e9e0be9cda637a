package cache

import (
	"context"
	"fmt"

	kc "k8s.io/client-go/tools/cache"

	"github.com/kinglet-go/kinglet/cache/internal/fifo"
)

// DeltaFIFOOptions say how a DeltaFIFO works. All are optional. Logger has no
// effect: what goes wrong with KnownObjects is reported as other errors are.
type DeltaFIFOOptions = kc.DeltaFIFOOptions

// DeltaFIFO is a Queue that holds the deltas of each key since it was last
// popped, and pops keys in the order in which they were queued. Its items are
// of type Deltas. All methods are safe for concurrent use, and only Pop blocks.
// The package's documentation lists where client-go differs.
type DeltaFIFO struct {
	deltaQueueBase
	queue *fifo.DeltaFIFO[string, any]
}

var (
	_ Queue             = (*DeltaFIFO)(nil)
	_ TransformingStore = (*DeltaFIFO)(nil)
	_ DoneChecker       = (*DeltaFIFO)(nil)
)

// NewDeltaFIFO returns an empty DeltaFIFO that queues replaced objects as Sync.
//
// Deprecated: NewDeltaFIFOWithOptions can tell the two apart.
func NewDeltaFIFO(keyFunc KeyFunc, knownObjects KeyListerGetter) *DeltaFIFO {
	return NewDeltaFIFOWithOptions(DeltaFIFOOptions{KeyFunction: keyFunc, KnownObjects: knownObjects})
}

// NewDeltaFIFOWithOptions returns an empty DeltaFIFO. It starts no goroutine.
func NewDeltaFIFOWithOptions(opts DeltaFIFOOptions) *DeltaFIFO {
	f := &DeltaFIFO{deltaQueueBase: deltaQueueBase{keyFunc: opts.KeyFunction, known: opts.KnownObjects, transformer: opts.Transformer}}
	typed := f.typedOptions()
	typed.ReplaceAsSync = !opts.EmitDeltaTypeReplaced
	f.queue = fifo.NewDeltaFIFO(f.KeyOf, typed)
	f.use(f.queue, "DeltaFIFO", opts.Name)
	return f
}

// KeyOf returns the key of an object, of a DeletedFinalStateUnknown or of
// Deltas. The error is the key function's, or a KeyError for empty Deltas.
func (f *DeltaFIFO) KeyOf(obj any) (string, error) { return keyOf(f.keyFunc, obj) }

// AddIfNotPresent queues Deltas that were popped, unless something is queued
// under their key. To make Pop put back what it popped, return ErrRequeue
// instead, which loses nothing in that case.
func (f *DeltaFIFO) AddIfNotPresent(obj any) error {
	deltas, ok := obj.(Deltas)
	if !ok {
		return fmt.Errorf("only Deltas can be put back into a DeltaFIFO, not %T", obj)
	}
	key, err := f.KeyOf(deltas)
	if err != nil {
		return KeyError{Obj: obj, Err: err}
	}
	typed, err := typedDeltas(deltas)
	if err != nil {
		return err
	}
	return f.write(func() error {
		f.queue.AddIfNotPresent(fifo.Item[string, any]{Key: key, Deltas: typed})
		return nil
	})
}

// Replace queues a Replaced or Sync delta for each object of list, and a
// Deleted one with a DeletedFinalStateUnknown for every other key that is in
// the queue, in flight or known. The error is a KeyError or the transformer's,
// and then nothing was queued.
func (f *DeltaFIFO) Replace(list []any, _ string) error {
	return f.replace(list)
}

// Resync queues a Sync delta for every known object that has nothing queued.
func (f *DeltaFIFO) Resync() error { return f.resync() }

// List returns the newest object of every key that waits, the next one first.
func (f *DeltaFIFO) List() []any {
	items := f.queue.Items()
	list := make([]any, len(items))
	for i, item := range items {
		newest, _ := item.Deltas.Newest()
		list[i] = deltaOf(item.Key, newest).Object
	}
	return list
}

// ListKeys returns the keys that wait, the next one first.
func (f *DeltaFIFO) ListKeys() []string { return f.queue.ListKeys() }

// Get returns the Deltas that wait under obj's key, a copy. The error is a
// KeyError.
func (f *DeltaFIFO) Get(obj any) (item any, exists bool, err error) {
	key, err := f.KeyOf(obj)
	if err != nil {
		return nil, false, KeyError{Obj: obj, Err: err}
	}
	return f.GetByKey(key)
}

// GetByKey returns the Deltas that wait under key, a copy. There is no error.
func (f *DeltaFIFO) GetByKey(key string) (item any, exists bool, err error) {
	typed, exists := f.queue.GetByKey(key)
	if !exists {
		return nil, false, nil
	}
	return deltasOf(key, typed), true, nil
}

// Pop waits for a key, removes it from the queue and calls process with its
// Deltas, while writers to the queue are blocked. It returns the Deltas and
// process's error; ErrRequeue puts them back. It returns ErrFIFOClosed once the
// queue is closed and empty.
func (f *DeltaFIFO) Pop(process PopProcessFunc) (any, error) {
	var popped any
	_, err := f.queue.Pop(context.Background(), locked(&f.queueBase, func(item fifo.Item[string, any], initial bool) error {
		deltas := deltasOf(item.Key, item.Deltas)
		popped = deltas
		return process(deltas, initial)
	}))
	return popped, err
}

// deltasOf converts the deltas under key to client-go's type.
func deltasOf(key string, typed fifo.Deltas[any]) Deltas {
	deltas := make(Deltas, len(typed))
	for i, d := range typed {
		deltas[i] = deltaOf(key, d)
	}
	return deltas
}

func deltaOf(key string, d fifo.Delta[any]) Delta {
	if d.FinalStateUnknown() {
		return Delta{Type: Deleted, Object: DeletedFinalStateUnknown{Key: key, Obj: d.Object}}
	}
	return Delta{Type: d.Type, Object: d.Object}
}

// typedDeltas converts deltas to package fifo's type. It fails for types that
// stand for more than one object.
func typedDeltas(deltas Deltas) (fifo.Deltas[any], error) {
	typed := make(fifo.Deltas[any], 0, len(deltas))
	for _, d := range deltas {
		switch d.Type {
		case Added, Updated, Deleted, Replaced, Sync:
		default:
			return nil, fmt.Errorf("a delta of type %q does not belong to one object", d.Type)
		}
		delta := fifo.Delta[any]{Type: d.Type, Object: d.Object}
		if gone, ok := d.Object.(DeletedFinalStateUnknown); ok && d.Type == Deleted {
			delta.Object, delta.Knowledge = gone.Obj, knowledgeOf(gone)
		}
		typed = append(typed, delta)
	}
	return typed, nil
}

func knowledgeOf(gone DeletedFinalStateUnknown) fifo.Knowledge {
	if gone.Obj == nil {
		return fifo.KeyOnly
	}
	return fifo.LastSeen
}

// deletable is the part of a queue of deltas that deletes.
type deletable interface {
	Delete(obj any) error
	DeleteKey(key string)
	DeleteUnknown(key string, lastSeen any)
}

// deleteFrom queues the delete of an object, or of what a
// DeletedFinalStateUnknown knows of one.
func deleteFrom(queue deletable, obj any) error {
	switch gone, unknown := obj.(DeletedFinalStateUnknown); {
	case !unknown:
		return queue.Delete(obj)
	case gone.Obj == nil:
		queue.DeleteKey(gone.Key)
	default:
		queue.DeleteUnknown(gone.Key, gone.Obj)
	}
	return nil
}

// UndeltaStore is a Store that calls PushFunc with its whole contents after each
// successful write. The goroutine that wrote calls PushFunc, under no lock;
// after concurrent writes it may receive the same contents twice, and older ones
// after newer ones.
type UndeltaStore struct {
	Store
	PushFunc func([]any)
}

var _ Store = (*UndeltaStore)(nil)

// NewUndeltaStore returns an empty UndeltaStore.
func NewUndeltaStore(pushFunc func([]any), keyFunc KeyFunc) *UndeltaStore {
	return &UndeltaStore{Store: NewStore(keyFunc), PushFunc: pushFunc}
}

// push returns a write's error, or passes the contents on if there is none.
func (u *UndeltaStore) push(err error) error {
	if err == nil {
		u.PushFunc(u.List())
	}
	return err
}

// Add stores an object.
func (u *UndeltaStore) Add(obj any) error { return u.push(u.Store.Add(obj)) }

// Update stores an object.
func (u *UndeltaStore) Update(obj any) error { return u.push(u.Store.Update(obj)) }

// Delete removes the object that has obj's key.
func (u *UndeltaStore) Delete(obj any) error { return u.push(u.Store.Delete(obj)) }

// Replace stores this and nothing else.
func (u *UndeltaStore) Replace(list []any, resourceVersion string) error {
	return u.push(u.Store.Replace(list, resourceVersion))
}
