package cache

import (
	"fmt"

	"github.com/kinglet-go/kinglet/cache/internal/fifo"
)

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
