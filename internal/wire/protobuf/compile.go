package protobuf

import (
	"reflect"
	"slices"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kinglet-go/kinglet/internal/wire/formats"
	"github.com/kinglet-go/kinglet/internal/wire/gotype"
	"github.com/kinglet-go/kinglet/internal/wire/official"
	"github.com/kinglet-go/kinglet/internal/wire/share"
)

// Compile makes the plan of a Go struct type with generated protobuf code,
// without the fields in drop. It takes some milliseconds for a large type.
//
// The error is a *TypeError if the type has no Unmarshal of its own, or one that could
// recurse where a plan cannot tell how deep, and a *gotype.TooLargeError if it leads to too
// many types.
func Compile(typ reflect.Type, drop *gotype.Drops) (*Plan, error) {
	if typ.Kind() != reflect.Struct || !Reads(typ) {
		return nil, &TypeError{typ, "it has no Unmarshal of its own, or is no struct"}
	}
	t, err := gotype.Of(typ)
	if err != nil {
		return nil, err
	}
	var c compiler
	c.Fill = c.fill
	p := &Plan{id: share.NewPlanID(), root: c.Root(t, drop), drops: drop}
	if t.Recursive {
		p.whole = c.Root(t, nil)
	}
	if c.err != nil {
		return nil, c.err
	}
	return p, nil
}

var (
	quantityType  = reflect.TypeFor[resource.Quantity]()
	typeMetaType  = reflect.TypeFor[metav1.TypeMeta]()
	timeType      = reflect.TypeFor[metav1.Time]()
	microTimeType = reflect.TypeFor[metav1.MicroTime]()
)

// Reads reports that objects of a type can be read from protobuf: it has an Unmarshal, and
// not that of a type that it embeds, which would leave out the rest.
func Reads(typ reflect.Type) bool {
	return reflect.PointerTo(typ).Implements(reflect.TypeFor[official.Protobuf]()) && gotype.Declares(typ, "Unmarshal")
}

// generated reports that a type's Unmarshal was written by gogo, for the fields
// that the type has.
func generated(typ reflect.Type) bool {
	m, ok := reflect.PointerTo(typ).MethodByName("Unmarshal")
	return ok && typ.Name() != "" && typ.Kind() == reflect.Struct && strings.HasSuffix(gotype.FileOf(m.Func), ".pb.go")
}

// compiler makes messages.
type compiler struct {
	gotype.Nodes[message]
	err error
}

// fill makes the plan of a type without some of its fields.
func (c *compiler) fill(m *message, t *gotype.Type, drop *gotype.Drops) {
	*m = message{typ: t.Go, size: t.Size, drops: drop, typeMeta: -1}
	if t.Go == timeType || t.Go == microTimeType || t.Go == quantityType {
		m.foreign = true
		m.private = t.Go == quantityType
		m.holds = m.private
		return
	}
	if reason := c.fields(m, t); reason != "" {
		m.foreign, m.ops, m.index = true, nil, nil
		m.private = t.HidesState
		// A copy would refer to the same state, if it is not in place.
		m.holds, m.alone = m.private, false
		if t.Recursive && generated(t.Go) {
			c.err = &TypeError{t.Go, "it leads to itself, and " + reason}
		}
	}
}

// maxFields is how many fields a planned message may have: a word has one bit for
// each field that was seen.
const maxFields = 64

// fields fills in a message's ops, or says why it cannot have any.
func (c *compiler) fields(m *message, t *gotype.Type) string {
	if !generated(t.Go) {
		return "its Unmarshal is its own"
	}
	for i := range t.Fields {
		f := &t.Fields[i]
		if !f.Exported && !f.Embedded {
			return "it has unexported fields"
		}
		tag, ok := f.Tag.Lookup("protobuf")
		if !ok && f.Embedded && f.Type.Go == typeMetaType {
			m.typeMeta = int(f.Offset)
			continue
		}
		inner, gone := m.drops.In(f)
		if gone {
			m.alone = m.alone || f.Type.HoldsState
			continue
		}
		o, ok := c.op(m, f, tag, inner)
		if !ok {
			return "it has a field that is not supported: " + f.Name
		}
		m.ops = append(m.ops, o)
	}
	m.holds = m.alone
	return m.arrange()
}

// arrange sorts ops by their numbers, which is the order of the bytes.
func (m *message) arrange() string {
	if len(m.ops) > maxFields {
		return "it has more than 64 fields"
	}
	slices.SortFunc(m.ops, func(a, b op) int { return int(a.number) - int(b.number) })
	for i := range m.ops {
		o := &m.ops[i]
		bit := uint64(1) << i
		if o.kind == kindQuantity || o.kind == kindMessage && o.elem.holds {
			m.states |= bit
			m.holds = true
		}
		if m.typ == reflect.TypeFor[metav1.ObjectMeta]() {
			switch o.number {
			case numberResourceVersion:
				m.changing |= bit
			case numberManagedFields:
				m.begins |= bit
			}
		}
		for len(m.index) <= int(o.number) {
			m.index = append(m.index, 0)
		}
		if m.index[o.number] != 0 {
			return "it has two fields of a number"
		}
		m.index[o.number] = uint8(i + 1)
	}
	return ""
}

