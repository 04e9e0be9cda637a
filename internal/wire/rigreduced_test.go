package wire

import (
	"reflect"
	"slices"
	"strings"
	"unicode"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/kinglet-go/kinglet/internal/objectmeta"
)

// How the rig leaves out fields: path by path, after all was decoded.

// needed is what every object keeps.
var needed = []string{
	"apiVersion", "kind", "metadata.name", "metadata.namespace", "metadata.uid", "metadata.resourceVersion", "metadata.generation",
	"metadata.labels", "metadata.ownerReferences", "metadata.finalizers", "metadata.deletionTimestamp", "metadata.deletionGracePeriodSeconds",
}

// reduced returns obj with the fields of the paths in keep, all if there are none, and
// without those in drop, marked if more is missing than managed fields.
func reduced(obj any, keep, drop []string) any {
	partial := len(keep) > 0
	free := partial
	for _, path := range keep {
		free = free && path != "metadata" && path != "metadata.annotations" && !strings.HasPrefix(path, "metadata.annotations.")
	}
	if partial {
		v := reflect.New(reflect.TypeOf(obj).Elem())
		keepFields(v.Elem(), reflect.ValueOf(obj).Elem(), split(append(slices.Clone(needed), keep...)))
		obj = v.Interface()
	}
	for _, path := range drop {
		dropField(reflect.ValueOf(obj), strings.Split(path, "."))
		partial = partial || !strings.HasPrefix(path+".", "metadata.managedFields.")
		free = free || path == "metadata.annotations"
	}
	if partial {
		markPartial(obj, free)
	}
	return obj
}

func split(paths []string) (all [][]string) {
	for _, p := range paths {
		all = append(all, strings.Split(p, "."))
	}
	return all
}

// markPartial marks an object that has a name; free: it has no annotations of its own.
func markPartial(obj any, free bool) {
	if u, ok := obj.(*unstructured.Unstructured); ok {
		dropField(reflect.ValueOf(obj), []string{"metadata", "selfLink"})
		m, _ := u.Object["metadata"].(map[string]any)
		if name, _ := m["name"].(string); name == "" {
			return
		}
		if m["selfLink"] = objectmeta.Partial; free {
			m["annotations"] = map[string]any{objectmeta.PartialAnnotation: ""}
		}
		return
	}
	if m := metadataIn(reflect.ValueOf(obj).Elem()); m != nil {
		if m.SetSelfLink(""); m.Name == "" {
			return
		}
		if m.SetSelfLink(objectmeta.Partial); free {
			m.Annotations = map[string]string{objectmeta.PartialAnnotation: ""}
		}
	}
}

// metadataIn returns the metadata of an object, or nil.
func metadataIn(v reflect.Value) (m *metav1.ObjectMeta) {
	for i := 0; v.Kind() == reflect.Struct && i < v.NumField() && m == nil; i++ {
		f := v.Type().Field(i)
		switch name, _, _ := strings.Cut(f.Tag.Get("json"), ","); {
		case name == "metadata":
			m, _ = v.Field(i).Addr().Interface().(*metav1.ObjectMeta)
		case name == "" && f.Anonymous:
			m = metadataIn(v.Field(i))
		}
	}
	return m
}

// within returns what follows name in the paths that begin with it.
func within(paths [][]string, name string) (rest [][]string) {
	for _, p := range paths {
		if p[0] == name {
			rest = append(rest, p[1:])
		}
	}
	return rest
}

func ends(paths [][]string) bool {
	return slices.ContainsFunc(paths, func(p []string) bool { return len(p) == 0 })
}

