package ctrlruntime

import (
	"reflect"
	"sync"

	"sigs.k8s.io/controller-runtime/pkg/client"
)

// copier copies the object from into the object to. Both are pointers of one type.
type copier func(from, to client.Object)

// copyByObject copies a type that has no method but DeepCopyObject.
func copyByObject(from, to client.Object) {
	reflect.ValueOf(to).Elem().Set(reflect.ValueOf(from.DeepCopyObject()).Elem())
}

// copiers holds a copier for each type and set of fields.
var copiers struct {
	whole sync.Map // copier by reflect.Type: no more than there are types

	mu      sync.RWMutex
	partial map[partialKey]copier // guarded by mu
}

// partialKey identifies what Writable copies of a type.
type partialKey struct {
	pointer reflect.Type
	paths   string
}

// maxPartial is how many sets of fields are remembered. Programs name fewer; one that
// generates more has them compiled again.
const maxPartial = 1000

// wholeCopier returns the copier of all fields.
func wholeCopier(pointer reflect.Type) copier {
	if c, ok := copiers.whole.Load(pointer); ok {
		return c.(copier)
	}
	c, _ := copiers.whole.LoadOrStore(pointer, newCopier(pointer, nil))
	return c.(copier)
}

// partialCopier returns the copier of the fields that w names. The error is a
// *WritableError.
func partialCopier(pointer reflect.Type, w *writable) (copier, error) {
	key := partialKey{pointer, w.text}
	copiers.mu.RLock()
	c := copiers.partial[key]
	copiers.mu.RUnlock()
	if c != nil {
		return c, nil
	}
	only, err := w.only(pointer.Elem())
	if err != nil {
		return nil, err
	}
	c = newCopier(pointer, only)
	copiers.mu.Lock()
	defer copiers.mu.Unlock()
	if len(copiers.partial) >= maxPartial || copiers.partial == nil {
		copiers.partial = make(map[partialKey]copier)
	}
	copiers.partial[key] = c
	return c, nil
}
