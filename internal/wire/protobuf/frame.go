package protobuf

import (
	"reflect"
	"unsafe"

	"github.com/kinglet-go/kinglet/internal/wire/memory"
)

// frame is a message or a list that is being compared with the last version's.
// It gets memory of its own, which begins as a copy of the last version's, when
// the first change in it is found, and not before: so what did not change costs
// neither an allocation nor a write. Frames stand in decoder.frames, and are
// named by their place.
type frame struct {
	// last is the last version's value, dst what is made of it, or nil.
	last, dst unsafe.Pointer
	// m is the plan of the message, or of the list's elements.
	m *message
	// parent is the frame that refers to this one from an offset.
	parent int
	offset uintptr
	role   role
	// Of a list: its type, how many elements it has and had.
	typ        reflect.Type
	count, had int
}

// role is what a frame is to its parent.
type role uint8

const (
	roleRoot role = iota
	// roleInside is part of the parent's memory.
	roleInside
	// rolePointer and roleList are referred to by a pointer or a slice.
	rolePointer
	roleList
)

// enter adds a frame and returns its name; leave takes the last one off.
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
			// Whoever wants it there sets it.
			memory.Clear(typeMetaType, unsafe.Add(f.dst, f.m.typeMeta))
		}
	case roleInside:
		f.dst = unsafe.Add(d.own(f.parent), f.offset)
	case rolePointer:
		f.dst = memory.CopyOf(f.m.typ, f.last)
		d.session.Allocated += int(f.m.size)
		*(*unsafe.Pointer)(unsafe.Add(d.own(f.parent), f.offset)) = f.dst
	case roleList:
		// As many of the last version's elements as there is room for.
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
