// Package gotype compiles Go types, once each: the kinds, offsets, fields, tags, methods
// and hidden state that decoders, copies and comparisons read to make their plans. They
// follow this graph instead of reflection, so that recursion has its bound here alone.
//
// Drops names fields to leave out, Identical and Equal compare values.
package gotype

import (
	"encoding"
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/kinglet-go/kinglet/internal/wire/official"
)

// MaxParts is how many parts a type may lead to, a dozen times those of a Pod: the types,
// and the fields and elements that each has in its memory. A type that leads to more has
// no plan.
const MaxParts = 16 << 10

// Type is a Go type. It is immutable, and kept for the life of the process.
type Type struct {
	Go   reflect.Type
	Kind reflect.Kind
	Size uintptr
	// Key and Elem are what a pointer, slice, array or map leads to. They are nil for
	// pointers, slices and maps in fields that are not exported.
	Key, Elem *Type
	// Fields are all fields of a struct.
	Fields []Field

	// DecodesItself: it has a decoder of its own for JSON.
	DecodesItself bool
	// Unmarshals: it has an Unmarshal, as types with a protobuf encoding do.
	Unmarshals bool
	// Recursive: it leads to a type that contains itself.
	Recursive bool
	// Pointers: there are pointers in its memory.
	Pointers bool
	// HoldsState: the memory of a zero value may have hidden state, which methods that
	// only read may write: it has an unexported field, or a Quantity.
	HoldsState bool
	// HidesState: a value, or anything that it leads to, may have hidden state if the
	// type's own code decodes it, and so may put anything into the fields.
	HidesState bool
	// HidesStateInJSON is HidesState for a value that encoding/json decodes field by
	// field, as far as types do not decode themselves: it puts JSON's own values into
	// an interface without methods, and nothing into functions, channels and other
	// interfaces.
	HidesStateInJSON bool

	// parts is how many values are in the memory: itself, its fields and theirs.
	parts int
	// resolve sets members and forgets, what encoding/json does and does not decode of a
	// struct.
	resolve sync.Once
	members []Member
	forgets bool
}

// Field is a field of a struct.
type Field struct {
	Name     string
	Type     *Type
	Offset   uintptr
	Tag      reflect.StructTag
	Embedded bool
	Exported bool
	// promotes: it is an embedded struct, or a pointer to one.
	promotes bool
}

// Settable reports that decoders can set the field, or a part of it: the exported fields
// of an embedded struct.
func (f *Field) Settable() bool {
	return f.Exported || f.promotes
}

// HoldsState reports that the field may have hidden state if no decoder sets it.
func (f *Field) HoldsState() bool { return !f.Settable() || f.Type.HoldsState }

// stateless are types without hidden state whose fields do not prove that, but whose
// decoders and methods do: no method writes to a decoded value.
var stateless = []reflect.Type{
	reflect.TypeFor[time.Time](),
	// In one build it has bytes, in another an unexported string.
	reflect.TypeFor[metav1.FieldsV1](),
	// Its decoders set the bytes, and leave the object nil.
	reflect.TypeFor[runtime.RawExtension](),
	// Its decoder makes the maps, lists and scalars of JSON.
	reflect.TypeFor[unstructured.Unstructured](),
}

var quantity = reflect.TypeFor[resource.Quantity]()

// TooLargeError reports a type that leads to more than MaxParts parts.
type TooLargeError struct{ Type reflect.Type }

func (e *TooLargeError) Error() string {
	return fmt.Sprintf("%v leads to more than %d types and fields", e.Type, MaxParts)
}

var (
	// roots has the result of Of for each reflect.Type that it was called with.
	roots sync.Map

	mu sync.Mutex
	// known are the types of all roots that are not too large; guarded by mu.
	known = map[key]*Type{}
)

type root struct {
	*Type
	err error
}

// key is a type. What is inside of fields that are not exported has types of its own,
// which lead nowhere.
type key struct {
	typ    reflect.Type
	closed bool
}

// Of returns the compiled type, or a *TooLargeError. It is safe for concurrent use, and
// takes some microseconds for each type that is new.
func Of(typ reflect.Type) (*Type, error) {
	if r, ok := roots.Load(typ); ok {
		return r.(root).Type, r.(root).err
	}
	mu.Lock()
	defer mu.Unlock()
	c := compiler{fresh: map[key]*Type{}, open: map[*Type]bool{}, above: map[*Type][]*Type{}, counted: map[*Type]bool{}, left: MaxParts}
	r := root{Type: c.visit(key{typ: typ})}
	if c.finish(); c.left < 0 {
		r = root{err: &TooLargeError{typ}}
	} else {
		maps.Copy(known, c.fresh)
	}
	roots.Store(typ, r)
	return r.Type, r.err
}

// compiler compiles what one type leads to.
type compiler struct {
	// fresh are the types that were not known.
	fresh map[key]*Type
	// open are the types that are being visited; loops are those that lead to themselves.
	open  map[*Type]bool
	loops []*Type
	// above has for each type the fresh ones that lead to it directly.
	above map[*Type][]*Type
	// counted are the known types whose parts were counted.
	counted map[*Type]bool
	// left is how many more parts there may be. Nothing more is visited below 0.
	left int
}

