package json

import (
	stdjson "encoding/json"
	"reflect"
	"slices"
	"unsafe"

	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/kinglet-go/kinglet/internal/wire/fields"
	"github.com/kinglet-go/kinglet/internal/wire/formats"
	"github.com/kinglet-go/kinglet/internal/wire/share"
	"github.com/kinglet-go/kinglet/internal/wire/state"
)

// op says how a value is decoded.
type op uint8

const (
	// opOther is for the official decoder: types with an UnmarshalJSON or
	// UnmarshalText of their own, interfaces, arrays, and rare types.
	opOther op = iota
	opStruct
	opPointer
	opSlice
	opBytes
	opMap
	opString
	opBool
	opInt
	opUint
	opFloat
	opTime
	opMicroTime
	opQuantity
	opIntOrString
	// opRaw is a struct that keeps the JSON itself in its field Raw.
	opRaw
	// opDrop is skipped.
	opDrop
)

// node describes how one type is decoded. It is immutable once compiled.
type node struct {
	op op
	// shared: its values are looked up in the table of shared values.
	shared bool
	// large: a value takes 64 bytes or more although its encoding may take two, or has
	// something inside that would be built again without a record (compiler.enlarge).
	large bool
	// holds: its memory contains a Quantity, or a value that may have other hidden
	// state (package state). A reader of the object may be writing to it, so it is
	// neither compared nor copied.
	holds bool
	// alone: some of that state is not a Quantity decoded here, for which it is
	// known whether it will be written to. Then no value may be shared.
	alone bool
	// plain: it is one word or string, and has no unit inside.
	plain bool
	// stringMap: both keys and elements are strings.
	stringMap bool

	typ   reflect.Type
	size  uintptr
	unit  share.Unit
	place share.Place
	// key and elem are set for a map; elem also for pointers and slices.
	key, elem *node
	// fields and names are a struct's, in the same order.
	fields []field
	names  names
	// quantities are the offsets of the Quantity values in the struct's memory.
	quantities []uintptr
	// raw is the offset of the field Raw, text that of a Quantity's text.
	raw, text uintptr
	// drops is for the official decoder, which also builds the dropped fields.
	drops *fields.Drops
	// constants are pointers to values that many objects have: false and true,
	// or the numbers from 0 to 127.
	constants []unsafe.Pointer
}

// field is a field of a struct.
type field struct {
	node   *node
	offset uintptr
	// identity: kind or apiVersion of the object itself.
	identity identity
}

type identity uint8

const (
	notIdentity identity = iota
	isKind
	isAPIVersion
)

// maxFields is how many fields a struct may have on the fast path.
const maxFields = 64 * seenWords

const seenWords = 4

// wellKnown returns the op of a type whose own decoder is reimplemented here,
// faster.
func wellKnown(t reflect.Type) (op, bool) {
	switch t {
	case reflect.TypeFor[metav1.Time]():
		return opTime, true
	case reflect.TypeFor[metav1.MicroTime]():
		return opMicroTime, true
	case reflect.TypeFor[resource.Quantity]():
		return opQuantity, true
	case reflect.TypeFor[intstr.IntOrString]():
		return opIntOrString, true
	case reflect.TypeFor[runtime.RawExtension](), reflect.TypeFor[metav1.FieldsV1]():
		// FieldsV1 has another field in some builds.
		if f, ok := t.FieldByName("Raw"); ok && f.Type == reflect.TypeFor[[]byte]() {
			return opRaw, true
		}
		return opOther, true
	}
	return opOther, false
}

