package clone

import (
	"maps"
	"reflect"
	"unsafe"

	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/kinglet-go/kinglet/internal/wire/gotype"
)

// copyOfMap returns a function that copies maps of a type with common elements, or nil.
// Keys are not copied deeply.
func copyOfMap(t *gotype.Type) copyFunc {
	switch elem := t.Elem; {
	case t.Key.Kind != reflect.String || elem.Go != quantityType && copiesItself(elem.Go):
	case elem.Go == quantityType:
		return copyQuantityMap
	case elem.Kind == reflect.String:
		return copyStringMap
	case elem.Kind == reflect.Slice && elem.Elem.Kind == reflect.Uint8 && !copiesItself(elem.Elem.Go):
		return copySliceMap[byte]
	case elem.Kind == reflect.Slice && elem.Elem.Kind == reflect.String && !copiesItself(elem.Elem.Go):
		return copySliceMap[string]
	}
	return nil
}

var quantityType = reflect.TypeFor[resource.Quantity]()

// A map's layout depends on the kinds of its key and element, so these functions are for
// any type with the kinds of the one that they name.

func copyStringMap(from, to unsafe.Pointer) {
	*(*map[string]string)(to) = maps.Clone(*(*map[string]string)(from))
}

func copySliceMap[E any](from, to unsafe.Pointer) {
	had := *(*map[string][]E)(from)
	made := maps.Clone(had)
	for k, v := range had {
		if v != nil {
			made[k] = append(make([]E, 0, len(v)), v...)
		}
	}
	*(*map[string][]E)(to) = made
}

func copyQuantityMap(from, to unsafe.Pointer) {
	had := *(*map[string]resource.Quantity)(from)
	made := maps.Clone(had)
	for k, q := range had {
		// Few quantities lead to other memory.
		if own := q.DeepCopy(); own != q {
			made[k] = own
		}
	}
	*(*map[string]resource.Quantity)(to) = made
}

func copyQuantity(from, to unsafe.Pointer) {
	*(*resource.Quantity)(to) = (*resource.Quantity)(from).DeepCopy()
}

// copyMap copies a map of any type.
func copyMap(t reflect.Type, elem *Plan, from, to unsafe.Pointer) {
	had := reflect.NewAt(t, from).Elem()
	if had.IsNil() {
		return
	}
	made := reflect.MakeMapWithSize(t, had.Len())
	v, own := reflect.New(t.Elem()), reflect.New(t.Elem())
	for each := had.MapRange(); each.Next(); {
		v.Elem().SetIterValue(each)
		elem.into(own.UnsafePointer(), v.UnsafePointer())
		made.SetMapIndex(each.Key(), own.Elem())
	}
	reflect.NewAt(t, to).Elem().Set(made)
}

func copyUnstructured(from, to unsafe.Pointer) {
	(*unstructured.Unstructured)(to).Object = Untyped((*unstructured.Unstructured)(from).Object)
}

// Untyped returns a deep copy of a JSON object. Like runtime.DeepCopyJSON, it panics on
// values that JSON does not have.
func Untyped(object map[string]any) map[string]any {
	made := maps.Clone(object)
	for name, v := range object {
		switch v := v.(type) {
		case string, int64, bool, float64, nil:
		case map[string]any:
			made[name] = Untyped(v)
		default:
			made[name] = untypedValue(v)
		}
	}
	return made
}

func untypedValue(v any) any {
	switch v := v.(type) {
	case map[string]any:
		return Untyped(v)
	case []any:
		if v == nil {
			return v
		}
		made := make([]any, len(v))
		for i, e := range v {
			made[i] = untypedValue(e)
		}
		return made
	}
	return runtime.DeepCopyJSONValue(v)
}
