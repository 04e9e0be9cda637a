package structure

import (
	"encoding/binary"
	"math"
	"reflect"
	"slices"
	"strings"
	"time"
	"unsafe"

	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/kinglet-go/kinglet/internal/wire/footprint"
	"github.com/kinglet-go/kinglet/internal/wire/gotype"
	"github.com/kinglet-go/kinglet/internal/wire/memory"
)

// segment is the encoding of one unit: a pointer, slice, map or interface with
// content. The segments of the units inside it follow it.
type segment struct {
	start, end int
	// next is the number of the first segment that is not inside this one.
	next int
	// bytes is how much memory the value keeps alive.
	bytes int
	// alone: something in it cannot be shared.
	alone bool
	// keys is where the keys of a map of interfaces begin.
	keys int
}

// encoder encodes values. Values that differ by reflect.DeepEqual have different
// encodings.
type encoder struct {
	buf  []byte
	segs []segment
	// keys are those of all maps of interfaces, each map's in order.
	keys []string
	// alone counts values that cannot be shared, bytes the memory kept alive. The
	// difference over a unit is what is inside it.
	alone, bytes int
	// inMap, if not 0: a map's value is being encoded, which has no address.
	// Nothing inside it is a unit.
	inMap        int
	depth, units int
	// deep: something was left out, or there is too much, so the encoding must not be used.
	deep bool

	entries []entry
	sorted  []byte
}

// entry is where the encoding of a map's entry is.
type entry struct {
	key        string
	start, end int
}

// maxDepth is how deep values are followed, and mostUnits how many units are encoded at once.
// A value that nests deeper, or has more, is not shared.
const (
	maxDepth  = 500
	mostUnits = 1 << 18
)

func (e *encoder) reset() {
	clear(e.keys)
	e.buf, e.segs, e.keys = e.buf[:0], e.segs[:0], e.keys[:0]
	e.alone, e.bytes, e.inMap, e.depth, e.units, e.deep = 0, 0, 0, 0, 0, false
}

// length appends a length, plus one: 0 is nil.
func (e *encoder) length(n int) { e.buf = binary.AppendUvarint(e.buf, uint64(n)+1) }

func (e *encoder) string(s string) {
	e.buf = binary.AppendUvarint(e.buf, uint64(len(s)))
	e.buf = append(e.buf, s...)
	e.bytes += len(s)
}

func (e *encoder) word(x uint64) { e.buf = binary.LittleEndian.AppendUint64(e.buf, x) }

// begin opens a segment.
func (e *encoder) begin(size int) (at, bytes, alone int) {
	bytes, alone = e.bytes, e.alone
	e.bytes += size
	e.depth++
	e.units++
	e.deep = e.deep || e.units > mostUnits
	if e.inMap == 0 {
		e.segs = append(e.segs, segment{start: len(e.buf), keys: len(e.keys)})
	}
	return len(e.segs) - 1, bytes, alone
}

func (e *encoder) end(at, bytes, alone int) {
	e.depth--
	if e.inMap > 0 {
		return
	}
	s := &e.segs[at]
	s.end, s.next, s.bytes, s.alone = len(e.buf), len(e.segs), e.bytes-bytes, e.alone > alone
}

// value appends the encoding of the value at p.
func (e *encoder) value(n *node, p unsafe.Pointer) {
	switch n.op {
	case opPlain:
		e.buf = append(e.buf, memory.Bytes(p, n.size)...)
	case opFloat32:
		e.float(float64(*(*float32)(p)))
	case opFloat64:
		e.float(*(*float64)(p))
	case opString:
		e.string(stringAt(p))
	case opStruct:
		for i := range n.fields {
			f := &n.fields[i]
			e.value(f.node, unsafe.Add(p, f.at))
		}
	case opTime:
		// The bytes include the location's address; the value keeps that alive.
		e.buf = append(e.buf, memory.Bytes(p, unsafe.Sizeof(time.Time{}))...)
	case opQuantity:
		q := (*resource.Quantity)(p)
		if gotype.QuantityText(q) == "" {
			e.alone++
		}
		e.quantity(q)
	case opPointer:
		q := *(*unsafe.Pointer)(p)
		if e.nothing(q == nil) {
			return
		}
		at, bytes, alone := e.begin(int(n.elem.size))
		e.length(0)
		e.value(n.elem, q)
		e.end(at, bytes, alone)
	case opSlice, opBytes:
		e.slice(n, (*memory.Slice)(p))
	case opMapStrings, opMapQuantities, opMap:
		e.mapping(n, p)
	case opMapAny:
		e.mapAny(mapAt[any](p))
	case opAny:
		e.any(*(*any)(p))
	case opState:
		e.alone++
	default:
		if !memory.Zero(p, n.size) {
			e.alone++
		}
	}
}

