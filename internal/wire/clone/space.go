package clone

import (
	"reflect"
	"unsafe"

	"github.com/kinglet-go/kinglet/internal/wire/memory"
)

// space makes the memory of one copy at a time. It belongs to one goroutine.
type space struct {
	plan *Plan
	// arrays are those of Plan.arrays.
	arrays []array
	// needs are the arrays of which the copy has elements, in the order in which they were
	// found.
	needs []need
}

// array is the memory for all elements of one type. The first array is for all types
// without pointers, and its elements are words.
type array struct {
	size uintptr
	// slot is made when it is first used.
	slot *memory.Slot
	// need is how many elements the copy has; used is how many of them have been
	// given out.
	need, used int
	base       unsafe.Pointer
}

func newSpace(p *Plan) *space {
	s := &space{plan: p, arrays: make([]array, len(*p.arrays))}
	for i, t := range *p.arrays {
		s.arrays[i].size = t.Size()
	}
	return s
}

// slot returns the Slot that allocates and copies elements of an array.
func (s *space) slot(i int) *memory.Slot {
	a := &s.arrays[i]
	if a.slot == nil {
		a.slot = memory.NewSlot(reflect.SliceOf((*s.plan.arrays)[i]))
	}
	return a.slot
}

// empty is the address for slices without elements and pointers to values of size 0.
var empty = unsafe.Pointer(new(struct{}))

// words returns how many elements of the shape's array n values take.
func (s *shape) words(n int) int {
	if s.array == 0 {
		return (n*int(s.size) + 7) / 8
	}
	return n
}

// count adds the memory that the links of a value need.
func (s *space) count(links []link, at unsafe.Pointer) {
	for i := range links {
		l := &links[i]
		switch l.kind {
		case pointer:
			if p := *(*unsafe.Pointer)(unsafe.Add(at, l.offset)); p != nil {
				s.want(l.to, 1)
				if l.to.counted {
					s.count(l.to.links, p)
				}
			}
		case slice:
			from := (*memory.Slice)(unsafe.Add(at, l.offset))
			if from.Len == 0 {
				continue
			}
			s.want(l.to, from.Len)
			if !l.to.counted {
				continue
			}
			for k := range from.Len {
				s.count(l.to.links, unsafe.Add(from.Data, uintptr(k)*l.to.size))
			}
		}
	}
}

// want counts n values of a shape.
func (s *space) want(of *shape, n int) {
	a := &s.arrays[of.array]
	if n = of.words(n); a.need == 0 && n > 0 {
		s.needs = append(s.needs, need{array: of.array})
	}
	a.need += n
}

// allocate makes the memory that was counted.
func (s *space) allocate() {
	if len(s.needs) == 0 {
		return
	}
	for i := range s.needs {
		n := &s.needs[i]
		a := &s.arrays[n.array]
		a.need = rounded(a.need)
		n.n = a.need
	}
	if l := s.plan.layouts.find(s.needs, *s.plan.arrays); l != nil {
		block := memory.New(l.typ)
		for i, n := range s.needs {
			s.arrays[n.array].base = unsafe.Add(block, l.offsets[i])
		}
		return
	}
	for _, n := range s.needs {
		s.arrays[n.array].base = s.slot(n.array).Array(n.n)
	}
}

// release forgets the memory.
func (s *space) release() {
	for _, n := range s.needs {
		a := &s.arrays[n.array]
		a.need, a.used, a.base = 0, 0, nil
	}
	s.needs = s.needs[:0]
}

// take returns memory for n values.
func (s *space) take(of *shape, n int) unsafe.Pointer {
	words := of.words(n)
	if words == 0 || of.size == 0 {
		return empty
	}
	a := &s.arrays[of.array]
	if words > a.need-a.used {
		// The object was written to after it was counted.
		return s.slot(of.array).Array(words)
	}
	p := unsafe.Add(a.base, uintptr(a.used)*a.size)
	a.used += words
	return p
}

// copy copies n values, shallowly.
func (s *space) copy(of *shape, to, from unsafe.Pointer, n int) {
	if of.array == 0 {
		copy(memory.Bytes(to, uintptr(n)*of.size), memory.Bytes(from, uintptr(n)*of.size))
		return
	}
	s.slot(of.array).Copy(memory.SliceOf(to, n), memory.SliceOf(from, n))
}

// fill copies the values that the links of a value lead to. The value at to is a shallow
// copy of the one at from.
func (s *space) fill(links []link, from, to unsafe.Pointer) {
	for i := range links {
		l := &links[i]
		switch l.kind {
		case pointer:
			p := *(*unsafe.Pointer)(unsafe.Add(from, l.offset))
			if p == nil {
				continue
			}
			made := s.take(l.to, 1)
			s.copy(l.to, made, p, 1)
			*(*unsafe.Pointer)(unsafe.Add(to, l.offset)) = made
			s.fill(l.to.links, p, made)
		case slice:
			list := *(*memory.Slice)(unsafe.Add(from, l.offset))
			if list.Data == nil {
				continue
			}
			s.fillSlice((*memory.Slice)(unsafe.Add(to, l.offset)), list, l.to)
		case call:
			l.call(unsafe.Add(from, l.offset), unsafe.Add(to, l.offset))
		}
	}
}

func (s *space) fillSlice(to *memory.Slice, from memory.Slice, of *shape) {
	if from.Len == 0 {
		*to = memory.SliceOf(empty, 0)
		return
	}
	made := s.take(of, from.Len)
	s.copy(of, made, from.Data, from.Len)
	*to = memory.SliceOf(made, from.Len)
	if len(of.links) == 0 {
		return
	}
	for k := range from.Len {
		at := uintptr(k) * of.size
		s.fill(of.links, unsafe.Add(from.Data, at), unsafe.Add(made, at))
	}
}