// kindOf returns how a type is decoded, its elements and fields aside.
func kindOf(t reflect.Type) op {
	if o, ok := wellKnown(t); ok {
		return o
	}
	if fields.DecodesItself(t) {
		return opOther
	}
	switch t.Kind() {
	case reflect.Struct:
		return opStruct
	case reflect.Pointer:
		if !leads(t) {
			return opOther
		}
		return opPointer
	case reflect.Slice:
		if t.Elem().Kind() == reflect.Uint8 {
			if t.Elem() == reflect.TypeFor[byte]() {
				return opBytes
			}
			return opOther
		}
		return opSlice
	case reflect.Map:
		return opMap
	case reflect.String:
		if t == reflect.TypeFor[stdjson.Number]() {
			return opOther
		}
		return opString
	case reflect.Bool:
		return opBool
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		return opInt
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64, reflect.Uintptr:
		return opUint
	case reflect.Float32, reflect.Float64:
		return opFloat
	}
	return opOther
}

// leads reports that a pointer leads to a value, after a few pointers at most: one to its
// own type does not.
func leads(t reflect.Type) bool {
	for range 8 {
		if t = t.Elem(); t.Kind() != reflect.Pointer {
			return true
		}
	}
	return false
}

// compiler makes nodes, one for each type and the set of fields dropped inside it,
// so that recursive types come to an end.
type compiler struct {
	nodes  map[nodeKey]*node
	hiding *state.Hiding
	// left is how many more nodes and fields the plan may have. It has failed below 0.
	left int
	// unsure: encoding/json treats a type differently depending on its place.
	unsure bool
}

type nodeKey struct {
	typ   reflect.Type
	drops string
}

func (c *compiler) node(t reflect.Type, d *fields.Drops) *node {
	variant := d.String()
	key := nodeKey{t, variant}
	if n := c.nodes[key]; n != nil {
		return n
	}
	if c.left--; c.left < 0 {
		return &node{}
	}
	n := &node{op: kindOf(t), typ: t, size: t.Size(), unit: share.UnitOf(t, formats.JSON, variant), drops: d}
	n.place = share.PlaceOf(n.unit, 0)
	c.nodes[key] = n
	if t.Name() == "" && t.Kind() == reflect.Struct && fields.DecodesItself(t) {
		c.unsure = true
	}
	switch n.op {
	case opStruct:
		c.structure(n, d)
	case opPointer:
		n.elem = c.node(t.Elem(), d)
		n.pointer()
	case opSlice:
		n.elem = c.node(t.Elem(), d)
		n.shared, n.large = true, n.large || t.Elem().Size() >= share.MinDecoded
	case opMap:
		c.dictionary(n, d)
	case opBytes:
		n.shared = true
	case opRaw:
		f, _ := t.FieldByName("Raw")
		n.raw = f.Offset
	case opString, opBool, opInt, opUint, opFloat, opTime, opMicroTime, opIntOrString:
		n.plain = true
	case opQuantity:
		n.holds, n.text = true, quantityText()
	}
	if n.op == opOther && c.hiding.In(t) {
		n.holds, n.alone = true, true
	}
	return n
}

func (c *compiler) structure(n *node, d *fields.Drops) {
	list := fields.Members(n.typ)
	c.left -= len(list)
	odd := len(list) > maxFields
	for _, m := range list {
		odd = odd || m.Odd
	}
	if odd {
		n.op = opOther
		return
	}
	known := make([]string, len(list))
	n.fields = make([]field, len(list))
	for i, m := range list {
		inside, whole := d.Of(m.Name)
		f := field{offset: m.Offset}
		if whole {
			f.node = &node{op: opDrop}
		} else {
			f.node = c.node(m.Type, inside)
		}
		switch f.node.op {
		case opOther, opQuantity:
			n.holds, n.alone = n.holds || f.node.holds, n.alone || f.node.alone
		}
		if f.node.op == opQuantity {
			n.quantities, n.text = append(n.quantities, f.offset), f.node.text
		}
		known[i], n.fields[i] = m.Name, f
	}
	n.names = newNames(known)
	if c.undecoded(n, n.typ, 0) {
		n.holds, n.alone = true, true
	}
}

