package filler

import "reflect"

// Reach calls visit with each struct that v leads to through exported fields and that has
// an address.
func Reach(v reflect.Value, visit func(reflect.Value)) {
	switch v.Kind() {
	case reflect.Pointer, reflect.Interface:
		if !v.IsNil() {
			Reach(v.Elem(), visit)
		}
	case reflect.Struct:
		if v.CanAddr() && v.Addr().CanInterface() {
			visit(v)
		}
		for i := range v.NumField() {
			if v.Type().Field(i).IsExported() {
				Reach(v.Field(i), visit)
			}
		}
	case reflect.Slice, reflect.Array:
		for i := range v.Len() {
			Reach(v.Index(i), visit)
		}
	case reflect.Map:
		for it := v.MapRange(); it.Next(); {
			Reach(it.Value(), visit)
		}
	}
}
