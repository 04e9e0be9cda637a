package protobuf

import (
	"reflect"
	"unsafe"

	"github.com/kinglet-go/kinglet/internal/wire/memory"
)

// frame is a message or a list that is being compared with the previous version's. It
// gets memory of its own, a copy of the previous version's, only when the first change
// in it is found. So an unchanged value costs neither an allocation nor a write.
// Frames are in decoder.frames, and named by their index.
type frame struct {
	// last is the previous version's value, dst the new value, or nil.
	last, dst unsafe.Pointer
	// m is the plan of the message, or of the list's elements.
	m *message
	// parent is the frame that refers to this one, at an offset.
	parent int
	offset uintptr
	role   role
	// For a list: its type, how many elements it has, and had.
	typ        reflect.Type
	count, had int
}

// role is how a frame's value is stored in its parent.
type role uint8

const (
	roleRoot role = iota
	// roleInside is part of the parent's memory.
	roleInside
	// rolePointer and roleList are referred to by a pointer or a slice.
	rolePointer
	roleList
)

// enter adds a frame and returns its name; leave removes the last one.
func (d *decoder) enter(f frame) int {
	d.frames = append(d.frames, f)
	d.deepest = max(d.deepest, len(d.frames))
	return len(d.frames) - 1
}

func (d *decoder) leave() { d.frames = d.frames[:len(d.frames)-1] }

// own returns the memory to write a frame's changes to.
func (d *decoder) own(name int) unsafe.Pointer {
	f := &d.frames[name]
	if f.dst != nil {
		return f.dst
	}
	switch f.role {
	case roleRoot:
		f.dst = memory.CopyOf(f.m.typ, f.last)
		d.session.Allocated += int(f.m.size)
		if f.m.typeMeta >= 0 {
			// It is left to the caller to set it.
			memory.Clear(typeMetaType, unsafe.Add(f.dst, f.m.typeMeta))
		}
	case roleInside:
		f.dst = unsafe.Add(d.own(f.parent), f.offset)
	case rolePointer:
		f.dst = memory.CopyOf(f.m.typ, f.last)
		d.session.Allocated += int(f.m.size)
		*(*unsafe.Pointer)(unsafe.Add(d.own(f.parent), f.offset)) = f.dst
	case roleList:
		// It begins with as many of the previous version's elements as there is room for.
		f.dst = d.maker.Copied(f.typ, f.count, memory.SliceOf(f.last, f.had))
		d.session.Allocated += f.count * int(f.m.size)
		*(*memory.Slice)(unsafe.Add(d.own(f.parent), f.offset)) = memory.SliceOf(f.dst, f.count)
	}
	return f.dst
}

// ownField returns the memory to write a field of a frame's message to.
func (d *decoder) ownField(name int, o *op) unsafe.Pointer {
	return unsafe.Add(d.own(name), o.offset)
}
