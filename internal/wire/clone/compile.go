package clone

import (
	"hash/maphash"
	"reflect"
	"slices"
	"unsafe"

	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/kinglet-go/kinglet/internal/wire/gotype"
)

// compiler makes a plan and those of the elements of the maps in it, which may contain the
// map.
type compiler struct {
	verdicts verdicts
	shapes   gotype.Nodes[shape]
	plans    map[*gotype.Type]*Plan
	arrays   *[]reflect.Type
}

// compile returns the plan of a type, or nil.
func compile(t *gotype.Type) *Plan {
	c := compiler{plans: map[*gotype.Type]*Plan{}, arrays: &[]reflect.Type{reflect.TypeFor[uint64]()}}
	c.shapes.Fill = func(s *shape, t *gotype.Type, _ *gotype.Drops) { c.shape(s, t) }
	if c.verdicts.reach(t); c.verdicts.In(t, nil).bad {
		return nil
	}
	p := c.plan(t)
	c.shapes.Root(t, nil)
	return p
}

// plan returns the plan of a type whose shape is finished later.
func (c *compiler) plan(t *gotype.Type) *Plan {
	if p := c.plans[t]; p != nil {
		return p
	}
	p := &Plan{typ: t.Go, arrays: c.arrays, layouts: layouts{seed: maphash.MakeSeed()}}
	c.plans[t] = p
	if v := c.verdicts.In(t, nil); v.own {
		p.own = v.call
	} else {
		p.root = c.shapes.To(t, nil)
	}
	return p
}

func (c *compiler) shape(s *shape, t *gotype.Type) {
	s.size = t.Size
	if t.Pointers {
		if s.array = slices.Index(*c.arrays, t.Go); s.array < 0 {
			s.array = len(*c.arrays)
			*c.arrays = append(*c.arrays, t.Go)
		}
	}
	s.links = c.links(make([]link, 0, c.verdicts.In(t, nil).links), t, 0)
	s.counted = slices.ContainsFunc(s.links, func(l link) bool { return l.kind != call })
}

// links appends the links of a value of type t at an offset.
func (c *compiler) links(to []link, t *gotype.Type, offset uintptr) []link {
	v := c.verdicts.In(t, nil)
	switch {
	case v.links == 0:
		return to
	case v.own:
		return append(to, link{kind: call, offset: offset, call: v.call})
	case known[t.Go] != nil:
		return append(to, link{kind: call, offset: offset, call: known[t.Go]})
	}
	switch t.Kind {
	case reflect.Struct:
		for i := range t.Fields {
			f := &t.Fields[i]
			to = c.links(to, f.Type, offset+f.Offset)
		}
	case reflect.Array:
		for i := range t.Go.Len() {
			to = c.links(to, t.Elem, offset+uintptr(i)*t.Elem.Size)
		}
	case reflect.Pointer:
		to = append(to, link{kind: pointer, offset: offset, to: c.shapes.To(t.Elem, nil)})
	case reflect.Slice:
		to = append(to, link{kind: slice, offset: offset, to: c.shapes.To(t.Elem, nil)})
	case reflect.Map:
		f := copyOfMap(t)
		if f == nil {
			elem := c.plan(t.Elem)
			f = func(from, to unsafe.Pointer) { copyMap(t.Go, elem, from, to) }
		}
		to = append(to, link{kind: call, offset: offset, call: f})
	}
	return to
}

// known are types that are copied neither by fields nor by their own method.
var known = map[reflect.Type]copyFunc{
	reflect.TypeFor[resource.Quantity]():         copyQuantity,
	reflect.TypeFor[unstructured.Unstructured](): copyUnstructured,
}

// verdicts are how types are copied.
type verdicts struct {
	gotype.Nodes[verdict]
	// failed are those that cannot be copied by what is in them.
	failed []*verdict
}

// verdict is how a type is copied.
type verdict struct {
	// links is how many places of the value's own memory lead to something that has to be
	// copied.
	links int
	// call is the type's own method, nil if it has none. own: the value is copied by it.
	call copyFunc
	own  bool
	// bad: not at all, and then nor is any of above, except by a method of their own.
	bad   bool
	above []*verdict
}

// reach finds the verdicts for all that a type leads to.
func (c *verdicts) reach(t *gotype.Type) {
	c.Fill = func(v *verdict, t *gotype.Type, _ *gotype.Drops) { c.judge(v, t) }
	c.Root(t, nil)
	for len(c.failed) > 0 {
		v := c.failed[len(c.failed)-1]
		c.failed = c.failed[:len(c.failed)-1]
		if v.call != nil {
			v.own = true
			continue
		}
		if !v.bad {
			v.bad = true
			c.failed = append(c.failed, v.above...)
		}
	}
}

func (c *verdicts) judge(v *verdict, t *gotype.Type) {
	needs := func(in *verdict) *verdict {
		in.above = append(in.above, v)
		return in
	}
	ok := true
	switch kind := t.Kind; {
	case immutable[t.Go] || t.Size == 0:
	case known[t.Go] != nil:
		v.links = 1
	case copiesItself(t.Go):
		v.links, v.call, ok = 1, ownCopy(t.Go), false
	case kind == reflect.Struct:
		v.call = ownCopy(t.Go)
		for i := range t.Fields {
			f := &t.Fields[i]
			in := needs(c.In(f.Type, nil))
			v.links += in.links
			ok = ok && (in.links == 0 || f.Settable())
		}
		// Generated code calls a field's method, and assigns a field without one.
		ok = ok && (v.links == 0 || v.call != nil)
	case kind == reflect.Array:
		// Elements that copy themselves may be without pointers, and so any number.
		v.links = needs(c.In(t.Elem, nil)).links
		if ok = v.links == 0 || t.Go.Len() <= gotype.MaxParts/v.links; ok {
			v.links *= t.Go.Len()
		}
	case kind == reflect.Pointer || kind == reflect.Slice || kind == reflect.Map:
		v.links = 1
		// A field that is not exported leads nowhere, and is not copied.
		if t.Elem != nil && (kind != reflect.Map || copyOfMap(t) == nil) {
			needs(c.To(t.Elem, nil))
		}
	case kind == reflect.Interface || kind == reflect.Func || kind == reflect.Chan || kind == reflect.UnsafePointer:
		ok = false
	}
	if !ok {
		c.failed = append(c.failed, v)
	}
}
