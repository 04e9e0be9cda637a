package mutation

import (
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"
)

// memory is the piece of memory that holds a value: the target of a pointer, an
// element of a slice, or a whole map.
type memory struct {
	ptr address
	// typ is the type of the map, or of the value in the memory.
	typ reflect.Type
	// depth is how many steps lead there.
	depth int
}

// address is nil or an unsafe.Pointer, which keeps the memory alive.
type address any

// place identifies a difference.
type place struct {
	ptr  address
	path string // from there
}

// difference is one value that changed.
type difference struct {
	steps   []step
	in      memory
	was, is string
}

func (d *difference) place() place { return place{d.in.ptr, render(d.steps[d.in.depth:])} }

// differ compares objects with their copies. It caches facts about types. It is not
// safe for concurrent use.
type differ struct {
	structs map[reflect.Type]*structType

	// State of the comparison under way:
	steps []step
	in    memory
	found []difference
	// met are the pointers that were followed. None is followed twice, so that
	// objects may contain cycles.
	met map[[2]address]struct{}
}

const (
	// maxDifferences bounds the differences reported for one object at a time.
	// Sorting a slice in place changes every field of every element.
	maxDifferences = 8
	// maxDepth is how deep values are compared. Unstructured values have no bound of
	// their own.
	maxDepth = 1000
)

// diff returns at most maxDifferences differences between live and was.
func (d *differ) diff(live, was reflect.Value) []difference {
	d.steps, d.in, d.found = d.steps[:0], memory{}, nil
	if d.met == nil {
		d.met = map[[2]address]struct{}{}
	}
	clear(d.met)
	d.compare(live, was)
	return d.found
}

// differs notes a difference here.
func (d *differ) differs(was, is string) {
	if len(d.found) < maxDifferences {
		d.found = append(d.found, difference{steps: slices.Clone(d.steps), in: d.in, was: was, is: is})
	}
}

// into compares the values one step further. in, if set, is the memory of live.
func (d *differ) into(s step, in memory, live, was reflect.Value) {
	if len(d.steps) == maxDepth || len(d.found) == maxDifferences {
		return
	}
	outside := d.in
	d.steps = append(d.steps, s)
	if in.ptr != nil {
		d.in = in
	}
	d.compare(live, was)
	d.steps = d.steps[:len(d.steps)-1]
	d.in = outside
}

func (d *differ) compare(live, was reflect.Value) {
	equal := true
	switch k := live.Kind(); {
	case k == reflect.Struct:
		d.compareStructs(live, was)
	case k == reflect.Pointer:
		d.comparePointers(live, was)
	case k == reflect.Slice:
		d.compareSlices(live, was)
	case k == reflect.Array:
		for i := range live.Len() * int(min(live.Type().Size(), 1)) {
			d.into(step{kind: intoElement, typ: live.Type(), i: i}, memory{}, live.Index(i), was.Index(i))
		}
	case k == reflect.Map:
		d.compareMaps(live, was)
	case k == reflect.Interface:
		d.compareInterfaces(live, was)
	case k == reflect.String:
		equal = live.String() == was.String()
	case k == reflect.Bool:
		equal = live.Bool() == was.Bool()
	case live.CanInt():
		equal = live.Int() == was.Int()
	case live.CanUint():
		equal = live.Uint() == was.Uint()
	case live.CanFloat():
		// Compare bits, so that a NaN equals itself.
		equal = math.Float64bits(live.Float()) == math.Float64bits(was.Float())
	case live.CanComplex():
		equal = live.Complex() == was.Complex()
	default: // functions, channels, unsafe pointers
		equal = live.UnsafePointer() == was.UnsafePointer()
	}
	if !equal {
		d.differs(show(was), show(live))
	}
}

