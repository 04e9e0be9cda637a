package structure

import (
	"fmt"
	"reflect"
	"slices"
	"time"

	"github.com/kinglet-go/kinglet/internal/wire/formats"
	"github.com/kinglet-go/kinglet/internal/wire/gotype"
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
	// writes. So neighbours of the state cannot be exchanged. A Quantity alone is none.
	state bool
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

// Compile returns the plan for a struct type, to which objects are pointers. It is an
// error if typ is no struct, or a *gotype.TooLargeError.
func Compile(typ reflect.Type) (*Plan, error) {
	if typ.Kind() != reflect.Struct {
		return nil, fmt.Errorf("structure: %v is no struct", typ)
	}
	t, err := gotype.Of(typ)
	if err != nil {
		return nil, err
	}
	var c compiler
	c.Fill = func(n *node, t *gotype.Type, _ *gotype.Drops) { c.fill(n, t) }
	return &Plan{root: c.Root(t, nil)}, nil
}

type compiler struct{ gotype.Nodes[node] }

func (c *compiler) fill(n *node, t *gotype.Type) {
	*n = *newNode(t.Go, opOpaque, "")
	switch t.Kind {
	case reflect.Float32:
		n.op = opFloat32
	case reflect.Float64:
		n.op = opFloat64
	case reflect.String:
		n.op = opString
	case reflect.Struct:
		c.structure(n, t)
	case reflect.Pointer:
		n.op, n.elem = opPointer, c.To(t.Elem, nil)
	case reflect.Slice:
		if t.Elem.Size == 0 {
			break // without memory there may be any number of elements
		}
		n.op, n.elem = opSlice, c.To(t.Elem, nil)
		if plain(t.Elem) {
			n.op = opBytes
		}
	case reflect.Array:
		// Of Quantities, too: their text is hidden, and only a zero array would be shared.
		if t.HoldsState {
			n.op, n.state = opState, true
		}
	case reflect.Map:
		c.mapping(n, t)
	case reflect.Interface:
		if t.Go.NumMethod() == 0 {
			n.op = opAny
		}
	}
	if plain(t) {
		n.op = opPlain
	}
}

// plain reports that values are memory without pointers or padding.
func plain(t *gotype.Type) bool {
	switch t.Kind {
	case reflect.Bool, reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64,
		reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		return true
	case reflect.Array:
		return plain(t.Elem)
	}
	return false
}

func (c *compiler) mapping(n *node, t *gotype.Type) {
	if t.Key.Kind != reflect.String {
		return
	}
	n.op, n.elem = opMap, c.To(t.Elem, nil)
	switch elem := t.Elem; {
	case elem.Kind == reflect.String:
		n.op = opMapStrings
	case elem.Go == quantityType && gotype.KnowsQuantity():
		n.op = opMapQuantities
	case elem.Kind == reflect.Interface && elem.Go.NumMethod() == 0:
		n.op = opMapAny
	}
}

// structure fills the node of a struct.
func (c *compiler) structure(n *node, t *gotype.Type) {
	switch {
	case t.Go == reflect.TypeFor[time.Time]():
		n.op = opTime
		return
	case t.Go == quantityType && gotype.KnowsQuantity():
		n.op = opQuantity
		return
	case slices.ContainsFunc(t.Fields, func(f gotype.Field) bool { return !f.Exported }):
		n.op, n.state = opState, true
		return
	}
	n.op = opStruct
	for i := range t.Fields {
		f := &t.Fields[i]
		inner := c.In(f.Type, nil)
		n.state = n.state || inner.state
		if inner.op != opStruct {
			n.add(f.Offset, inner)
			continue
		}
		// Fields of structs inside are fields of this one.
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
