package json

import (
	"encoding/base64"
	"reflect"
	"strconv"
	"unsafe"

	"github.com/kinglet-go/kinglet/internal/wire/footprint"
	"github.com/kinglet-go/kinglet/internal/wire/memory"
	"github.com/kinglet-go/kinglet/internal/wire/scan"
	"github.com/kinglet-go/kinglet/internal/wire/share"
)

// slice decodes an array. It allocates once, for as many elements as the tape
// counted, or as the previous version has, which is right most of the time.
func (d *decoder) slice(n *node, p, last *memory.Slice, records *share.Cursor, at int) int {
	raw := d.raw
	if raw[at] != '[' || d.depth == maxDepth {
		return -1
	}
	count := 0
	if e := d.tape.find(at); e != nil {
		count = int(e.n)
	} else if last != nil && last.Len > 0 {
		count = last.Len
	} else if d.indexed(at) {
		count = int(d.tape.entries[0].n)
	} else {
		return -1
	}
	start := at
	if at = scan.Space(raw, at+1); at < len(raw) && raw[at] == ']' {
		*p = memory.SliceOf(reflect.MakeSlice(n.typ, 0, 0).UnsafePointer(), 0)
		return at + 1
	}
	if count == 0 {
		return -1
	}
	d.depth++
	inMap := d.inMap
	d.inMap = false
	records.Rising()
	size := n.elem.size
	made := d.array(n, count)
	d.session.Allocated += count * int(size)
	for i := 0; ; i++ {
		if at >= len(raw) {
			return -1
		}
		if i == count {
			if !d.indexed(start) {
				return -1
			}
			count = int(d.tape.find(start).n)
			made = d.resize(n, made, i, count)
		}
		var lastElem unsafe.Pointer
		if last != nil && i < last.Len {
			lastElem = unsafe.Add(last.Data, uintptr(i)*size)
		}
		elem := unsafe.Add(made, uintptr(i)*size)
		if at = d.value(n.elem, elem, lastElem, records, i, at); at < 0 {
			return -1
		}
		if n.elem.op == opQuantity {
			d.countLazy(elem)
		}
		var more bool
		if at, more = scan.Item(raw, at, false, ']'); more {
			continue
		}
		if at < 0 {
			return -1
		}
		d.depth--
		d.inMap = inMap
		if i+1 < count {
			count = i + 1
			made = d.resize(n, made, count, count)
		}
		*p = memory.SliceOf(made, count)
		return at
	}
}

// array returns zeroed memory for a slice of count elements, at least one.
func (d *decoder) array(n *node, count int) unsafe.Pointer {
	if p := d.spares.take(n, count); p != nil {
		return p
	}
	return d.maker.Array(n.typ, count)
}

// resize returns memory for count elements that begins with the first few of old.
func (d *decoder) resize(n *node, old unsafe.Pointer, few, count int) unsafe.Pointer {
	return d.maker.Copied(n.typ, count, memory.SliceOf(old, few))
}

// counted returns how many members the object at raw[at] has, if that is known.
func (d *decoder) counted(at int) int {
	if e := d.tape.find(at); e != nil {
		return int(e.n)
	}
	return 0
}

// stringMap decodes into a map whose keys and elements are strings. It takes the
// previous version's map if that is equal.
func (d *decoder) stringMap(n *node, p, last *map[string]string, at int) int {
	if d.raw[at] != '{' || d.depth == maxDepth {
		return -1
	}
	var old map[string]string
	if last != nil {
		old = *last
	}
	count := max(d.counted(at), len(old))
	at++
	made := make(map[string]string, count)
	d.session.Allocated += footprint.MapBytes(count, n.key.size+n.elem.size)
	equal := old != nil
	for first := true; ; first = false {
		var more bool
		if at, more = scan.Item(d.raw, at, first, '}'); !more {
			break
		}
		name, end := d.text(at)
		if end < 0 {
			return -1
		}
		was, known := old[string(name)]
		key := d.intern(name)
		if at = scan.Colon(d.raw, end); at < 0 {
			return -1
		}
		var v string
		if d.raw[at] == 'n' {
			at = d.null(at)
		} else {
			at = d.string(&v, &was, at)
		}
		if at < 0 {
			return -1
		}
		equal = equal && known && v == was
		made[key] = v
	}
	if at < 0 {
		return -1
	}
	if equal && len(made) == len(old) {
		made = old
	}
	*p = made
	return at
}

