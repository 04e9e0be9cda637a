package json

import (
	stdjson "encoding/json"
	"reflect"
	"slices"
	"strings"
	"unsafe"

	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/kinglet-go/kinglet/internal/wire/formats"
	"github.com/kinglet-go/kinglet/internal/wire/gotype"
	"github.com/kinglet-go/kinglet/internal/wire/share"
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
	// state (package gotype). A reader of the object may be writing to it, so it is
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
	// raw is the offset of the field Raw.
	raw uintptr
	// drops is for the official decoder, which also builds the dropped fields.
	drops *gotype.Drops
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

// opOf returns how a type is decoded, its elements and fields aside.
func opOf(t *gotype.Type) op {
	if o, ok := wellKnown(t.Go); ok {
		return o
	}
	if t.DecodesItself {
		return opOther
	}
	switch t.Kind {
	case reflect.Struct:
		return opStruct
	case reflect.Pointer:
		if !leads(t) {
			return opOther
		}
		return opPointer
	case reflect.Slice:
		if t.Elem.Kind == reflect.Uint8 {
			if t.Elem.Go == reflect.TypeFor[byte]() {
				return opBytes
			}
			return opOther
		}
		return opSlice
	case reflect.Map:
		switch opOf(t.Key) {
		case opString, opInt, opUint:
			return opMap
		}
		return opOther
	case reflect.String:
		if t.Go == reflect.TypeFor[stdjson.Number]() {
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
func leads(t *gotype.Type) bool {
	for range 8 {
		if t = t.Elem; t.Kind != reflect.Pointer {
			return true
		}
	}
	return false
}

// compiler makes the nodes of a plan.
type compiler struct {
	gotype.Nodes[node]
	// unsure: encoding/json treats a type differently depending on its place.
	unsure bool
}

// embedsDecoder reports a field whose decoder encoding/json does not call, since the name of
// what is embedded is not exported.
func embedsDecoder(f gotype.Field) bool {
	name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
	return f.Embedded && !f.Exported && f.Type.DecodesItself && name != "" && name != "-"
}

func (c *compiler) fill(n *node, t *gotype.Type, d *gotype.Drops) {
	*n = node{op: opOf(t), typ: t.Go, size: t.Size, unit: share.UnitOf(t.Go, formats.JSON, d.String()), drops: d}
	n.place = share.PlaceOf(n.unit, 0)
	if t.Kind == reflect.Struct && t.DecodesItself && t.Go.Name() == "" || slices.ContainsFunc(t.Fields, embedsDecoder) {
		c.unsure = true
	}
	switch n.op {
	case opStruct:
		c.structure(n, t)
	case opPointer:
		n.elem = c.To(t.Elem, d)
		n.pointer(t.Elem)
	case opSlice:
		n.elem = c.To(t.Elem, d)
		n.shared, n.large = true, t.Elem.Size >= share.MinDecoded
	case opMap:
		n.key, n.elem = c.In(t.Key, nil), c.To(t.Elem, d)
		n.stringMap = n.key.op == opString && opOf(t.Elem) == opString
		n.shared = true
	case opBytes:
		n.shared = true
	case opRaw:
		f, _ := t.Go.FieldByName("Raw")
		n.raw = f.Offset
	case opString, opBool, opInt, opUint, opFloat, opTime, opMicroTime, opIntOrString:
		n.plain = true
	case opQuantity:
		n.holds = true
	}
	if n.op == opOther && t.HidesStateInJSON {
		n.holds, n.alone = true, true
	}
}

func (c *compiler) structure(n *node, t *gotype.Type) {
	list := t.Members()
	if len(list) > maxFields || slices.ContainsFunc(list, func(m gotype.Member) bool { return m.Odd }) {
		n.op = opOther
		return
	}
	known := make([]string, len(list))
	n.fields = make([]field, len(list))
	if t.ForgetsState() {
		n.holds, n.alone = true, true
	}
	for i, m := range list {
		known[i] = m.Name
		f := field{offset: m.Offset, node: &node{op: opDrop}}
		if inside, whole := n.drops.Of(m.Name); !whole {
			f.node = c.In(m.Type, inside)
		} else if m.Type.HoldsState {
			n.holds, n.alone = true, true
		}
		n.fields[i] = f
		switch inner := f.node; inner.op {
		case opStruct:
			// A member that is missing leaves its Quantities zero, and String writes to
			// them as well.
			for _, q := range inner.quantities {
				n.quantities = append(n.quantities, f.offset+q)
			}
			fallthrough
		case opOther:
			n.holds, n.alone = n.holds || inner.holds, n.alone || inner.alone
		case opQuantity:
			n.holds, n.quantities = true, append(n.quantities, f.offset)
		}
	}
	n.names = newNames(known)
}

// pointer prepares a pointer's node. It looks only at the type pointed to, whose
// node may not be filled yet.
func (n *node) pointer(to *gotype.Type) {
	t := to.Go
	switch o := opOf(to); o {
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
		n.shared, n.large = true, t.Size() >= share.MinDecoded
	}
}

// enlarge marks the nodes whose values may have something inside that is not compared
// with the previous version's: a map, which takes 48 bytes if empty and 300 and more with
// an entry, or a Quantity, to which a reader may be writing.
func (c *compiler) enlarge() {
	above := map[*node][]*node{}
	var large []*node
	for n := range c.All() {
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
