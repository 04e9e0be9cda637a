package protobuf

import (
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kinglet-go/kinglet/internal/wire/fields"
	"github.com/kinglet-go/kinglet/internal/wire/formats"
	"github.com/kinglet-go/kinglet/internal/wire/official"
	"github.com/kinglet-go/kinglet/internal/wire/share"
	"github.com/kinglet-go/kinglet/internal/wire/state"
)

// Compile makes the plan of a Go struct type with generated protobuf code,
// without the fields in drop. It takes some milliseconds for a large type.
//
// The error is a *TypeError if the type has no Unmarshal of its own, or one that could
// recurse where a plan cannot tell how deep, or leads to too many types.
func Compile(typ reflect.Type, drop *fields.Drops) (*Plan, error) {
	if typ.Kind() != reflect.Struct || !Reads(typ) {
		return nil, &TypeError{typ, "it has no Unmarshal of its own, or is no struct"}
	}
	c := compiler{messages: map[messageKey]*message{}, hiding: state.NewHiding(nil), nesting: map[reflect.Type]nesting{}}
	p := &Plan{id: share.NewPlanID(), root: c.message(typ, drop), drops: drop, quantityText: -1}
	whole := c.message(typ, nil)
	if c.err != nil {
		return nil, c.err
	}
	if c.recursive {
		p.whole = whole
	}
	if f, ok := quantityType.FieldByName("s"); ok && f.Type.Kind() == reflect.String {
		p.quantityText = int(f.Offset)
	}
	return p, nil
}

var (
	unmarshalerType = reflect.TypeFor[official.Protobuf]()
	quantityType    = reflect.TypeFor[resource.Quantity]()
	typeMetaType    = reflect.TypeFor[metav1.TypeMeta]()
	timeType        = reflect.TypeFor[metav1.Time]()
	microTimeType   = reflect.TypeFor[metav1.MicroTime]()
)

// Reads reports that objects of a type can be read from protobuf: it has an Unmarshal, and
// not that of a type that it embeds, which would leave out the rest.
func Reads(typ reflect.Type) bool { return canUnmarshal(typ) && fields.Declares(typ, "Unmarshal") }

func canUnmarshal(typ reflect.Type) bool { return reflect.PointerTo(typ).Implements(unmarshalerType) }

// generated reports that a type's Unmarshal was written by gogo, for the fields
// that the type has.
func generated(typ reflect.Type) bool {
	m, ok := reflect.PointerTo(typ).MethodByName("Unmarshal")
	return ok && typ.Name() != "" && typ.Kind() == reflect.Struct && strings.HasSuffix(fields.FileOf(m), ".pb.go")
}

// compiler makes messages, each once.
type compiler struct {
	messages map[messageKey]*message
	open     []*message // being compiled
	hiding   *state.Hiding
	nesting  map[reflect.Type]nesting
	// parts counts messages and fields.
	parts     int
	recursive bool
	err       error
}

type messageKey struct {
	typ  reflect.Type
	drop string
}

// message returns the plan of a type without some of its fields.
func (c *compiler) message(typ reflect.Type, drop *fields.Drops) *message {
	key := messageKey{typ, drop.String()}
	if m := c.messages[key]; m != nil {
		for _, o := range c.open {
			if o == m {
				c.recursive = true
			}
		}
		return m
	}
	if typ.Kind() == reflect.Struct {
		c.parts += typ.NumField()
	}
	if c.parts++; c.parts > fields.MaxParts {
		c.err = &TypeError{typ, "with it, there are too many types and fields"}
		return &message{foreign: true}
	}
	m := &message{typ: typ, size: typ.Size(), drops: drop, typeMeta: -1}
	c.messages[key] = m
	c.open = append(c.open, m)
	defer func() { c.open = c.open[:len(c.open)-1] }()
	if typ == timeType || typ == microTimeType || typ == quantityType {
		m.foreign = true
		m.private = typ == quantityType
		m.holds = m.private
		return m
	}
	if reason := c.fields(m, drop); reason != "" {
		m.foreign, m.ops, m.index = true, nil, nil
		m.private = c.hiding.In(typ)
		// A copy would refer to the same state, if it is not in place.
		m.holds, m.alone = m.private, false
		if c.err == nil && generated(typ) && c.nests(typ) {
			c.err = &TypeError{typ, "it contains itself, and " + reason}
		}
	}
	return m
}

// maxFields is how many fields a planned message may have: a word has one bit for
// each field that was seen.
const maxFields = 64

