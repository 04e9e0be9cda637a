//go:build kinglet_safe

package ctrlruntime

import (
	"reflect"

	"sigs.k8s.io/controller-runtime/pkg/client"
)

// newCopier returns the copier of a pointer's type: its DeepCopyInto.
func newCopier(pointer reflect.Type) copier {
	if m, ok := pointer.MethodByName("DeepCopyInto"); ok {
		if t := m.Type; t.NumIn() == 2 && t.In(1) == pointer && t.NumOut() == 0 {
			return func(from, to client.Object) {
				into := reflect.ValueOf(to)
				into.Elem().SetZero()
				m.Func.Call([]reflect.Value{reflect.ValueOf(from), into})
			}
		}
	}
	return copyByObject
}
