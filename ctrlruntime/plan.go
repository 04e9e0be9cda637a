package ctrlruntime

import (
	"reflect"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kinglet-go/kinglet/internal/wire/clone"
	"github.com/kinglet-go/kinglet/internal/wire/fields"
)

// newCopier returns a copier for a pointer's type. It copies the fields of only, or all
// if only is nil.
func newCopier(pointer reflect.Type, only *fields.Drops) copier {
	if only != nil && pointer == reflect.TypeFor[*unstructured.Unstructured]() {
		return func(from, to client.Object) {
			to.(*unstructured.Unstructured).Object = clone.UntypedFields(from.(*unstructured.Unstructured).Object, only)
		}
	}
	plan := clone.Of(pointer)
	if only != nil {
		plan = clone.OfFields(pointer, only)
	}
	if plan != nil {
		return func(from, to client.Object) { plan.Copy(to, from) }
	}
	return copyByObject
}
