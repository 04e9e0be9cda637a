//go:build kinglet_safe

package mutation

import "reflect"

// opens reports that open opens fields that are not exported.
const opens = false

// open returns v. A copy has the same in a field that is not exported as the
// object, so a write to what is behind such a field is not found.
func open(v reflect.Value) reflect.Value { return v }
