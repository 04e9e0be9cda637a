package eventlog

import (
	"fmt"
	"hash/maphash"
)

// hidden stands for a value that must not be shown. Equal values have equal ones.
type hidden uint64

var hiddenSeed = maphash.MakeSeed()

// withoutSecrets returns the part of a Secret that may be shown. Only fields that are
// named here keep their values. Of the data and of annotations, in which kubectl apply and
// others keep copies of the data, the keys are left.
func withoutSecrets(obj map[string]any) map[string]any {
	out := make(map[string]any, len(obj))
	for key, v := range obj {
		switch key {
		case "apiVersion", "kind", "type", "immutable":
			out[key] = v
		case "metadata":
			out[key] = metadataOfSecret(v)
		default:
			out[key] = hide(v)
		}
	}
	return out
}

func metadataOfSecret(v any) any {
	metadata, ok := v.(map[string]any)
	if !ok {
		return hide(v)
	}
	out := make(map[string]any, len(metadata))
	for key, v := range metadata {
		switch key {
		case "name", "generateName", "namespace", "uid", "resourceVersion", "generation", "creationTimestamp", "deletionTimestamp",
			"deletionGracePeriodSeconds", "labels", "ownerReferences", "finalizers":
			out[key] = v
		default:
			out[key] = hide(v)
		}
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