// dictionary decodes into any other map.
func (d *decoder) dictionary(n *node, p unsafe.Pointer, at int) int {
	if d.raw[at] != '{' || d.depth == maxDepth {
		return -1
	}
	d.depth++
	noting, inMap := d.noting, d.inMap
	d.noting, d.inMap = false, true
	count := d.counted(at)
	at++
	made := reflect.MakeMapWithSize(n.typ, count)
	d.session.Allocated += footprint.MapBytes(count, n.key.size+n.elem.size)
	key, elem := reflect.New(n.key.typ), reflect.New(n.elem.typ)
	k, e := key.UnsafePointer(), elem.UnsafePointer()
	var none share.Cursor
	for first := true; ; first = false {
		var more bool
		if at, more = scan.Item(d.raw, at, first, '}'); !more {
			break
		}
		name, end := d.text(at)
		if end < 0 || !d.mapKey(n.key, k, name) {
			return -1
		}
		if at = scan.Colon(d.raw, end); at < 0 {
			return -1
		}
		elem.Elem().SetZero()
		if at = d.value(n.elem, e, nil, &none, 0, at); at < 0 {
			return -1
		}
		made.SetMapIndex(key.Elem(), elem.Elem())
	}
	if at < 0 {
		return -1
	}
	d.noting, d.inMap = noting, inMap
	d.depth--
	reflect.NewAt(n.typ, p).Elem().Set(made)
	return at
}

func (d *decoder) mapKey(n *node, p unsafe.Pointer, name []byte) bool {
	text := unsafe.String(unsafe.SliceData(name), len(name))
	switch n.op {
	case opString:
		*(*string)(p) = d.intern(name)
		return true
	case opInt:
		v, err := strconv.ParseInt(text, 10, n.bits())
		n.setInt(p, v)
		return err == nil
	}
	v, err := strconv.ParseUint(text, 10, n.bits())
	n.setUint(p, v)
	return err == nil
}

// base64 decodes a string into bytes.
func (d *decoder) base64(n *node, p *[]byte, at int) int {
	if d.raw[at] != '"' {
		// An array of numbers.
		return d.other(n, unsafe.Pointer(p), at)
	}
	text, end := d.text(at)
	if end < 0 {
		return -1
	}
	made := make([]byte, base64.StdEncoding.DecodedLen(len(text)))
	size, err := base64.StdEncoding.Decode(made, text)
	if err != nil {
		return -1
	}
	if size < len(made) {
		made = append(make([]byte, 0, size), made[:size]...)
	}
	d.session.Allocated += size
	*p = made[:size:size]
	return end
}

// spares keeps the memory of slices that were decoded and then found equal to the
// previous version's, as in a relist after a change. It is zeroed, and only the decoder
// refers to it. It is little, since an object has few slices that change. The nil
// value keeps nothing.
type spares struct {
	list [8]spare
	next int
}

type spare struct {
	node  *node
	count int
	ptr   unsafe.Pointer
}

// maxSpare is the largest slice that is kept, in bytes.
const maxSpare = 4 << 10

// give keeps memory of count elements, which nothing may refer to.
func (s *spares) give(n *node, ptr unsafe.Pointer, count int) {
	if s == nil || count == 0 || uintptr(count)*n.elem.size > maxSpare {
		return
	}
	for i := range count {
		memory.Clear(n.elem.typ, unsafe.Add(ptr, uintptr(i)*n.elem.size))
	}
	s.list[s.next%len(s.list)] = spare{n, count, ptr}
	s.next++
}

// take returns zeroed memory for count elements, or nil if there is none.
func (s *spares) take(n *node, count int) unsafe.Pointer {
	if s == nil {
		return nil
	}
	for i := range s.list {
		if e := &s.list[i]; e.node == n && e.count == count {
			ptr := e.ptr
			*e = spare{}
			return ptr
		}
	}
	return nil
}

// takeRoot returns a zeroed object.
func (p *Plan) takeRoot() unsafe.Pointer {
	if v := p.roots.Get(); v != nil {
		return reflect.ValueOf(v).UnsafePointer()
	}
	return p.root.allocate()
}

// giveRoot keeps the memory of an object for the next one. Nothing may refer to it.
func (p *Plan) giveRoot(root unsafe.Pointer) {
	v := reflect.NewAt(p.root.typ, root)
	v.Elem().SetZero()
	p.roots.Put(v.Interface())
}

// allocate returns zeroed memory for one value of the node's type.
func (n *node) allocate() unsafe.Pointer { return memory.New(n.typ) }

// move copies a value. A word or a slice needs no reflection.
func (n *node) move(dst, src unsafe.Pointer) {
	switch n.op {
	case opPointer, opMap:
		*(*unsafe.Pointer)(dst) = *(*unsafe.Pointer)(src)
	case opSlice, opBytes:
		*(*memory.Slice)(dst) = *(*memory.Slice)(src)
	case opString:
		*(*string)(dst) = *(*string)(src)
	case opDrop:
	default:
		memory.Copy(n.typ, dst, src)
	}
}

// same reports that two values of the node's type are the same bytes. Equal
// values may differ in bytes.
func (n *node) same(a, b unsafe.Pointer) bool { return memory.Equal(a, b, n.size) }
