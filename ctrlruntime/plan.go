package ctrlruntime

import (
	"reflect"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kinglet-go/kinglet/internal/wire/clone"
)

// newCopier returns the copier of a pointer's type: by a plan, if the type can have one.
func newCopier(pointer reflect.Type) copier {
	if plan := clone.Of(pointer); plan != nil {
		return func(from, to client.Object) { plan.Copy(to, from) }
	}
	return copyByObject
}