// fields fills in a message's ops, or says why it cannot have any.
func (c *compiler) fields(m *message, drop *fields.Drops) string {
	if !generated(m.typ) {
		return "its Unmarshal is its own"
	}
	for i := range m.typ.NumField() {
		f := m.typ.Field(i)
		if !f.IsExported() && !f.Anonymous {
			return "it has unexported fields"
		}
		tag, ok := f.Tag.Lookup("protobuf")
		if !ok && f.Anonymous && f.Type == typeMetaType {
			m.typeMeta = int(f.Offset)
			continue
		}
		inner, gone := drop.In(f)
		if gone {
			m.alone = m.alone || state.Inline(f.Type)
			continue
		}
		o, ok := c.op(f, tag, inner)
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
func (c *compiler) op(f reflect.StructField, tag string, drop *fields.Drops) (op, bool) {
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
		number: uint16(number), offset: uint32(f.Offset), size: uint32(f.Type.Size()), wire: wireBytes,
		source: &source{typ: f.Type},
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
	place := share.UnitOf(c.open[len(c.open)-1].typ, formats.Protobuf, "")
	o.units, o.text = share.PlaceOf(place, 2*number), share.PlaceOf(place, 2*number+1)
	if o.kind >= kindStringPointer {
		o.unit = share.UnitOf(f.Type, formats.Protobuf, drop.String())
	}
	return o, true
}

// shape finds an op's kind by the field's type.
func (c *compiler) shape(o *op, typ reflect.Type, drop *fields.Drops) bool {
	if c.single(o, typ, drop) {
		return true
	}
	switch typ.Kind() {
	case reflect.Pointer:
		ok := c.single(o, typ.Elem(), drop)
		o.kind += kindStringPointer - kindString
		return ok
	case reflect.Slice:
		return c.slice(o, typ.Elem(), drop)
	case reflect.Map:
		return c.mapped(o, typ, drop)
	}
	return false
}

// single finds the kind of a type that is one value.
func (c *compiler) single(o *op, typ reflect.Type, drop *fields.Drops) bool {
	switch typ {
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
	if canUnmarshal(typ) {
		o.kind = kindMessage
		o.elem = c.message(typ, drop)
		return true
	}
	switch typ.Kind() {
	case reflect.String:
		o.kind = kindString
	case reflect.Bool:
		o.kind, o.wire = kindBool, wireVarint
	case reflect.Int32, reflect.Uint32:
		o.kind, o.wire = kindInt32, wireVarint
	case reflect.Int64, reflect.Uint64, reflect.Int, reflect.Uint:
		if typ.Size() != 8 {
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

func (c *compiler) slice(o *op, elem reflect.Type, drop *fields.Drops) bool {
	if canUnmarshal(elem) {
		if elem.Kind() != reflect.Struct {
			return false
		}
		o.kind = kindMessages
		o.elem = c.message(elem, drop)
		return true
	}
	if elem.Kind() == reflect.Uint8 {
		o.kind = kindBytes
		return true
	}
	if !c.single(o, elem, drop) {
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

func (c *compiler) mapped(o *op, typ reflect.Type, drop *fields.Drops) bool {
	if typ.Key().Kind() != reflect.String {
		return false
	}
	elem := typ.Elem()
	switch {
	case elem == quantityType:
		o.kind = kindQuantityMap
	case canUnmarshal(elem):
		o.kind = kindMessageMap
		o.elem = c.message(elem, drop)
	case elem.Kind() == reflect.String:
		o.kind = kindStringMap
	case elem.Kind() == reflect.Slice && elem.Elem().Kind() == reflect.Uint8:
		o.kind = kindBytesMap
	default:
		return false
	}
	return true
}

// nesting is what is known of a type that nests saw.
type nesting uint8

const (
	unseen nesting = iota
	above          // its parts are being looked at
	ends           // it does not lead to itself
)

// nests reports whether a type leads to one that contains itself. It looks at no type
// twice.
func (c *compiler) nests(typ reflect.Type) bool {
	if typ == quantityType || typ == reflect.TypeFor[time.Time]() || c.nesting[typ] == ends {
		return false
	}
	if c.nesting[typ] == above {
		return true
	}
	c.nesting[typ] = above
	switch typ.Kind() {
	case reflect.Pointer, reflect.Slice, reflect.Map, reflect.Array:
		if c.nests(typ.Elem()) {
			return true
		}
	case reflect.Struct:
		for i := range typ.NumField() {
			if c.nests(typ.Field(i).Type) {
				return true
			}
		}
	}
	c.nesting[typ] = ends
	return false
}