// visit returns a type with all that it leads to.
func (c *compiler) visit(k key) *Type {
	if t := c.fresh[k]; t != nil {
		if c.open[t] {
			c.loops = append(c.loops, t)
		}
		return t
	}
	if t := known[k]; t != nil {
		c.count(t)
		return t
	}
	t := &Type{Go: k.typ, Kind: k.typ.Kind(), Size: k.typ.Size()}
	c.fresh[k] = t
	if c.left--; c.left < 0 {
		return t
	}
	c.open[t] = true
	defer delete(c.open, t)
	if !k.closed {
		p := reflect.PointerTo(k.typ)
		t.DecodesItself = p.Implements(reflect.TypeFor[json.Unmarshaler]()) || p.Implements(reflect.TypeFor[encoding.TextUnmarshaler]())
		t.Unmarshals = p.Implements(reflect.TypeFor[official.Protobuf]())
	}
	switch t.Kind {
	case reflect.Map, reflect.Pointer, reflect.Slice:
		if k.closed {
			break
		}
		if t.Kind == reflect.Map {
			t.Key = c.inside(t, key{typ: k.typ.Key()})
		}
		t.Elem = c.inside(t, key{typ: k.typ.Elem()})
	case reflect.Array:
		t.Elem = c.inside(t, key{k.typ.Elem(), k.closed})
	case reflect.Struct:
		t.Fields = make([]Field, k.typ.NumField())
		for i := range t.Fields {
			sf := k.typ.Field(i)
			f := Field{Name: sf.Name, Offset: sf.Offset, Tag: sf.Tag, Embedded: sf.Anonymous, Exported: sf.IsExported()}
			direct := sf.Type
			if direct.Kind() == reflect.Pointer {
				direct = direct.Elem()
			}
			f.promotes = f.Embedded && direct.Kind() == reflect.Struct
			f.Type = c.inside(t, key{sf.Type, k.closed || !f.Settable()})
			t.Fields[i] = f
		}
	}
	return t
}

// inside visits a type that t leads to.
func (c *compiler) inside(t *Type, k key) *Type {
	in := c.visit(k)
	c.above[in] = append(c.above[in], t)
	return in
}

// count counts the parts of a known type and of all that it leads to.
func (c *compiler) count(t *Type) {
	if t == nil || c.left < 0 || c.counted[t] {
		return
	}
	c.counted[t] = true
	c.left -= t.parts
	c.count(t.Key)
	c.count(t.Elem)
	for i := range t.Fields {
		c.count(t.Fields[i].Type)
	}
}

// finish sets what follows from what the fresh types lead to.
func (c *compiler) finish() {
	if c.left < 0 {
		return
	}
	for _, t := range c.fresh {
		if t.measure(); c.left < 0 {
			return
		}
		c.left -= t.parts
	}
	loops := map[*Type]bool{}
	for _, t := range c.loops {
		loops[t] = true
	}
	c.spread(func(t *Type) *bool { return &t.Recursive }, func(t *Type) bool { return loops[t] })
	c.spread(func(t *Type) *bool { return &t.HidesState }, func(t *Type) bool {
		switch t.Kind {
		case reflect.Interface, reflect.Func, reflect.Chan, reflect.UnsafePointer:
			return true
		}
		return t.ownState()
	})
	c.spread(func(t *Type) *bool { return &t.HidesStateInJSON }, func(t *Type) bool {
		return t.ownState() || t.DecodesItself && t.HidesState
	})
}

// spread sets a flag of the fresh types for which seed holds, and of those that lead to
// a type with the flag. What is proven stateless has none of the flags.
func (c *compiler) spread(flag func(*Type) *bool, seed func(*Type) bool) {
	var set []*Type
	mark := func(t *Type) {
		if f := flag(t); !*f && !slices.Contains(stateless, t.Go) {
			*f = true
			set = append(set, t)
		}
	}
	for in, above := range c.above {
		if *flag(in) {
			for _, t := range above {
				mark(t)
			}
		}
	}
	for _, t := range c.fresh {
		if seed(t) {
			mark(t)
		}
	}
	for len(set) > 0 {
		t := set[len(set)-1]
		set = set[:len(set)-1]
		for _, a := range c.above[t] {
			mark(a)
		}
	}
}

// ownState reports that it is a Quantity, or a struct with a field that decoders cannot
// set, and so may have state anywhere.
func (t *Type) ownState() bool {
	return t.Go == quantity || slices.ContainsFunc(t.Fields, func(f Field) bool { return !f.Settable() })
}

// measure sets what follows from a type's own memory, after that of the types in it. No
// type is in its own memory.
func (t *Type) measure() {
	if t.parts > 0 {
		return
	}
	t.parts = 1
	switch t.Kind {
	case reflect.Array:
		t.Elem.measure()
		each := 1
		if t.Pointers = t.Elem.Pointers && t.Size > 0; t.Pointers {
			each = t.Go.Len()
		}
		t.parts += min(each, MaxParts) * t.Elem.parts
		t.HoldsState = t.Elem.HoldsState
	case reflect.Struct:
		t.HoldsState = t.ownState()
		for i := range t.Fields {
			f := t.Fields[i].Type
			f.measure()
			t.Pointers = t.Pointers || f.Pointers
			t.HoldsState = t.HoldsState || f.HoldsState
			t.parts += f.parts
		}
		t.HoldsState = t.HoldsState && !slices.Contains(stateless, t.Go)
	default:
		t.Pointers = t.Kind == reflect.String || t.Kind > reflect.Complex128
	}
	t.parts = min(t.parts, MaxParts+1)
}
