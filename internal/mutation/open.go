//go:build !kinglet_safe

package mutation

import "reflect"

// opens reports that open opens fields that are not exported.
const opens = true

// open returns v without reflection's restriction on values reached through an
// unexported field. It returns v itself if v has no address.
func open(v reflect.Value) reflect.Value {
	if v.CanInterface() || !v.CanAddr() {
		return v
	}
	return reflect.NewAt(v.Type(), v.Addr().UnsafePointer()).Elem()
}
