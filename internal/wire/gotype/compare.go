package gotype

import (
	"math"
	"reflect"
	"slices"
	"sync"
	"time"
	"unsafe"
)

// maxSteps bounds how many parts Identical compares.
const maxSteps = 1 << 20

// Beyond plainDepth, and after plainSteps, pointers, slices and maps are compared once, as
// reflect.DeepEqual does: a value that leads back to itself has no end, and one whose parts
// are reached in many ways takes as long as there are ways.
const (
	plainDepth = 64
	plainSteps = 1 << 14
)

// Identical reports whether two values are equal by reflect.DeepEqual and have
// the same bits in floating-point numbers: 0.0 and -0.0 are two values, and a
// NaN is itself. It reports false for values of a million parts and more.
func Identical(a, b reflect.Value) bool {
	c := comparison{steps: maxSteps}
	return c.identical(a, b)
}

// Float64 is Identical for two numbers.
func Float64(a, b float64) bool {
	return math.Float64bits(a) == math.Float64bits(b)
}

type comparison struct {
	steps, taken, depth int
	// seen has pairs that are being compared, or were equal.
	seen map[pair]struct{}
	// visible: hidden state is not read. private: what is not exported counts, and strict:
	// beside a lock equals nothing. loose: nothing equals what is empty.
	visible, private, strict, loose bool
}

// pair are two pointers, maps, or slices of one length, to compare.
type pair struct {
	a, b unsafe.Pointer
	typ  reflect.Type
	len  int
}

// once reports whether a pair need not be compared again.
func (c *comparison) once(a, b reflect.Value, length int) bool {
	if c.depth < plainDepth && c.taken < plainSteps {
		return false
	}
	p := pair{a.UnsafePointer(), b.UnsafePointer(), a.Type(), length}
	if _, seen := c.seen[p]; seen {
		return true
	}
	if c.seen == nil {
		c.seen = map[pair]struct{}{}
	}
	c.seen[p] = struct{}{}
	return false
}

func (c *comparison) identical(a, b reflect.Value) bool {
	c.depth++
	c.taken++
	defer func() { c.depth-- }()
	if c.taken > c.steps || a.IsValid() != b.IsValid() {
		return false
	}
	if !a.IsValid() {
		return true
	}
	if a.Type() != b.Type() {
		return false
	}
	switch a.Kind() {
	case reflect.Float32, reflect.Float64:
		return math.Float64bits(a.Float()) == math.Float64bits(b.Float())
	case reflect.Complex64, reflect.Complex128:
		x, y := a.Complex(), b.Complex()
		return math.Float64bits(real(x)) == math.Float64bits(real(y)) && math.Float64bits(imag(x)) == math.Float64bits(imag(y))
	case reflect.Struct:
		if c.visible {
			return c.sameFields(a, b)
		}
		for i := range a.NumField() {
			if !c.identical(a.Field(i), b.Field(i)) {
				return false
			}
		}
		return true
	case reflect.Array:
		return a.Type().Size() == 0 || c.elements(a, b)
	case reflect.Slice:
		return (c.loose || a.IsNil() == b.IsNil()) && a.Len() == b.Len() && (a.UnsafePointer() == b.UnsafePointer() || c.once(a, b, a.Len()) || c.elements(a, b))
	case reflect.Pointer:
		return a.UnsafePointer() == b.UnsafePointer() || !a.IsNil() && !b.IsNil() && (c.once(a, b, 0) || c.identical(a.Elem(), b.Elem()))
	case reflect.Interface:
		return c.identical(a.Elem(), b.Elem())
	case reflect.Map:
		return c.maps(a, b)
	case reflect.Func:
		return a.IsNil() && b.IsNil()
	}
	return a.Equal(b)
}

func (c *comparison) elements(a, b reflect.Value) bool {
	for i := range a.Len() {
		if !c.identical(a.Index(i), b.Index(i)) {
			return false
		}
	}
	return true
}

func (c *comparison) maps(a, b reflect.Value) bool {
	if a.IsNil() != b.IsNil() && !c.loose || a.Len() != b.Len() {
		return false
	}
	if a.UnsafePointer() == b.UnsafePointer() || c.once(a, b, a.Len()) {
		return true
	}
	for it := a.MapRange(); it.Next(); {
		// For a missing key MapIndex returns the invalid Value, which equals none.
		if !c.identical(it.Value(), b.MapIndex(it.Key())) {
			return false
		}
	}
	return true
}

