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
	// visible: hidden state is not read. loose: nothing equals what is empty.
	visible, loose bool
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
		if c.visible && a.CanInterface() {
			switch a.Type() {
			case timeType:
				return a.Interface().(time.Time).Equal(b.Interface().(time.Time))
			case quantity:
				// Methods that only read turn one form of the number into another.
				q, r := numberIn(a), numberIn(b)
				return q.Cmp(r) == 0 && q.Format == r.Format
			}
		}
		var skipped []bool
		if c.visible {
			skipped = skippedFields(a.Type())
		}
		for i := range a.NumField() {
			if skipped != nil && skipped[i] {
				continue
			}
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
// have computed: the text of a Quantity, and what is not exported beside exported fields,
// such as locks and the sizes of a protobuf message. It does not read that state, so it may
// run while others read the values. Times are equal as instants.
func Equal(a, b any) bool {
	c := comparison{steps: maxVisible, visible: true}
	return c.identical(reflect.ValueOf(a), reflect.ValueOf(b))
}

// SameContent is Equal, except that nil slices and maps equal empty ones: the encodings
// differ in which of them they can express.
func SameContent(a, b any) bool {
	c := comparison{steps: maxVisible, visible: true, loose: true}
	return c.identical(reflect.ValueOf(a), reflect.ValueOf(b))
}

// skipped has the result of skippedFields for each reflect.Type that was compared.
var skipped sync.Map

// skippedFields returns which fields of a struct type are hidden state; nil if none is.
func skippedFields(t reflect.Type) []bool {
	if known, ok := skipped.Load(t); ok {
		return known.([]bool)
	}
	var fields []bool
	// A type without exported fields is a value of its own, such as an address or a number.
	opaque := !slices.ContainsFunc(reflect.VisibleFields(t), func(f reflect.StructField) bool { return f.IsExported() })
	for i := range t.NumField() {
		if f := t.Field(i); f.Name == "_" || !opaque && !f.IsExported() && !f.Anonymous {
			if fields == nil {
				fields = make([]bool, t.NumField())
			}
			fields[i] = true
		}
	}
	skipped.Store(t, fields)
	return fields
}