// keepFields copies the fields that paths lead to from src to dst, which is empty.
func keepFields(dst, src reflect.Value, paths [][]string) {
	if src.Type() == unstructuredType {
		if u := src.Addr().Interface().(*unstructured.Unstructured); u.Object != nil {
			dst.Field(0).Set(reflect.ValueOf(keepUntyped(u.Object, paths)))
		}
		return
	}
	if ends(paths) && dst.CanSet() {
		dst.Set(src)
		return
	}
	switch src.Kind() {
	case reflect.Pointer:
		if !src.IsNil() {
			dst.Set(reflect.New(src.Type().Elem()))
			keepFields(dst.Elem(), src.Elem(), paths)
		}
	case reflect.Slice:
		if !src.IsNil() {
			dst.Set(reflect.MakeSlice(src.Type(), src.Len(), src.Len()))
		}
		for i := range src.Len() {
			keepFields(dst.Index(i), src.Index(i), paths)
		}
	case reflect.Map:
		if !src.IsNil() {
			dst.Set(reflect.MakeMap(src.Type()))
		}
		for it := src.MapRange(); it.Next(); {
			from, to := reflect.New(src.Type().Elem()).Elem(), reflect.New(src.Type().Elem()).Elem()
			from.Set(it.Value())
			keepFields(to, from, paths)
			dst.SetMapIndex(it.Key(), to)
		}
	case reflect.Struct:
		for i := range src.NumField() {
			f := src.Type().Field(i)
			name := jsonName(f)
			if !f.IsExported() && !f.Anonymous {
				continue // it is not in the JSON, whatever its tag says
			}
			rest := paths // also if they end at an embedded struct that cannot be set as a whole
			if (name != "" || !f.Anonymous) && !ends(paths) {
				rest = within(paths, name)
			}
			if len(rest) > 0 {
				keepFields(dst.Field(i), src.Field(i), rest)
			}
		}
	}
}

// jsonName returns the name of a field in JSON, as encoding/json has it; none if its fields
// are those of the struct.
func jsonName(f reflect.StructField) string {
	tag := f.Tag.Get("json")
	name, _, _ := strings.Cut(tag, ",")
	invalid := func(r rune) bool {
		return !strings.ContainsRune("!#$%&()*+-./:;<=>?@[]^_{|}~ ", r) && !unicode.IsLetter(r) && !unicode.IsDigit(r)
	}
	if strings.IndexFunc(name, invalid) >= 0 {
		name = ""
	}
	if name == "" && !f.Anonymous {
		return f.Name
	}
	return name
}

func keepUntyped(src any, paths [][]string) any {
	if ends(paths) {
		return src
	}
	switch src := src.(type) {
	case map[string]any:
		if src == nil {
			return src
		}
		dst := map[string]any{}
		for name, v := range src {
			if rest := within(paths, name); len(rest) > 0 {
				dst[name] = keepUntyped(v, rest)
			}
		}
		return dst
	case []any:
		dst := make([]any, len(src))
		for i := range src {
			dst[i] = keepUntyped(src[i], paths)
		}
		return dst
	}
	return src
}

// dropField empties the field that a path of JSON names leads to.
func dropField(v reflect.Value, path []string) {
	switch v.Kind() {
	case reflect.Pointer, reflect.Interface:
		if !v.IsNil() {
			dropField(v.Elem(), path)
		}
	case reflect.Slice:
		for i := range v.Len() {
			dropField(v.Index(i), path)
		}
	case reflect.Map:
		m, ok := v.Interface().(map[string]any)
		if ok && len(path) == 1 {
			delete(m, path[0])
		} else if ok {
			dropField(reflect.ValueOf(m[path[0]]), path[1:])
		}
	case reflect.Struct:
		if _, ok := v.Type().FieldByName("Object"); ok && v.NumField() == 1 {
			dropField(v.Field(0), path)
			return
		}
		for i := range v.NumField() {
			f := v.Type().Field(i)
			name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
			switch {
			case name == "" && f.Anonymous:
				dropField(v.Field(i), path)
			case name != path[0]:
			case len(path) == 1:
				v.Field(i).SetZero()
			default:
				dropField(v.Field(i), path[1:])
			}
		}
	}
}
