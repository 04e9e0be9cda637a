package protobuf

import (
	"reflect"
	"unsafe"

	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/kinglet-go/kinglet/internal/wire/footprint"
	"github.com/kinglet-go/kinglet/internal/wire/gotype"
	"github.com/kinglet-go/kinglet/internal/wire/memory"
	"github.com/kinglet-go/kinglet/internal/wire/share"
)

// messages decodes a run of messages.
func (d *decoder) messages(o *op, field unsafe.Pointer, b []byte, count int) status {
	m := o.elem
	array := d.maker.Array(o.typ, count)
	d.session.Allocated += count * int(m.size)
	i := 0
	for at := range count {
		begin, end := extent(b, i+int(o.tagLen))
		if d.fresh(m, unsafe.Add(array, uintptr(at)*m.size), b[begin:end], noteNothing) == failed {
			return failed
		}
		i = end
	}
	*(*memory.Slice)(field) = memory.SliceOf(array, count)
	return changed
}

func (d *decoder) strings(o *op, field unsafe.Pointer, b []byte, count int, last share.Value) status {
	old := unsafe.Slice((*string)(last.Ptr), last.Len)
	list := make([]string, count)
	d.session.Allocated += count * int(unsafe.Sizeof(""))
	st := same
	if last.Len != count {
		st = changed
	}
	i := 0
	for at := range list {
		begin, end := extent(b, i+int(o.tagLen))
		if at < len(old) && old[at] == string(b[begin:end]) {
			list[at] = old[at]
		} else {
			list[at] = d.string(o, b[begin:end])
			st = changed
		}
		i = end
	}
	if st != same {
		*(*memory.Slice)(field) = memory.SliceOf(unsafe.Pointer(unsafe.SliceData(list)), count)
	}
	return st
}

func (d *decoder) bytes(field unsafe.Pointer, b []byte, last share.Value) status {
	if last.Ptr != nil && string(unsafe.Slice((*byte)(last.Ptr), last.Len)) == string(b) {
		return same
	}
	// Empty, not nil, for no bytes.
	v := make([]byte, len(b))
	copy(v, b)
	d.session.Allocated += len(b)
	*(*[]byte)(field) = v
	return changed
}

// numbers decodes a run of numbers that are not packed.
func numbers[T bool | int32 | int64](d *decoder, o *op, field unsafe.Pointer, b []byte, count int, last share.Value) status {
	old := unsafe.Slice((*T)(last.Ptr), last.Len)
	list := make([]T, count)
	d.session.Allocated += count * int(unsafe.Sizeof(list[0]))
	st := same
	if last.Len != count {
		st = changed
	}
	i := 0
	for at := range list {
		var v uint64
		v, i = uvarint(b, i+int(o.tagLen))
		list[at] = number[T](v)
		if at >= len(old) || old[at] != list[at] {
			st = changed
		}
	}
	if st != same {
		*(*memory.Slice)(field) = memory.SliceOf(unsafe.Pointer(unsafe.SliceData(list)), count)
	}
	return st
}

// All maps with keys and values of the same kinds are one type here: a map in memory
// does not refer to its type.

// entries reads the entries of a map's field, in a run found by the function run.
type entries struct {
	run    []byte
	tagLen int
	at     int
}

// next returns the next entry. It is not ok unless it is a key and perhaps a
// value, both with a length, as gogo writes them.
func (e *entries) next() (key, value []byte, ok bool) {
	begin, end := extent(e.run, e.at+e.tagLen)
	e.at = end
	b := e.run[begin:end]
	if len(b) == 0 || b[0] != 1<<3|wireBytes {
		return nil, nil, false
	}
	begin, end = extent(b, 1)
	if end < 0 {
		return nil, nil, false
	}
	key = b[begin:end]
	if end == len(b) {
		// The value was a nil slice of bytes; it becomes an empty one.
		return key, nil, true
	}
	if b[end] != 2<<3|wireBytes {
		return nil, nil, false
	}
	begin, end = extent(b, end+1)
	if end != len(b) {
		return nil, nil, false
	}
	return key, b[begin:end], true
}

// hint returns how many entries to make room for. It does not trust count, since a
// key may repeat.
func hint(count int, run []byte) int { return min(count, len(run)/8) }

