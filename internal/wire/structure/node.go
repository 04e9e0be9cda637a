package structure

import (
	"fmt"
	"reflect"
	"time"

	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/kinglet-go/kinglet/internal/wire/fields"
	"github.com/kinglet-go/kinglet/internal/wire/formats"
	"github.com/kinglet-go/kinglet/internal/wire/share"
)

type op uint8

const (
	// opPlain is memory without pointers or padding: equal bytes, equal value.
	opPlain op = iota
	opFloat32
	opFloat64
	opString
	opStruct
	opQuantity
	opTime
	opPointer
	opSlice
	opBytes         // a slice of plain elements
	opMapStrings    // from strings to strings
	opMapQuantities // from strings to quantities
	opMapAny        // from strings to interfaces
	opMap           // from strings to anything else
	opAny
	opOpaque // shared only if it is zero, which is nil or holds nothing but nil
	opState  // never shared: it may have hidden state, zero or not
)

// node describes how values of one type are encoded, compared and exchanged.
type node struct {
	op   op
	typ  reflect.Type
	size uintptr
	// unit identifies the type's values in the table; place is where its filter
	// counts them.
	unit  share.Unit
	place share.Place
	// elem is the node that a pointer, a slice or a map leads to.
	elem *node
	// fields are all leaves of a struct, in order, with adjacent plain ones
	// merged; refs are those of them that can be exchanged.
	fields, refs []field
	// state says that hidden state is part of the memory, which is then not
	// copied: a copy of a locked mutex is locked, and copying races with atomic
	// writes. So neighbours of the state cannot be exchanged.
	state bool
	// text is the offset of a Quantity's text.
	text uintptr
}

func newNode(t reflect.Type, o op, variant string) *node {
	unit := share.UnitOf(t, formats.Structure, variant)
	return &node{op: o, typ: t, size: t.Size(), unit: unit, place: share.PlaceOf(unit, 0)}
}

// field is a leaf of a struct, at its distance from the struct's beginning.
type field struct {
	at   uintptr
	node *node
}

// Plan describes how objects of one Go type are shared. It is immutable.
type Plan struct{ root *node }

// Compile returns the plan for a struct type, to which objects are pointers. It is
// an error if typ is no struct, or leads to too many types and fields.
func Compile(typ reflect.Type) (*Plan, error) {
	if typ.Kind() != reflect.Struct {
		return nil, fmt.Errorf("structure: %v is no struct", typ)
	}
	c := compiler{nodes: map[reflect.Type]*node{}, left: fields.MaxParts}
	root := c.node(typ)
	if c.left < 0 {
		return nil, fmt.Errorf("structure: %v leads to more than %d types and fields", typ, fields.MaxParts)
	}
	return &Plan{root: root}, nil
}

// compiler remembers the nodes of types, which may contain each other.
type compiler struct {
	nodes map[reflect.Type]*node
	// left is how many more nodes and fields there may be. The plan has failed below 0.
	left int
}

func (c *compiler) node(t reflect.Type) *node {
	if n := c.nodes[t]; n != nil {
		return n
	}
	n := newNode(t, opOpaque, "")
	if c.left--; c.left < 0 {
		return n
	}
	c.nodes[t] = n
	switch k := t.Kind(); k {
	case reflect.Bool, reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64,
		reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		n.op = opPlain
	case reflect.Float32:
		n.op = opFloat32
	case reflect.Float64:
		n.op = opFloat64
	case reflect.String:
		n.op = opString
	case reflect.Struct:
		c.structure(n)
	case reflect.Pointer:
		// The op comes first: what is inside may contain this type again.
		n.op = opPointer
		n.elem = c.node(t.Elem())
	case reflect.Slice:
		n.op = opSlice
		n.elem = c.node(t.Elem())
		if n.elem.op == opPlain {
			n.op = opBytes
		}
	case reflect.Array:
		switch elem := c.node(t.Elem()); {
		case elem.op == opPlain:
			n.op = opPlain
		case elem.state:
			n.op, n.state = opState, true
		}
	case reflect.Map:
		c.mapping(n)
	case reflect.Interface:
		if t.NumMethod() == 0 {
			n.op = opAny
		}
	}
	return n
}

func (c *compiler) mapping(n *node) {
	if n.typ.Key().Kind() != reflect.String {
		return
	}
	n.op = opMap // as in node
	n.elem = c.node(n.typ.Elem())
	switch elem := n.typ.Elem(); {
	case elem.Kind() == reflect.String:
		n.op = opMapStrings
	case n.elem.op == opQuantity:
		n.op = opMapQuantities
	case n.elem.op == opAny:
		n.op = opMapAny
	}
}

// structure fills the node of a struct.
func (c *compiler) structure(n *node) {
	switch n.typ {
	case reflect.TypeFor[time.Time]():
		n.op = opTime
		return
	case reflect.TypeFor[resource.Quantity]():
		n.op = opQuantity
		if f, ok := n.typ.FieldByName("s"); ok && f.Type.Kind() == reflect.String && knowsQuantity() {
			n.text = f.Offset
		} else {
			n.op, n.state = opState, true
		}
		return
	}
	for i := range n.typ.NumField() {
		if !n.typ.Field(i).IsExported() {
			n.op, n.state = opState, true
			return
		}
	}
	n.op = opStruct
	for i := range n.typ.NumField() {
		f := n.typ.Field(i)
		inner := c.node(f.Type)
		n.state = n.state || inner.state
		// Fields of structs inside are fields of this one.
		if c.left -= 1 + len(inner.fields); c.left < 0 {
			return
		}
		if inner.op != opStruct {
			n.add(f.Offset, inner)
			continue
		}
		for _, g := range inner.fields {
			n.add(f.Offset+g.at, g.node)
		}
	}
	if n.state {
		return
	}
	for _, f := range n.fields {
		switch f.node.op {
		case opString, opPointer, opSlice, opBytes, opMapStrings, opMapQuantities, opMapAny, opMap, opAny:
			n.refs = append(n.refs, f)
		}
	}
}

// add appends a leaf. It merges it with the one before if both are plain and
// adjacent.
func (n *node) add(at uintptr, leaf *node) {
	if last := len(n.fields) - 1; leaf.op == opPlain && last >= 0 {
		if f := &n.fields[last]; f.node.op == opPlain && f.at+f.node.size == at {
			f.node = &node{op: opPlain, size: f.node.size + leaf.size}
			return
		}
	}
	n.fields = append(n.fields, field{at, leaf})
}
