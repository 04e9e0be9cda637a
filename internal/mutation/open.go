package mutation

import "reflect"

// open returns v without reflection's restriction on values reached through an
// unexported field. It returns v itself if v has no address.
func open(v reflect.Value) reflect.Value {
	if v.CanInterface() || !v.CanAddr() {
		return v
	}
	return reflect.NewAt(v.Type(), v.Addr().UnsafePointer()).Elem()
}
