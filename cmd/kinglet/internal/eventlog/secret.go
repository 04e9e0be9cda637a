package eventlog

import (
	"fmt"
	"hash/maphash"
	"slices"
)

// hidden stands for a value that must not be shown. Equal values have equal ones.
type hidden uint64

var hiddenSeed = maphash.MakeSeed()

// withoutSecrets returns the part of a Secret that may be shown. Only fields that are
// named here keep their values. Of the data and of annotations, in which kubectl apply and
// others keep copies of the data, the keys are left.
func withoutSecrets(obj map[string]any) map[string]any {
	out := hideBut(obj, "apiVersion", "kind", "type", "immutable")
	if metadata, ok := obj["metadata"].(map[string]any); ok {
		out["metadata"] = hideBut(metadata, "name", "generateName", "namespace", "uid", "resourceVersion", "generation", "creationTimestamp",
			"deletionTimestamp", "deletionGracePeriodSeconds", "labels", "ownerReferences", "finalizers")
	}
	return out
}

// hideBut returns a copy of a map in which the values of only these keys are shown.
func hideBut(m map[string]any, shown ...string) map[string]any {
	out := make(map[string]any, len(m))
	for key, v := range m {
		if !slices.Contains(shown, key) {
			v = hide(v)
		}
		out[key] = v
	}
	return out
}

// hide keeps the keys of a map, and nothing else.
func hide(v any) any {
	m, ok := v.(map[string]any)
	if !ok {
		return hidden(maphash.String(hiddenSeed, fmt.Sprint(v)))
	}
	out := make(map[string]any, len(m))
	for key, v := range m {
		out[key] = hidden(maphash.String(hiddenSeed, fmt.Sprint(v)))
	}
	return out
}