func (d *decoder) stringMap(o *op, field unsafe.Pointer, b []byte, count int, last unsafe.Pointer) status {
	e := entries{run: b, tagLen: int(o.tagLen)}
	old := memory.Map[string](last)
	if last != nil && count == len(old) && e.equal(old, count) {
		return same
	}
	e.at = 0
	m := make(map[string]string, hint(count, b))
	d.session.Allocated += footprint.MapBytes(count, 2*unsafe.Sizeof(""))
	for range count {
		key, value, ok := e.next()
		if !ok {
			return failed
		}
		v, ok := old[string(key)]
		if !ok || v != string(value) {
			v = d.string(o, value)
		}
		m[d.string(o, key)] = v
	}
	*(*map[string]string)(field) = m
	return changed
}

// equal reports that the entries are those of m, which has count entries. They must
// be in ascending order, which shows that none occurs twice.
func (e *entries) equal(m map[string]string, count int) bool {
	var before []byte
	for i := range count {
		key, value, ok := e.next()
		if !ok || i > 0 && string(key) <= string(before) {
			return false
		}
		v, ok := m[string(key)]
		if !ok || v != string(value) {
			return false
		}
		before = key
	}
	return true
}

// bytesMap decodes the data of a Secret. It takes values that the previous version has
// too from there.
func (d *decoder) bytesMap(o *op, field unsafe.Pointer, b []byte, count int, last unsafe.Pointer) status {
	return valueMap(d, o, field, b, count, last, func(_ *decoder, b, old []byte, had bool) ([]byte, status) {
		if had && string(old) == string(b) {
			return old, same
		}
		v := make([]byte, len(b))
		copy(v, b)
		return v, changed
	})
}

// quantityMap decodes a ResourceList. Its quantities cannot be addressed, so
// they may be shared and compared.
func (d *decoder) quantityMap(o *op, field unsafe.Pointer, b []byte, count int, last unsafe.Pointer) status {
	return valueMap(d, o, field, b, count, last, func(d *decoder, b []byte, old resource.Quantity, had bool) (q resource.Quantity, st status) {
		switch {
		case !d.unmarshal(&q, b):
			return q, failed
		case had && q == old:
			return q, same
		}
		return q, changed
	})
}

// valueMap decodes a map. decode returns each value from its bytes, and the previous
// version's value under its key.
func valueMap[V any](d *decoder, o *op, field unsafe.Pointer, b []byte, count int, last unsafe.Pointer, decode func(d *decoder, b []byte, old V, had bool) (V, status)) status {
	old := memory.Map[V](last)
	st := same
	if last == nil || len(old) != count {
		st = changed
	}
	e := entries{run: b, tagLen: int(o.tagLen)}
	m := make(map[string]V, hint(count, b))
	var none V
	d.session.Allocated += footprint.MapBytes(count, unsafe.Sizeof("")+unsafe.Sizeof(none)) + len(b)
	for range count {
		key, value, ok := e.next()
		if !ok {
			return failed
		}
		was, had := old[string(key)]
		v, s := decode(d, value, was, had)
		if s == failed {
			return failed
		}
		st = min(st, s)
		m[d.string(o, key)] = v
	}
	if len(m) != count {
		st = changed
	}
	if st != same {
		*(*map[string]V)(field) = m
	}
	return st
}

// messageMap decodes other maps, which are rare, by reflection.
func (d *decoder) messageMap(o *op, field unsafe.Pointer, b []byte, count int, last unsafe.Pointer) status {
	private := d.session.Private
	e := entries{run: b, tagLen: int(o.tagLen)}
	m := reflect.MakeMapWithSize(o.typ, hint(count, b))
	d.session.Allocated += footprint.MapBytes(count, unsafe.Sizeof("")+o.elem.size)
	key := reflect.New(o.typ.Key()).Elem()
	for range count {
		k, value, ok := e.next()
		if !ok {
			return failed
		}
		v := reflect.New(o.elem.typ)
		if d.fresh(o.elem, v.UnsafePointer(), value, noteNothing) == failed {
			return failed
		}
		key.SetString(d.string(o, k))
		m.SetMapIndex(key, v.Elem())
	}
	if last != nil && d.session.Private == private &&
		gotype.Identical(m, reflect.NewAt(o.typ, unsafe.Pointer(&last)).Elem()) {
		return same
	}
	reflect.NewAt(o.typ, field).Elem().Set(m)
	return changed
}