func (d *differ) compareStructs(live, was reflect.Value) {
	t := live.Type()
	s := d.structs[t]
	if s == nil {
		if d.structs == nil {
			d.structs = map[reflect.Type]*structType{}
		}
		s = structTypeOf(t)
		d.structs[t] = s
	}
	if s.equal != nil {
		if a, b := pointerTo(live), pointerTo(was); a.IsValid() && b.IsValid() {
			if !s.equal(a, b) {
				d.differs(show(was), show(live))
			}
			return
		}
	}
	for _, i := range s.fields {
		d.into(step{kind: intoField, typ: t, i: i}, memory{}, live.Field(i), was.Field(i))
	}
}

func (d *differ) comparePointers(live, was reflect.Value) {
	switch a, b := live.UnsafePointer(), was.UnsafePointer(); {
	case a == b:
	case a == nil || b == nil:
		d.differs(show(was), show(live))
	default:
		pair := [2]address{a, b}
		if _, ok := d.met[pair]; ok {
			return
		}
		d.met[pair] = struct{}{}
		t := live.Type()
		d.into(step{kind: intoPointer, typ: t}, memory{a, t.Elem(), len(d.steps) + 1}, live.Elem(), was.Elem())
	}
}

func (d *differ) compareSlices(live, was reflect.Value) {
	if live.IsNil() != was.IsNil() || live.Len() != was.Len() {
		d.differs(show(was), show(live))
		return
	}
	t := live.Type()
	in := memory{typ: t.Elem(), depth: len(d.steps) + 1}
	if t.Elem().Kind() == reflect.Uint8 {
		a, b := live.Bytes(), was.Bytes()
		for i := range a {
			if a[i] != b[i] {
				outside := d.in
				in.ptr = live.Index(i).Addr().UnsafePointer()
				d.steps = append(d.steps, step{kind: intoElement, typ: t, i: i})
				d.in = in
				d.differs(strconv.Quote(cut(string(b[i:min(i+200, len(b))]))), strconv.Quote(cut(string(a[i:min(i+200, len(a))]))))
				d.steps = d.steps[:len(d.steps)-1]
				d.in = outside
				return
			}
		}
		return
	}
	for i := range live.Len() {
		e := live.Index(i)
		in.ptr = e.Addr().UnsafePointer()
		d.into(step{kind: intoElement, typ: t, i: i}, in, e, was.Index(i))
	}
}

func (d *differ) compareMaps(live, was reflect.Value) {
	if live.IsNil() != was.IsNil() {
		d.differs(show(was), show(live))
		return
	}
	t := live.Type()
	in := memory{live.UnsafePointer(), t, len(d.steps)}
	before, common := d.found, 0
	for e := was.MapRange(); e.Next(); {
		s := step{kind: intoEntry, typ: t, key: e.Key()}
		now := live.MapIndex(s.key)
		if now.IsValid() {
			common++
			d.into(s, in, now, e.Value())
			continue
		}
		d.intoMissing(s, in, show(e.Value()), "absent")
	}
	if live.Len() > common {
		for e := live.MapRange(); e.Next(); {
			if !was.MapIndex(e.Key()).IsValid() {
				d.intoMissing(step{kind: intoEntry, typ: t, key: e.Key()}, in, "absent", show(e.Value()))
			}
		}
	}
	// The iteration order of a map is random.
	slices.SortStableFunc(d.found[len(before):], func(a, b difference) int {
		return strings.Compare(render(a.steps), render(b.steps))
	})
}

// intoMissing notes that one of the two maps has no such entry.
func (d *differ) intoMissing(s step, in memory, was, is string) {
	outside := d.in
	d.steps = append(d.steps, s)
	d.in = in
	d.differs(was, is)
	d.steps = d.steps[:len(d.steps)-1]
	d.in = outside
}

func (d *differ) compareInterfaces(live, was reflect.Value) {
	switch {
	case live.IsNil() && was.IsNil():
	case live.IsNil() != was.IsNil() || live.Elem().Type() != was.Elem().Type():
		d.differs(show(was), show(live))
	default:
		d.into(step{kind: intoInterface, typ: live.Type()}, memory{}, live.Elem(), was.Elem())
	}
}
