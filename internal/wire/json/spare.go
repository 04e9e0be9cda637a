package json

import (
	"reflect"
	"unsafe"

	"github.com/kinglet-go/kinglet/internal/wire/memory"
)

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
