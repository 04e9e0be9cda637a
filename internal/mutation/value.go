package mutation

import (
	"fmt"
	"reflect"
	"strconv"
	"strings"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/api/resource"
)

// structTypes has a *structType for each reflect.Type that was compared.
var structTypes sync.Map

// structType is how values of a struct type are compared.
type structType struct {
	// equal compares two whole values, given pointers to them; nil if they are
	// compared by fields.
	equal func(a, b reflect.Value) bool
	// fields are the numbers of the fields to compare.
	fields []int
}

func structTypeOf(t reflect.Type) *structType {
	if s, ok := structTypes.Load(t); ok {
		return s.(*structType)
	}
	s := newStructType(t)
	structTypes.Store(t, s)
	return s
}

func newStructType(t reflect.Type) *structType {
	s := &structType{}
	switch t {
	case reflect.TypeFor[time.Time]():
		s.equal = func(a, b reflect.Value) bool { return a.Interface().(*time.Time).Equal(*b.Interface().(*time.Time)) }
	case reflect.TypeFor[resource.Quantity]():
		s.equal = func(a, b reflect.Value) bool {
			// A copy, for Cmp may write into its receiver.
			q := *a.Interface().(*resource.Quantity)
			r := b.Interface().(*resource.Quantity)
			return q.Cmp(*r) == 0 && q.Format == r.Format
		}
	}
	hidden := false
	for i := range t.NumField() {
		f := t.Field(i)
		hidden = hidden || !f.IsExported()
		if f.Name == "_" || f.Type.PkgPath() == "sync" || f.Type.PkgPath() == "sync/atomic" {
			continue
		}
		s.fields = append(s.fields, i)
	}
	if s.equal == nil && hidden {
		s.equal = equalMethod(t)
	}
	return s
}

// equalMethod returns t's method Equal, or nil.
func equalMethod(t reflect.Type) func(a, b reflect.Value) bool {
	p := reflect.PointerTo(t)
	m, ok := p.MethodByName("Equal")
	if !ok || m.Type.NumIn() != 2 || m.Type.NumOut() != 1 || m.Type.Out(0) != reflect.TypeFor[bool]() {
		return nil
	}
	arg := m.Type.In(1)
	if arg != t && arg != p {
		return nil
	}
	return func(a, b reflect.Value) bool {
		if arg == t {
			b = b.Elem()
		}
		return m.Func.Call([]reflect.Value{a, b})[0].Bool()
	}
}

// pointerTo returns a pointer to v, or to a copy of it if v has no address; the zero
// Value if neither is possible.
func pointerTo(v reflect.Value) reflect.Value {
	v = open(v)
	switch {
	case !v.CanInterface():
		return reflect.Value{}
	case v.CanAddr():
		return v.Addr()
	}
	n := reflect.New(v.Type())
	n.Elem().Set(v)
	return n
}

// open returns v without reflection's restriction on values reached through an
// unexported field. It returns v itself if v has no address.
func open(v reflect.Value) reflect.Value {
	if v.CanInterface() || !v.CanAddr() {
		return v
	}
	return reflect.NewAt(v.Type(), v.Addr().UnsafePointer()).Elem()
}

// show describes a value briefly.
func show(v reflect.Value) string {
	for v.IsValid() && v.Kind() == reflect.Interface {
		v = v.Elem()
	}
	if !v.IsValid() {
		return "nil"
	}
	switch k := v.Kind(); {
	case k == reflect.String:
		return strconv.Quote(cut(v.String()))
	case k == reflect.Bool:
		return strconv.FormatBool(v.Bool())
	case v.CanInt():
		return strconv.FormatInt(v.Int(), 10)
	case v.CanUint():
		return strconv.FormatUint(v.Uint(), 10)
	case v.CanFloat():
		return strconv.FormatFloat(v.Float(), 'g', -1, 64)
	case k == reflect.Struct:
		return showStruct(v)
	case k == reflect.Array:
		return v.Type().String()
	case k == reflect.Slice || k == reflect.Map:
		if v.IsNil() {
			return "nil"
		}
		return fmt.Sprintf("%v of %d", v.Type(), v.Len())
	case k == reflect.Pointer:
		if v.IsNil() {
			return "nil"
		}
		return "&" + show(v.Elem())
	}
	return v.Type().String()
}

// showStruct prints the two types that are known as values.
func showStruct(v reflect.Value) string {
	p := pointerTo(v)
	switch {
	case !p.IsValid():
	case v.Type() == reflect.TypeFor[time.Time]():
		return p.Interface().(*time.Time).Format(time.RFC3339Nano)
	case v.Type() == reflect.TypeFor[resource.Quantity]():
		q := *p.Interface().(*resource.Quantity) // String writes into its receiver
		return q.String()
	}
	return v.Type().String()
}

// cut bounds the length of a displayed text.
func cut(s string) string {
	const most = 120
	if len(s) <= most {
		return s
	}
	return strings.ToValidUTF8(s[:most], "") + "…"
}
