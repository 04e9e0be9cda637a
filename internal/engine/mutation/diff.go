package mutation

import (
	"bytes"
	"fmt"
	"math"
	"reflect"
	"strconv"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/kinglet-go/kinglet/internal/wire/gotype"
)

// maxDepth is how deep values are compared. Unstructured values have no bound of
// their own, and an object may contain itself.
const maxDepth = 1000

// difference is the first value of an object that is not as it was.
type difference struct{ path, was, is string }

// diff returns nil if the two are equal.
func diff[T any](live, was T) *difference {
	x := (&differ{}).compare(reflect.ValueOf(&live).Elem(), reflect.ValueOf(&was).Elem(), 0)
	if x != nil && x.path == "" {
		x.path = "."
	}
	return x
}

// in puts a step before the path; "" for one that has no name of its own.
func (x *difference) in(step string) *difference {
	if step != "" && x.path != "" && x.path[0] != '[' {
		step += "."
	}
	x.path = step + x.path
	return x
}

// differ compares two objects.
type differ struct {
	// met are the pairs of pointers that were followed. None is followed twice, so that
	// objects may contain cycles.
	met map[[2]any]struct{}
}

func (d *differ) compare(live, was reflect.Value, depth int) *difference {
	if depth++; depth > maxDepth {
		return nil
	}
	equal := true
	switch k := live.Kind(); k {
	case reflect.Struct:
		switch live.Type() {
		case timeType:
			equal = at[time.Time](live).Equal(*at[time.Time](was))
		case quantityType:
			// Copies, for Cmp may write into its receiver.
			q, r := gotype.QuantityNumber(at[resource.Quantity](live)), gotype.QuantityNumber(at[resource.Quantity](was))
			equal = q.Cmp(r) == 0 && q.Format == r.Format
		default:
			return d.fields(live, was, depth)
		}
	case reflect.Pointer:
		a, b := live.UnsafePointer(), was.UnsafePointer()
		if a != b && a != nil && b != nil {
			return d.pointers([2]any{a, b}, live, was, depth)
		}
		equal = a == b
	case reflect.Slice, reflect.Array:
		if k == reflect.Slice && (live.IsNil() != was.IsNil() || live.Len() != was.Len()) {
			equal = false
			break
		}
		return d.elements(live, was, depth)
	case reflect.Map:
		if live.IsNil() == was.IsNil() {
			return d.entries(live, was, depth)
		}
		equal = false
	case reflect.Interface:
		if !live.IsNil() && !was.IsNil() && live.Elem().Type() == was.Elem().Type() {
			return d.compare(live.Elem(), was.Elem(), depth)
		}
		equal = live.IsNil() && was.IsNil()
	case reflect.Float32, reflect.Float64:
		// Compare bits, so that a NaN equals itself.
		equal = math.Float64bits(live.Float()) == math.Float64bits(was.Float())
	case reflect.Func:
		equal = live.UnsafePointer() == was.UnsafePointer()
	default:
		equal = live.Equal(was)
	}
	if equal {
		return nil
	}
	return &difference{was: show(was), is: show(live)}
}

// fields compares structs by their exported fields, those of embedded structs included.
func (d *differ) fields(live, was reflect.Value, depth int) *difference {
	for i := range live.NumField() {
		f := live.Field(i)
		if !f.CanInterface() && !live.Type().Field(i).Anonymous {
			continue
		}
		if x := d.compare(f, was.Field(i), depth); x != nil {
			return x.in(fieldName(live.Type(), i))
		}
	}
	return nil
}

func (d *differ) pointers(pair [2]any, live, was reflect.Value, depth int) *difference {
	if _, ok := d.met[pair]; ok {
		return nil
	}
	if d.met == nil {
		d.met = map[[2]any]struct{}{}
	}
	d.met[pair] = struct{}{}
	return d.compare(live.Elem(), was.Elem(), depth)
}

// elements compares slices of one length, or arrays.
func (d *differ) elements(live, was reflect.Value, depth int) *difference {
	typ, n := live.Type(), live.Len()
	if typ.Kind() == reflect.Slice && typ.Elem().Kind() == reflect.Uint8 {
		a, b := live.Bytes(), was.Bytes()
		if bytes.Equal(a, b) {
			return nil
		}
		i := 0
		for a[i] == b[i] {
			i++
		}
		quoted := func(b []byte) string { return strconv.Quote(cut(string(b[i:min(i+200, n)]))) }
		return &difference{path: "[" + strconv.Itoa(i) + "]", was: quoted(b), is: quoted(a)}
	}
	if typ.Elem().Size() == 0 {
		n = 0 // without memory there may be any number of elements
	}
	for i := range n {
		if x := d.compare(live.Index(i), was.Index(i), depth); x != nil {
			return x.in("[" + strconv.Itoa(i) + "]")
		}
	}
	return nil
}

// entries compares maps. Their order is random, so it returns the difference with the
// least path.
func (d *differ) entries(live, was reflect.Value, depth int) (first *difference) {
	found := func(key reflect.Value, x *difference) {
		if x = x.in(entryName(live.Type(), key)); first == nil || x.path < first.path {
			first = x
		}
	}
	common := 0
	for e := was.MapRange(); e.Next(); {
		now := live.MapIndex(e.Key())
		if !now.IsValid() {
			found(e.Key(), &difference{was: show(e.Value()), is: "absent"})
			continue
		}
		common++
		if x := d.compare(now, e.Value(), depth); x != nil {
			found(e.Key(), x)
		}
	}
	if live.Len() > common {
		for e := live.MapRange(); e.Next(); {
			if !was.MapIndex(e.Key()).IsValid() {
				found(e.Key(), &difference{was: "absent", is: show(e.Value())})
			}
		}
	}
	return first
}

// Types that are compared by value: an instant, and a number in its format.
var (
	timeType     = reflect.TypeFor[time.Time]()
	quantityType = reflect.TypeFor[resource.Quantity]()
)

// at returns the address of v, or that of a copy if v has none.
func at[T any](v reflect.Value) *T {
	if v.CanAddr() {
		return v.Addr().Interface().(*T)
	}
	c := v.Interface().(T)
	return &c
}

// fieldName returns the JSON name, or the Go name if there is none; it is empty for a
// field that has no level of its own in JSON.
func fieldName(typ reflect.Type, i int) string {
	f := typ.Field(i)
	name, opts, _ := strings.Cut(f.Tag.Get("json"), ",")
	switch {
	case typ == reflect.TypeFor[unstructured.Unstructured](), name == "" && (f.Anonymous || opts == "inline"):
		return ""
	case name == "" || name == "-":
		return f.Name
	}
	return name
}

// entryName returns "[key]", or the key itself in an object without a Go type, in which
// maps stand for structs.
func entryName(typ reflect.Type, key reflect.Value) string {
	const plain = "-_0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
	if key.Kind() != reflect.String {
		return "[" + show(key) + "]"
	}
	text := cut(key.String())
	if typ.Elem().Kind() == reflect.Interface && text != "" && strings.Trim(text, plain) == "" {
		return text
	}
	return "[" + text + "]"
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
	case v.Type() == timeType:
		return at[time.Time](v).Format(time.RFC3339Nano)
	case v.Type() == quantityType:
		q := gotype.QuantityNumber(at[resource.Quantity](v)) // String writes into its receiver
		return q.String()
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
	case v.CanInt() || v.CanUint() || v.CanFloat() || k == reflect.Bool:
		return fmt.Sprint(v.Interface())
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
