package clone

import (
	"maps"
	"unsafe"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
)

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
