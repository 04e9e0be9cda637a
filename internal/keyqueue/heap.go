package keyqueue

// heap orders slots by their records' time. It has four children a node, which
// are one cache line of slots.
type heap struct{ slots []uint32 }

const children = 4

func (s *slab[K]) before(a, b uint32) bool {
	return s.at(a).at < s.at(b).at
}

// push adds a slot.
func (s *slab[K]) push(h *heap, slot uint32) {
	h.slots = append(h.slots, slot)
	s.up(h, len(h.slots)-1, slot)
}

// pop removes the first slot.
func (s *slab[K]) pop(h *heap) uint32 {
	first := h.slots[0]
	s.remove(h, first)
	return first
}

// remove removes a slot from the heap that holds it.
func (s *slab[K]) remove(h *heap, slot uint32) {
	i := int(s.at(slot).pos)
	last := h.slots[len(h.slots)-1]
	h.slots = h.slots[:len(h.slots)-1]
	if last != slot {
		s.sift(h, i, last)
	}
	if n := len(h.slots); cap(h.slots) > 1024 && n < cap(h.slots)/4 {
		h.slots = append(make([]uint32, 0, 2*n), h.slots...)
	}
}

// fix restores the order after the time of a slot has changed.
func (s *slab[K]) fix(h *heap, slot uint32) {
	s.sift(h, int(s.at(slot).pos), slot)
}

// sift puts slot at i, or where it belongs above or below.
func (s *slab[K]) sift(h *heap, i int, slot uint32) {
	if i > 0 && s.before(slot, h.slots[(i-1)/children]) {
		s.up(h, i, slot)
	} else {
		s.down(h, i, slot)
	}
}

func (s *slab[K]) up(h *heap, i int, slot uint32) {
	for i > 0 {
		parent := (i - 1) / children
		if !s.before(slot, h.slots[parent]) {
			break
		}
		s.set(h, i, h.slots[parent])
		i = parent
	}
	s.set(h, i, slot)
}

func (s *slab[K]) down(h *heap, i int, slot uint32) {
	for {
		first := children*i + 1
		if first >= len(h.slots) {
			break
		}
		least := first
		for k := first + 1; k < min(first+children, len(h.slots)); k++ {
			if s.before(h.slots[k], h.slots[least]) {
				least = k
			}
		}
		if !s.before(h.slots[least], slot) {
			break
		}
		s.set(h, i, h.slots[least])
		i = least
	}
	s.set(h, i, slot)
}

func (s *slab[K]) set(h *heap, i int, slot uint32) {
	h.slots[i] = slot
	s.at(slot).pos = uint32(i)
}