// maxVisible bounds how many parts Equal compares, as maxSteps does.
const maxVisible = 1 << 26

var timeType = reflect.TypeFor[time.Time]()

// Equal is Identical without the state in which methods that only read keep what they
// have computed: the text of a Quantity, the size of a protobuf message, locks. It does not
// read that state, so it may run while others read the values. Times are equal as instants.
//
// With oneVersion, the values are known to be of the same version, so unexported fields
// beside exported ones can only differ by such state, and are skipped. Without it they are
// compared, and a struct that guards them by a lock or an atomic number equals no other.
func Equal(a, b any, oneVersion bool) bool {
	c := comparison{steps: maxVisible, visible: true, private: !oneVersion, strict: !oneVersion}
	return c.identical(reflect.ValueOf(a), reflect.ValueOf(b))
}

// SameContent is Equal with two exceptions. Nil slices and maps equal empty ones, since the
// encodings differ in which of them they can express. Unexported fields beside a lock are
// never compared.
func SameContent(a, b any, oneVersion bool) bool {
	c := comparison{steps: maxVisible, visible: true, private: !oneVersion, loose: true}
	return c.identical(reflect.ValueOf(a), reflect.ValueOf(b))
}

// sameFields compares two structs of one type as Equal does. Neither comes from a field that
// is not exported, as far as reflect knows.
func (c *comparison) sameFields(a, b reflect.Value) bool {
	switch a.Type() {
	case timeType:
		return a.Interface().(time.Time).Equal(b.Interface().(time.Time))
	case quantity:
		// Methods that only read turn one form of the number into another.
		q, r := numberIn(a), numberIn(b)
		return q.Cmp(r) == 0 && q.Format == r.Format
	}
	f := fieldsOf(a.Type())
	fields := f.visible
	switch {
	case !c.private:
	case !f.guarded:
		fields = f.all
	case c.strict:
		return false
	}
	if f.private {
		a, b = addressable(a), addressable(b)
	}
	for _, i := range fields {
		if !c.identical(writable(a.Field(i)), writable(b.Field(i))) {
			return false
		}
	}
	return true
}

// addressable returns v, or a copy whose fields can be read although they are not exported.
// Nobody can write to a value that is not addressable, so it can be copied at any time.
func addressable(v reflect.Value) reflect.Value {
	if v.CanAddr() {
		return v
	}
	there := reflect.New(v.Type()).Elem()
	there.Set(v)
	return there
}

// fields are those of a struct type without locks and the like.
type fields struct {
	// visible are those that are exported, or embedded. A type without them, such as an
	// address, is a value of its own, and all are.
	visible, all []int
	// private reports that all has fields that are not exported, guarded that there is a lock
	// beside some that are not embedded.
	private, guarded bool
}

// compared has the result of fieldsOf for each reflect.Type that was compared.
var compared sync.Map

func fieldsOf(t reflect.Type) *fields {
	if f, ok := compared.Load(t); ok {
		return f.(*fields)
	}
	f, locked := &fields{}, false
	_, message := reflect.PointerTo(t).MethodByName("ProtoReflect")
	for i := range t.NumField() {
		field := t.Field(i)
		switch {
		case field.Name == "_", field.Name == "XXX_sizecache", message && ofMessage(field):
			continue
		case guards(field.Type):
			locked = true
			continue
		case field.IsExported(), field.Anonymous:
			f.visible = append(f.visible, i)
		}
		f.all = append(f.all, i)
		f.private = f.private || !field.IsExported()
	}
	f.guarded = locked && len(f.all) > len(f.visible)
	if !locked && !slices.ContainsFunc(reflect.VisibleFields(t), func(f reflect.StructField) bool { return f.IsExported() }) {
		f.visible = f.all
	}
	compared.Store(t, f)
	return f
}

// ofMessage reports whether a field of a protobuf message holds what its runtime has computed.
func ofMessage(f reflect.StructField) bool {
	return f.Name == "sizeCache" || f.Type.PkgPath() == "google.golang.org/protobuf/internal/impl"
}

// guards reports whether t is a lock or an atomic number, by which methods that only read may
// write.
func guards(t reflect.Type) bool {
	for t.Kind() == reflect.Pointer || t.Kind() == reflect.Array {
		t = t.Elem()
	}
	return t.PkgPath() == "sync" || t.PkgPath() == "sync/atomic"
}
