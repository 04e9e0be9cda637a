package fifo

// scroll is a sequence that grows at its end and shrinks at its beginning.
// The zero scroll is empty.
type scroll[V any] struct {
	// items[:head] were taken and are zero.
	items []V
	head  int
}

func (s *scroll[V]) len() int { return len(s.items) - s.head }

// all returns the elements, valid until the next change.
func (s *scroll[V]) all() []V { return s.items[s.head:] }

func (s *scroll[V]) push(v V) {
	// Growing would copy as much as closing the gap does. Since the gap is
	// half of the capacity, closing it costs O(1) an item.
	if len(s.items) == cap(s.items) && s.head > 0 && s.head >= s.len() {
		n := copy(s.items, s.all())
		clear(s.items[n:])
		s.items, s.head = s.items[:n], 0
	}
	s.items = append(s.items, v)
}

// insert inserts v at i, or at the end if i is len.
func (s *scroll[V]) insert(i int, v V) {
	if i == 0 && s.head > 0 {
		s.head--
		s.items[s.head] = v
		return
	}
	s.push(v)
	all := s.all()
	copy(all[i+1:], all[i:])
	all[i] = v
}

// drop removes the first n.
func (s *scroll[V]) drop(n int) {
	clear(s.items[s.head : s.head+n])
	s.head += n
	if s.head < len(s.items) {
		return
	}
	s.items, s.head = s.items[:0], 0
	if cap(s.items) >= roomy {
		s.items = nil
	}
}
