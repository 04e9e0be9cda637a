package cache

import (
	"fmt"

	"github.com/kinglet-go/kinglet/fifo"
)

// deltasOf are the deltas under key as client-go has them.
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
	return Delta{Type: deltaType(d.Type), Object: d.Object}
}

func deltaType(t fifo.DeltaType) DeltaType {
	switch t {
	case fifo.Added:
		return Added
	case fifo.Updated:
		return Updated
	case fifo.Deleted:
		return Deleted
	case fifo.Replaced:
		return Replaced
	case fifo.Sync:
		return Sync
	}
	panic(fmt.Sprintf("BUG: a delta of type %v", t))
}

// typedDeltas are deltas as package fifo has them. It fails for types that
// stand for more than one object.
func typedDeltas(deltas Deltas) (fifo.Deltas[any], error) {
	typed := make(fifo.Deltas[any], 0, len(deltas))
	for _, d := range deltas {
		t, ok := deltaTypes[d.Type]
		if !ok {
			return nil, fmt.Errorf("a delta of type %q does not belong to one object", d.Type)
		}
		delta := fifo.Delta[any]{Type: t, Object: d.Object}
		if gone, ok := d.Object.(DeletedFinalStateUnknown); ok && t == fifo.Deleted {
			delta.Object, delta.Knowledge = gone.Obj, knowledgeOf(gone)
		}
		typed = append(typed, delta)
	}
	return typed, nil
}

var deltaTypes = map[DeltaType]fifo.DeltaType{
	Added: fifo.Added, Updated: fifo.Updated, Deleted: fifo.Deleted, Replaced: fifo.Replaced, Sync: fifo.Sync,
}

func knowledgeOf(gone DeletedFinalStateUnknown) fifo.Knowledge {
	if gone.Obj == nil {
		return fifo.KeyOnly
	}
	return fifo.LastSeen
}

// deletable is a queue of deltas, as far as deletes go.
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
