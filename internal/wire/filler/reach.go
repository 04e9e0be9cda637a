package filler

import "reflect"

// Reach calls visit with each struct that v leads to through exported fields and that has
// an address, once for each pointer to it.
func Reach(v reflect.Value, visit func(reflect.Value)) {
	reach(v, visit, map[[2]any]bool{})
}

func reach(v reflect.Value, visit func(reflect.Value), followed map[[2]any]bool) {
	switch v.Kind() {
	case reflect.Pointer:
		// It may lead back to itself.
		at := [2]any{v.UnsafePointer(), v.Type()}
		if !v.IsNil() && !followed[at] {
			followed[at] = true
			reach(v.Elem(), visit, followed)
		}
	case reflect.Interface:
		if !v.IsNil() {
			reach(v.Elem(), visit, followed)
		}
	case reflect.Struct:
		if v.CanAddr() && v.Addr().CanInterface() {
			visit(v)
		}
		for i := range v.NumField() {
			if v.Type().Field(i).IsExported() {
				reach(v.Field(i), visit, followed)
			}
		}
	case reflect.Slice, reflect.Array:
		for i := range v.Len() {
			reach(v.Index(i), visit, followed)
		}
	case reflect.Map:
		for it := v.MapRange(); it.Next(); {
			reach(it.Value(), visit, followed)
		}
	}
}
