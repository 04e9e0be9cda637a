package clone

import (
	"fmt"
	"hash/maphash"
	"reflect"
	"slices"
	"unsafe"

	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/kinglet-go/kinglet/internal/wire/fields"
)

// shapeKey identifies a type and its fields that are copied; none means all.
type shapeKey struct {
	typ  reflect.Type
	only string
}

// compiler makes one plan.
type compiler struct {
	plan *Plan
	// shapes has the finished ones and those under way: types may contain themselves. made
	// has their keys in the order in which they were begun.
	shapes map[shapeKey]*shape
	made   []shapeKey
	family *family
}

// family is a plan and those of the elements of the maps in it, which may contain the map.
type family struct {
	// plans has the finished ones and those under way, made their keys in the order in
	// which they were begun.
	plans map[shapeKey]*Plan
	made  []shapeKey
	// left is how many more parts of types may be looked at. Beyond that their own methods
	// copy values.
	left int
}

func (f *family) compile(t reflect.Type, only *fields.Drops) (*Plan, error) {
	key := shapeKey{t, only.String()}
	if p := f.plans[key]; p != nil {
		return p, nil
	}
	c := &compiler{
		plan: &Plan{
			typ: t, arrays: []reflect.Type{reflect.TypeFor[uint64]()},
			layouts: layouts{seed: maphash.MakeSeed()},
		},
		shapes: map[shapeKey]*shape{}, family: f,
	}
	before := len(f.made)
	f.plans[key], f.made = c.plan, append(f.made, key)
	root, err := c.shape(t, only)
	if err != nil {
		// Plans that were begun since may use this one.
		for _, k := range f.made[before:] {
			delete(f.plans, k)
		}
		f.made = f.made[:before]
		return nil, err
	}
	c.plan.root = root
	if len(root.links) == 1 && root.links[0].own == t {
		c.plan.own = root.links[0].call
	}
	for _, s := range c.shapes {
		s.counted = slices.ContainsFunc(s.links, func(l link) bool { return l.kind != call })
	}
	return c.plan, nil
}

// shape returns the shape of a type, of which only some fields are copied, or all if
// only is nil.
func (c *compiler) shape(t reflect.Type, only *fields.Drops) (*shape, error) {
	key := shapeKey{t, only.String()}
	if s := c.shapes[key]; s != nil {
		return s, nil
	}
	s := &shape{typ: t, size: t.Size()}
	c.shapes[key] = s
	before := len(c.made)
	c.made = append(c.made, key)
	if hasPointers(t) {
		if s.array = slices.Index(c.plan.arrays, t); s.array < 0 {
			s.array = len(c.plan.arrays)
			c.plan.arrays = append(c.plan.arrays, t)
		}
	}
	var err error
	if s.links, err = c.links(nil, t, 0, only); err != nil {
		// Shapes that were begun since may lead here.
		for _, k := range c.made[before:] {
			delete(c.shapes, k)
		}
		c.made = c.made[:before]
		return nil, err
	}
	return s, nil
}

// links appends the links of a value of type t at an offset.
func (c *compiler) links(to []link, t reflect.Type, offset uintptr, only *fields.Drops) ([]link, error) {
	if immutable[t] || t.Size() == 0 {
		return to, nil
	}
	if c.family.left--; c.family.left < 0 {
		return nil, fmt.Errorf("%v, with what it leads to, is too large", t)
	}
	if f := known[t]; f != nil {
		return append(to, link{kind: call, offset: offset, call: f}), nil
	}
	if copiesItself(t) {
		return c.own(to, t, offset, fmt.Errorf("%v has a method of its own", t))
	}
	switch kind := t.Kind(); kind {
	case reflect.Struct:
		return c.structLinks(to, t, offset, only)
	case reflect.Array:
		inside, err := c.links(nil, t.Elem(), offset, only)
		if err != nil || len(inside) == 0 {
			return to, err
		}
		if c.family.left -= t.Len() * len(inside); c.family.left < 0 {
			return nil, fmt.Errorf("%v is too large", t)
		}
		for i := range t.Len() {
			for _, l := range inside {
				l.offset += uintptr(i) * t.Elem().Size()
				to = append(to, l)
			}
		}
		return to, nil
	case reflect.Pointer, reflect.Slice:
		elem, err := c.shape(t.Elem(), only)
		if err != nil {
			return nil, err
		}
		l := link{kind: pointer, offset: offset, to: elem}
		if kind == reflect.Slice {
			l.kind = slice
		}
		return append(to, l), nil
	case reflect.Map:
		f, err := c.mapCopy(t, only)
		if err != nil {
			return nil, err
		}
		return append(to, link{kind: call, offset: offset, call: f}), nil
	case reflect.Interface, reflect.Func, reflect.Chan, reflect.UnsafePointer:
		return nil, fmt.Errorf("no plan for %v", t)
	}
	return to, nil
}

// structLinks appends the links of a struct's fields. If there is no plan for a field, the
// struct's own method copies the struct.
func (c *compiler) structLinks(to []link, t reflect.Type, offset uintptr, only *fields.Drops) ([]link, error) {
	had := len(to)
	for i := range t.NumField() {
		f := t.Field(i)
		inside := only
		if only != nil {
			var whole bool
			if inside, whole = only.In(f); inside == nil && !whole {
				continue
			}
		}
		n := len(to)
		next, err := c.links(to, f.Type, offset+f.Offset, inside)
		if err == nil && len(next) > n && !f.IsExported() && !f.Anonymous {
			err = fmt.Errorf("%v.%s is not exported", t, f.Name)
		}
		if err != nil {
			return c.own(to[:had], t, offset, err)
		}
		to = next
	}
	if len(to) > had {
		// Generated code calls a field's method, and assigns a field without one.
		if into, _ := methods(reflect.PointerTo(t)); into == nil {
			return nil, fmt.Errorf("%v has no DeepCopyInto", t)
		}
	}
	return to, nil
}

// own appends a link that calls a type's own method, or returns why if it has none.
func (c *compiler) own(to []link, t reflect.Type, offset uintptr, why error) ([]link, error) {
	f := ownCopy(t)
	if f == nil {
		return nil, why
	}
	if kind := t.Kind(); kind == reflect.Map || kind == reflect.Slice {
		// Generated code does not call it for nil, of which it may make an empty one.
		call := f
		f = func(from, to unsafe.Pointer) {
			if *(*unsafe.Pointer)(from) != nil {
				call(from, to)
			}
		}
	}
	return append(to, link{kind: call, offset: offset, call: f, own: t}), nil
}

// known are types that are copied neither by fields nor by their own method.
var known = map[reflect.Type]copyFunc{
	reflect.TypeFor[resource.Quantity]():         copyQuantity,
	reflect.TypeFor[unstructured.Unstructured](): copyUnstructured,
}

// hasPointers reports that a value of a type has pointers in its memory. Types without
// memory would nest without an end in sight.
func hasPointers(t reflect.Type) bool {
	if t.Size() == 0 {
		return false
	}
	switch t.Kind() {
	case reflect.Struct:
		for i := range t.NumField() {
			if hasPointers(t.Field(i).Type) {
				return true
			}
		}
		return false
	case reflect.Array:
		return hasPointers(t.Elem())
	}
	return t.Kind() == reflect.String || t.Kind() > reflect.Complex128
}