// undecoded reports that a struct, at an offset in a node's, has hidden state in a field
// that is not decoded. Embedded structs may nest so that they have many more fields than
// types.
func (c *compiler) undecoded(n *node, t reflect.Type, at uintptr) bool {
	for i := range t.NumField() {
		if c.left--; c.left < 0 {
			return true
		}
		sf := t.Field(i)
		offset := at + sf.Offset
		if slices.ContainsFunc(n.fields, func(f field) bool { return f.offset == offset && f.node.typ == sf.Type }) {
			continue
		}
		if embedded := sf.Anonymous && sf.Type.Kind() == reflect.Struct && !fields.DecodesItself(sf.Type); embedded {
			if c.undecoded(n, sf.Type, offset) {
				return true
			}
		} else if state.InField(sf) {
			return true
		}
	}
	return false
}

func (c *compiler) dictionary(n *node, d *fields.Drops) {
	key := kindOf(n.typ.Key())
	if key != opString && key != opInt && key != opUint {
		n.op = opOther
		return
	}
	n.key, n.elem = c.node(n.typ.Key(), nil), c.node(n.typ.Elem(), d)
	n.stringMap = key == opString && n.elem.op == opString
	n.shared = true
}

// pointer prepares a pointer's node. It looks only at the type pointed to, whose
// node may not be compiled yet if it is recursive.
func (n *node) pointer() {
	t := n.typ.Elem()
	switch o := kindOf(t); o {
	case opBool:
		n.plain = true
		for _, v := range []bool{false, true} {
			p := reflect.New(t)
			p.Elem().SetBool(v)
			n.constants = append(n.constants, p.UnsafePointer())
		}
	case opInt:
		n.plain = true
		array := reflect.New(reflect.ArrayOf(128, t)).Elem()
		for i := range array.Len() {
			array.Index(i).SetInt(int64(i))
			n.constants = append(n.constants, array.Index(i).Addr().UnsafePointer())
		}
	case opString, opUint, opFloat, opTime, opMicroTime, opIntOrString:
		n.plain = true
	default:
		n.shared, n.large = true, n.large || t.Size() >= share.MinDecoded
	}
}

// enclose adds to a struct's node what the structs in its memory have. Their nodes are
// finished only now if they lead back to it. done are the nodes that it was called with.
func (c *compiler) enclose(n *node, done map[*node]bool) {
	if n.op != opStruct || done[n] {
		return
	}
	done[n] = true
	for i := range n.fields {
		inner := n.fields[i].node
		if inner.op != opStruct {
			continue
		}
		c.enclose(inner, done)
		n.holds, n.alone = n.holds || inner.holds, n.alone || inner.alone
		if c.left -= len(inner.quantities); c.left < 0 {
			return
		}
		for _, q := range inner.quantities {
			// A member that is missing leaves them zero, and String writes to them as well.
			n.quantities, n.text = append(n.quantities, n.fields[i].offset+q), inner.text
		}
	}
}

// enlarge marks the nodes whose values may have something inside that is not compared
// with the previous version's: a map, which takes 48 bytes if empty and 300 and more with
// an entry, or a Quantity, to which a reader may be writing.
func (c *compiler) enlarge() {
	above := map[*node][]*node{}
	var large []*node
	for _, n := range c.nodes {
		switch n.op {
		case opMap, opQuantity:
			large = append(large, n)
		case opPointer, opSlice:
			above[n.elem] = append(above[n.elem], n)
		case opStruct:
			for i := range n.fields {
				above[n.fields[i].node] = append(above[n.fields[i].node], n)
			}
		}
	}
	for marked := map[*node]bool{}; len(large) > 0; {
		n := large[len(large)-1]
		large = large[:len(large)-1]
		if !marked[n] {
			marked[n], n.large = true, true
			large = append(large, above[n]...)
		}
	}
}

// bits is the size of a number.
func (n *node) bits() int { return int(n.size) * 8 }
