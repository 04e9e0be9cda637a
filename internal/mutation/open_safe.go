//go:build kinglet_safe

package mutation

import "reflect"

// opens reports that open opens fields that are not exported.
const opens = false

// open returns v. A copy shares the contents of unexported fields with the object, so
// a write behind such a field is not found.
func open(v reflect.Value) reflect.Value { return v }
