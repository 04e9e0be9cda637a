package clone

import (
	"cmp"
	"fmt"
	"reflect"
	"slices"
	"time"
)

// span is memory that a value leads to and that can be written to.
type span struct {
	from, to uintptr
	path     string
}

// spansOf returns the memory that the value p points to leads to: what pointers lead
// to, and slices with the room behind their end. A map is one byte.
func spansOf(p any) (all []span) {
	seen := map[uintptr]bool{}
	var walk func(v reflect.Value, path string)
	walk = func(v reflect.Value, path string) {
		add := func(from, size uintptr) {
			if size > 0 {
				all = append(all, span{from, from + size, path})
			}
		}
		switch v.Kind() {
		case reflect.Pointer:
			if !v.IsNil() && v.Type() != reflect.TypeFor[*time.Location]() {
				add(v.Pointer(), v.Type().Elem().Size())
				walk(v.Elem(), path)
			}
		case reflect.Slice:
			add(v.Pointer(), uintptr(v.Cap())*v.Type().Elem().Size())
			for i := range v.Len() {
				walk(v.Index(i), fmt.Sprintf("%s[%d]", path, i))
			}
		case reflect.Array:
			for i := range v.Len() {
				walk(v.Index(i), fmt.Sprintf("%s[%d]", path, i))
			}
		case reflect.Map:
			if v.IsNil() || seen[v.Pointer()] {
				return
			}
			add(v.Pointer(), 1)
			for e := v.MapRange(); e.Next(); {
				walk(e.Value(), fmt.Sprintf("%s[%v]", path, e.Key()))
			}
		case reflect.Interface:
			if !v.IsNil() {
				walk(v.Elem(), path)
			}
		case reflect.Struct:
			for i := range v.NumField() {
				walk(v.Field(i), path+"."+v.Type().Field(i).Name)
			}
		}
	}
	walk(reflect.ValueOf(p).Elem(), "")
	return all
}

// overlap returns an error for memory that two spans have in common.
func overlap(spans []span) error {
	slices.SortFunc(spans, func(a, b span) int { return cmp.Compare(a.from, b.from) })
	for i := 1; i < len(spans); i++ {
		if a, b := spans[i-1], spans[i]; b.from < a.to {
			return fmt.Errorf("%s and %s share memory", a.path, b.path)
		}
	}
	return nil
}