// nothing encodes nil, or a value that is too deep, as nothing, and reports that it
// did. After a value that is too deep it does so for all: the encoding is not used,
// and a value that leads back to itself in two ways would double at each step.
func (e *encoder) nothing(null bool) bool {
	if e.deep || !null && e.depth > maxDepth {
		e.deep, null = true, true
	}
	if null {
		e.buf = append(e.buf, 0)
	}
	return null
}

// empty encodes nothing, or n elements if there are none, and reports that it did.
func (e *encoder) empty(null bool, n int) bool {
	if e.nothing(null) {
		return true
	}
	if n == 0 {
		e.length(0)
	}
	return n == 0
}

func (e *encoder) float(x float64) {
	if x != x {
		e.alone++ // equals nothing
	}
	e.word(math.Float64bits(x))
}

// quantity encodes a Quantity and its cached text.
func (e *encoder) quantity(q *resource.Quantity) {
	e.string(gotype.QuantityText(q))
	e.string(string(q.Format))
	// It is read without AsDec, which writes. A Quantity that is held as a big
	// number is not shared.
	head := (*gotype.QuantityHead)(unsafe.Pointer(q))
	if head.Dec != nil {
		e.alone++
	}
	e.word(uint64(head.Value))
	e.word(uint64(head.Scale))
}

func (e *encoder) slice(n *node, s *memory.Slice) {
	if e.empty(s.Data == nil, s.Len) {
		return
	}
	at, bytes, alone := e.begin(s.Len * int(n.elem.size))
	e.length(s.Len)
	if n.op == opBytes {
		e.buf = append(e.buf, memory.Bytes(s.Data, uintptr(s.Len)*n.elem.size)...)
	} else {
		for i := range s.Len {
			e.value(n.elem, unsafe.Add(s.Data, uintptr(i)*n.elem.size))
		}
	}
	e.end(at, bytes, alone)
}

// mapping encodes a map whose values are no units.
func (e *encoder) mapping(n *node, p unsafe.Pointer) {
	m := mapAt[struct{}](p) // its length alone is read
	if e.empty(m == nil, len(m)) {
		return
	}
	at, total, alone := e.begin(n.mapBytes(len(m)))
	e.length(len(m))
	e.inMap++
	first, from := len(e.entries), len(e.buf)
	note := func(key string, start int) { e.entries = append(e.entries, entry{key, start, len(e.buf)}) }
	switch n.op {
	case opMapStrings:
		for k, v := range mapAt[string](p) {
			start := len(e.buf)
			e.string(k)
			e.string(v)
			note(k, start)
		}
	case opMapQuantities:
		for k, v := range mapAt[resource.Quantity](p) {
			start := len(e.buf)
			e.string(k)
			// It has no address, so nobody can write its text.
			e.quantity(&v)
			note(k, start)
		}
	default:
		key, value := reflect.New(n.typ.Key()), reflect.New(n.typ.Elem())
		for it := reflect.NewAt(n.typ, p).Elem().MapRange(); it.Next(); {
			key.Elem().SetIterKey(it)
			value.Elem().SetIterValue(it)
			start := len(e.buf)
			k := key.Elem().String()
			e.string(k)
			e.value(n.elem, value.UnsafePointer())
			note(k, start)
		}
	}
	e.sort(first, from)
	e.inMap--
	e.end(at, total, alone)
}

// sort puts the entries from first on, whose encodings begin at from, in the
// order of their keys.
func (e *encoder) sort(first, from int) {
	entries := e.entries[first:]
	if byKey := func(a, b entry) int { return strings.Compare(a.key, b.key) }; !slices.IsSortedFunc(entries, byKey) {
		slices.SortFunc(entries, byKey)
		e.sorted = append(e.sorted[:0], e.buf[from:]...)
		out := e.buf[:from]
		for _, x := range entries {
			out = append(out, e.sorted[x.start-from:x.end-from]...)
		}
	}
	clear(entries)
	e.entries = e.entries[:first]
}

// mapBytes returns about how much memory a map of the node's type takes.
func (n *node) mapBytes(entries int) int {
	return footprint.MapBytes(entries, n.typ.Key().Size()+n.typ.Elem().Size())
}