// maxNumber is the highest field number that a planned message may have: the
// index takes a byte for each.
const maxNumber = 1 << 10

// op returns how a field is decoded.
func (c *compiler) op(m *message, f *gotype.Field, tag string, drop *gotype.Drops) (op, bool) {
	parts := strings.Split(tag, ",")
	if len(parts) < 3 {
		return op{}, false
	}
	number, err := strconv.Atoi(parts[1])
	// The first word is unreliable: it is "bytes" for some numbers too, but never
	// for one of another encoding.
	if err != nil || number < 1 || number > maxNumber ||
		strings.HasPrefix(parts[0], "zigzag") || parts[0] == "fixed32" || parts[0] == "group" {
		return op{}, false
	}
	fixed := parts[0] == "fixed64"
	o := op{
		number: uint16(number), offset: uint32(f.Offset), size: uint32(f.Type.Size), wire: wireBytes,
		source: &source{typ: f.Type.Go},
	}
	if !c.shape(&o, f.Type, drop) {
		return op{}, false
	}
	if fixed && o.wire != wireFixed64 {
		return op{}, false
	}
	v := uint64(number)<<3 | uint64(o.wire)
	for ; v >= 0x80; v >>= 7 {
		o.tag[o.tagLen] = byte(v) | 0x80
		o.tagLen++
	}
	o.tag[o.tagLen] = byte(v)
	o.tagLen++
	place := share.UnitOf(m.typ, formats.Protobuf, "")
	o.units, o.text = share.PlaceOf(place, 2*number), share.PlaceOf(place, 2*number+1)
	if o.kind >= kindStringPointer {
		o.unit = share.UnitOf(f.Type.Go, formats.Protobuf, drop.String())
	}
	return o, true
}

// shape finds an op's kind by the field's type.
func (c *compiler) shape(o *op, t *gotype.Type, drop *gotype.Drops) bool {
	if c.single(o, t, drop, c.In) {
		return true
	}
	if t.Elem == nil {
		return false
	}
	switch t.Kind {
	case reflect.Pointer:
		ok := c.single(o, t.Elem, drop, c.To)
		o.kind += kindStringPointer - kindString
		return ok
	case reflect.Slice:
		return c.slice(o, t.Elem, drop)
	case reflect.Map:
		return c.mapped(o, t, drop)
	}
	return false
}

// single finds the kind of a type that is one value. node returns that of a message.
func (c *compiler) single(o *op, t *gotype.Type, drop *gotype.Drops, node func(*gotype.Type, *gotype.Drops) *message) bool {
	switch t.Go {
	case timeType:
		o.kind = kindTime
		return true
	case microTimeType:
		o.kind = kindMicroTime
		return true
	case quantityType:
		o.kind = kindQuantity
		return true
	}
	if t.Unmarshals {
		o.kind = kindMessage
		o.elem = node(t, drop)
		return true
	}
	switch t.Kind {
	case reflect.String:
		o.kind = kindString
	case reflect.Bool:
		o.kind, o.wire = kindBool, wireVarint
	case reflect.Int32, reflect.Uint32:
		o.kind, o.wire = kindInt32, wireVarint
	case reflect.Int64, reflect.Uint64, reflect.Int, reflect.Uint:
		if t.Size != 8 {
			return false // an int of 32 bits
		}
		o.kind, o.wire = kindInt64, wireVarint
	case reflect.Float64:
		o.kind, o.wire = kindFloat64, wireFixed64
	default:
		return false
	}
	return true
}

func (c *compiler) slice(o *op, elem *gotype.Type, drop *gotype.Drops) bool {
	if elem.Unmarshals {
		if elem.Kind != reflect.Struct {
			return false
		}
		o.kind = kindMessages
		o.elem = c.To(elem, drop)
		return true
	}
	if elem.Kind == reflect.Uint8 {
		o.kind = kindBytes
		return true
	}
	if !c.single(o, elem, drop, c.To) {
		return false
	}
	switch o.kind {
	case kindString:
		o.kind = kindStrings
	case kindBool:
		o.kind = kindBools
	case kindInt32:
		o.kind = kindInt32s
	case kindInt64:
		o.kind = kindInt64s
	default:
		return false
	}
	return true
}

func (c *compiler) mapped(o *op, t *gotype.Type, drop *gotype.Drops) bool {
	if t.Key.Kind != reflect.String {
		return false
	}
	switch elem := t.Elem; {
	case elem.Go == quantityType:
		o.kind = kindQuantityMap
	case elem.Unmarshals:
		o.kind = kindMessageMap
		o.elem = c.To(elem, drop)
	case elem.Kind == reflect.String:
		o.kind = kindStringMap
	case elem.Kind == reflect.Slice && elem.Elem.Kind == reflect.Uint8:
		o.kind = kindBytesMap
	default:
		return false
	}
	return true
}
