package kinglet

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strconv"

	"github.com/kinglet-go/kinglet/internal/page"
	"github.com/kinglet-go/kinglet/store"
)

// shown are an informer's objects as the page shows them.
type shown[T any] struct{ informer *Informer[T] }

func (i *Informer[T]) shownObjects() page.Objects { return shown[T]{i} }

// KeysFrom implements page.Objects.
func (s shown[T]) KeysFrom(from store.Key, limit int) []store.Key {
	keys := make([]store.Key, 0, limit)
	for key := range s.informer.Snapshot().KeysFrom(from) {
		if len(keys) == limit {
			break
		}
		keys = append(keys, key)
	}
	return keys
}

// Object implements page.Objects.
func (s shown[T]) Object(key store.Key) (any, bool) {
	obj, found := s.informer.Snapshot().Get(key)
	if !found {
		return nil, false
	}
	secret := s.informer.Status().Resource.Resource == "secrets" || holdsSecret(reflect.TypeOf(obj), map[reflect.Type]bool{})
	return withoutSecrets(obj, secret), true
}

// withoutSecrets returns obj as in JSON, without fields that nobody reads or that
// repeat others. Of a Secret it returns some metadata, and the keys and lengths of its
// data.
func withoutSecrets(obj any, secret bool) any {
	b, err := json.Marshal(obj)
	if err != nil {
		return "it cannot be shown as JSON"
	}
	var fields map[string]any
	if err := json.Unmarshal(b, &fields); err != nil {
		return "it is no object in JSON"
	}
	metadata, _ := fields["metadata"].(map[string]any)
	if secret || fields["kind"] == "Secret" {
		return secretShown(fields, metadata)
	}
	delete(metadata, "managedFields")
	if annotations, ok := metadata["annotations"].(map[string]any); ok {
		delete(annotations, "kubectl.kubernetes.io/last-applied-configuration")
	}
	return fields
}

// secretShown keeps the fields that it names, and nothing else.
func secretShown(fields, metadata map[string]any) any {
	kept := map[string]any{}
	for _, name := range []string{"name", "namespace", "uid", "resourceVersion", "creationTimestamp", "deletionTimestamp"} {
		if v, ok := metadata[name].(string); ok {
			kept[name] = v
		}
	}
	out := map[string]any{"metadata": kept}
	if t, ok := fields["type"].(string); ok {
		out["type"] = t
	}
	if data, ok := fields["data"].(map[string]any); ok {
		sizes := map[string]string{}
		for key, value := range data {
			sizes[key] = "not shown"
			if text, ok := value.(string); ok {
				sizes[key] = fmt.Sprintf("not shown, %s characters of base64", strconv.Itoa(len(text)))
			}
		}
		out["data"] = sizes
	}
	return out
}

// holdsSecret reports whether a type is a core Secret or contains one.
func holdsSecret(t reflect.Type, seen map[reflect.Type]bool) bool {
	if t == nil || seen[t] {
		return false
	}
	seen[t] = true
	if t.Name() == "Secret" && t.PkgPath() == "k8s.io/api/core/v1" {
		return true
	}
	switch t.Kind() {
	case reflect.Pointer, reflect.Slice, reflect.Array, reflect.Map:
		return holdsSecret(t.Elem(), seen)
	case reflect.Struct:
		for k := range t.NumField() {
			if holdsSecret(t.Field(k).Type, seen) {
				return true
			}
		}
	}
	return false
}
