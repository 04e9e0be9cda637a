package protobuf

import (
	"unsafe"

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
