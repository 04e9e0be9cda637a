package fifo_test

import (
	"context"
	"errors"
	"iter"
	"slices"
	"sync"

	"k8s.io/client-go/tools/cache"

	"github.com/kinglet-go/kinglet/fifo"
)

// legacy is a client-go DeltaFIFO made of ours: what an adapter has to do to
// have client-go's meaning of Pop too, that writers wait for process functions
// and that these may therefore write to what the queue looks at, unlocked.
type legacy struct {
	mu    sync.Mutex // held by writers and process functions
	queue *fifo.DeltaFIFO[string, any]
}

func newLegacy(opts cache.DeltaFIFOOptions) *legacy {
	l := &legacy{}
	typed := fifo.Options[string, any]{ReplaceAsSync: !opts.EmitDeltaTypeReplaced}
	if opts.KnownObjects != nil {
		typed.Known = legacyKnown{opts.KnownObjects}
	}
	if opts.Transformer != nil {
		typed.Transform = opts.Transformer
	}
	typed.OnError = func(error) {}
	l.queue = fifo.NewDeltaFIFO(opts.KeyFunction, typed)
	return l
}

// legacyKnown turns keys and look-ups of client-go's kind into ours.
type legacyKnown struct{ known cache.KeyListerGetter }

func (k legacyKnown) Keys() iter.Seq[string]            { return slices.Values(k.known.ListKeys()) }
func (k legacyKnown) Get(key string) (any, bool, error) { return k.known.GetByKey(key) }

func (l *legacy) Add(obj any) error    { return l.write(func() error { return l.queue.Add(obj) }) }
func (l *legacy) Update(obj any) error { return l.write(func() error { return l.queue.Update(obj) }) }
func (l *legacy) Resync() error        { return l.write(func() error { l.queue.Resync(); return nil }) }

func (l *legacy) Replace(list []any, _ string) error {
	return l.write(func() error { return l.queue.Replace(list) })
}

func (l *legacy) Delete(obj any) error {
	return l.write(func() error {
		switch d, tombstone := obj.(cache.DeletedFinalStateUnknown); {
		case !tombstone:
			return l.queue.Delete(obj)
		case d.Obj == nil:
			l.queue.DeleteKey(d.Key)
		default:
			l.queue.DeleteUnknown(d.Key, d.Obj)
		}
		return nil
	})
}

func (l *legacy) write(do func() error) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	err := do()
	if key := (*fifo.KeyError[any])(nil); errors.As(err, &key) {
		return cache.KeyError{Obj: key.Object, Err: key.Err}
	}
	if failed := (*fifo.TransformError[string])(nil); errors.As(err, &failed) {
		return failed.Err
	}
	return err
}

func (l *legacy) Pop(process cache.PopProcessFunc) (any, error) {
	var popped cache.Deltas
	_, err := l.queue.Pop(context.Background(), func(item fifo.Item[string, any], initial bool) error {
		l.mu.Lock()
		defer l.mu.Unlock()
		popped = legacyDeltas(item)
		return process(popped, initial)
	})
	if errors.Is(err, fifo.ErrClosed) {
		return nil, cache.ErrFIFOClosed
	}
	return popped, err
}

func legacyDeltas(item fifo.Item[string, any]) cache.Deltas {
	deltas := make(cache.Deltas, 0, len(item.Deltas))
	for _, d := range item.Deltas {
		obj := d.Object
		if d.FinalStateUnknown() {
			obj = cache.DeletedFinalStateUnknown{Key: item.Key, Obj: obj}
		}
		deltas = append(deltas, cache.Delta{Type: cache.DeltaType(d.Type.String()), Object: obj})
	}
	return deltas
}
