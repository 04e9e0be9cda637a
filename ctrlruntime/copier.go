package ctrlruntime

import (
	"reflect"
	"sync"

	"sigs.k8s.io/controller-runtime/pkg/client"
)

// copier copies the object from into the object to. Both are pointers of one type.
type copier func(from, to client.Object)

// copiers holds a copier by reflect.Type: no more than there are types.
var copiers sync.Map

// copierOf returns the copier of a pointer's type.
func copierOf(pointer reflect.Type) copier {
	c, ok := copiers.Load(pointer)
	if !ok {
		c, _ = copiers.LoadOrStore(pointer, newCopier(pointer))
	}
	return c.(copier)
}

// copyByObject copies a type that has no method but DeepCopyObject.
func copyByObject(from, to client.Object) {
	reflect.ValueOf(to).Elem().Set(reflect.ValueOf(from.DeepCopyObject()).Elem())
}
