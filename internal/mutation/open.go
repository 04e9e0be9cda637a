//go:build !kinglet_safe

package mutation

import "reflect"

// opens reports that open opens fields that are not exported.
const opens = true

// open returns v without the bar that reflection has on what was reached through
// a field that is not exported. It returns v itself if that has no address.
func open(v reflect.Value) reflect.Value {
	if v.CanInterface() || !v.CanAddr() {
		return v
	}
	return reflect.NewAt(v.Type(), v.Addr().UnsafePointer()).Elem()
}
