package ctrlruntime

import (
	"bytes"
	"cmp"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kinglet-go/kinglet/reflector/resourceversion"
)

// What names how two caches differ.
type What uint8

const (
	// Missing means that the primary has an object that the shadow does not have.
	Missing What = iota + 1
	// Surplus means that the shadow has an object that the primary does not have.
	Surplus
	// Stale means that one cache has an older version, and does not catch up.
	Stale
	// Changed means that an object differs at one resource version.
	Changed
	// ShadowFailed means that the shadow returned an error, and the primary did not.
	ShadowFailed
	// NotSynced means that the shadow has not synced two minutes after the primary.
	NotSynced
)

// String describes the difference in words.
func (w What) String() string {
	switch w {
	case Missing:
		return "missing in the shadow"
	case Surplus:
		return "in the shadow alone"
	case Stale:
		return "of different versions"
	case Changed:
		return "different at one version"
	case ShadowFailed:
		return "an error of the shadow"
	case NotSynced:
		return "not synced by the shadow"
	}
	return "equal"
}

// pair is one object in both caches, nil in one that does not have it.
type pair struct{ primary, shadow client.Object }

// compare returns how the two differ, 0 if they do not, and the path of a changed
// field.
func (p pair) compare() (what What, path string) {
	switch {
	case p.primary == nil && p.shadow == nil:
		return 0, ""
	case p.shadow == nil:
		return Missing, ""
	case p.primary == nil:
		return Surplus, ""
	case p.primary.GetUID() != p.shadow.GetUID() || p.primary.GetResourceVersion() != p.shadow.GetResourceVersion():
		return Stale, ""
	}
	if path, differ := firstDifference(p.primary, p.shadow); differ {
		return Changed, path
	}
	return 0, ""
}

// lags reports whether a pair may differ only because one cache is behind, and moves.
// was is the pair when the same difference was found before. With exact, an object that
// is in one cache alone has moved if its version has changed.
func (p pair) lags(what What, was pair, exact bool) bool {
	switch what {
	case Missing:
		return was.primary == nil || moved(p.primary, was.primary, exact)
	case Surplus:
		return was.shadow == nil || moved(p.shadow, was.shadow, exact)
	case Stale:
		if was.primary == nil || was.shadow == nil {
			return true
		}
		primary, shadow := moved(p.primary, was.primary, true), moved(p.shadow, was.shadow, true)
		order, ok := resourceversion.Compare(p.primary.GetResourceVersion(), p.shadow.GetResourceVersion())
		switch {
		case !ok:
			return primary || shadow
		case order < 0:
			return primary
		}
		return shadow
	}
	return false
}

// moved reports whether an object is a different object than before or, with exact, a
// different version of it.
func moved(is, was client.Object, exact bool) bool {
	return is.GetUID() != was.GetUID() || exact && is.GetResourceVersion() != was.GetResourceVersion()
}

// hideValues cuts the path of a Secret after its first field, because the author of the
// Secret may have chosen the names below it.
func hideValues(k kindForm, path string) string {
	if k.Group != "" || k.Kind != "Secret" {
		return path
	}
	path = strings.TrimPrefix(path, ".")
	if end := strings.IndexAny(path, ".["); end >= 0 {
		path = path[:end]
	}
	return "." + path
}

// firstDifference returns the JSON path of the first field in which two objects differ,
// in the order of fields and keys. Nil equals empty. apiVersion and kind are left out,
// because not all caches set them.
func firstDifference(a, b client.Object) (path string, differ bool) {
	x, y := reflect.ValueOf(a), reflect.ValueOf(b)
	if x.Type() != y.Type() {
		return ".", true
	}
	if u, ok := a.(*unstructured.Unstructured); ok {
		x, y = reflect.ValueOf(withoutKind(u)), reflect.ValueOf(withoutKind(b.(*unstructured.Unstructured)))
	}
	return differenceIn(x, y)
}

func withoutKind(u *unstructured.Unstructured) map[string]any {
	fields := maps.Clone(u.Object)
	delete(fields, "apiVersion")
	delete(fields, "kind")
	return fields
}

var typeMeta = reflect.TypeFor[metav1.TypeMeta]()

// differenceIn returns the path from a and b to where they differ.
func differenceIn(a, b reflect.Value) (path string, differ bool) {
	switch a.Kind() {
	case reflect.Pointer, reflect.Interface:
		if a.IsNil() || b.IsNil() {
			return "", a.IsNil() != b.IsNil()
		}
		if a.Kind() == reflect.Pointer && a.Pointer() == b.Pointer() {
			return "", false
		}
		if a, b = a.Elem(), b.Elem(); a.Type() != b.Type() {
			return "", true
		}
		return differenceIn(a, b)
	case reflect.Struct:
		return differenceInStruct(a, b)
	case reflect.Map:
		return differenceInMap(a, b)
	case reflect.Slice, reflect.Array:
		if a.Kind() == reflect.Slice && a.Type().Elem().Kind() == reflect.Uint8 {
			return "", !bytes.Equal(a.Bytes(), b.Bytes())
		}
		for i := range min(a.Len(), b.Len()) {
			if rest, differ := differenceIn(a.Index(i), b.Index(i)); differ {
				return fmt.Sprintf("[%d]%s", i, rest), true
			}
		}
		if a.Len() != b.Len() {
			return fmt.Sprintf("[%d]", min(a.Len(), b.Len())), true
		}
		return "", false
	}
	return "", !a.Equal(b)
}

func differenceInStruct(a, b reflect.Value) (string, bool) {
	t := a.Type()
	if t == typeMeta {
		return "", false
	}
	if x, ok := a.Interface().(time.Time); ok { // of whatever zone
		return "", !x.Equal(b.Interface().(time.Time))
	}
	for i := range t.NumField() {
		if !t.Field(i).IsExported() { // such as a quantity
			return "", !equality.Semantic.DeepEqual(a.Interface(), b.Interface())
		}
	}
	for i := range t.NumField() {
		rest, differ := differenceIn(a.Field(i), b.Field(i))
		if !differ {
			continue
		}
		f := t.Field(i)
		name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		switch {
		case name != "":
			rest = "." + name + rest
		case !strings.Contains(options, "inline") && !f.Anonymous:
			rest = "." + f.Name + rest
		}
		return rest, true
	}
	return "", false
}

func differenceInMap(a, b reflect.Value) (string, bool) {
	keys := a.MapKeys()
	for _, key := range b.MapKeys() {
		if !a.MapIndex(key).IsValid() {
			keys = append(keys, key)
		}
	}
	slices.SortFunc(keys, func(x, y reflect.Value) int { return cmp.Compare(x.String(), y.String()) })
	for _, key := range keys {
		x, y := a.MapIndex(key), b.MapIndex(key)
		rest, differ := "", true
		if x.IsValid() && y.IsValid() {
			rest, differ = differenceIn(x, y)
		}
		if !differ {
			continue
		}
		if plain(key.String()) {
			return "." + key.String() + rest, true
		}
		return fmt.Sprintf("[%q]%s", key.String(), rest), true
	}
	return "", false
}

// plain reports whether a key needs no quotes in a path.
func plain(key string) bool {
	return key != "" && !strings.ContainsFunc(key, func(r rune) bool {
		return r != '_' && (r < '0' || r > '9') && (r < 'a' || r > 'z') && (r < 'A' || r > 'Z')
	})
}
