package keyqueue

import "github.com/kinglet-go/kinglet/internal/mutant"

// ready holds the queued keys of a class in order. Most keys arrive in that order,
// since most have the same head start; they are in the line. Keys that belong before
// the end of the line are in the heap.
type ready struct {
	line line
	heap heap
	n    int
	// last is the time of the record at the end of the line.
	last int64
}

// line is a ring of slots. A place in it is a number that rises with each appended
// slot; in a record's pos, inLine marks a place in the line.
type line struct {
	ring        []uint32 // its length is a power of two
	first, next uint32
}

const (
	inLine = 1 << 31
	// gone replaces a slot that was removed from the middle of the line.
	gone = ^uint32(0)
)

func (s *slab[K]) enqueue(q *ready, slot uint32) {
	r := s.at(slot)
	q.n++
	if q.line.first != q.line.next && r.at < q.last && !mutant.On(mutant.OutOfLine) {
		s.push(&q.heap, slot)
		return
	}
	q.last = r.at
	if l := &q.line; int(l.next-l.first) == len(l.ring) {
		s.makeRoom(q)
	}
	r.pos = q.line.append(slot) | inLine
}

// dequeue removes the first slot of a queue that is not empty.
func (s *slab[K]) dequeue(q *ready) uint32 {
	l := &q.line
	q.n--
	if len(l.ring) > 1024 && q.n < len(l.ring)/8 {
		s.makeRoom(q)
	}
	if l.first != l.next {
		first := l.ring[l.index(l.first)]
		if len(q.heap.slots) == 0 || s.at(first).at <= s.at(q.heap.slots[0]).at {
			l.remove(l.first)
			return first
		}
	}
	return s.pop(&q.heap)
}

func (s *slab[K]) unqueue(q *ready, slot uint32) {
	q.n--
	if pos := s.at(slot).pos; pos&inLine != 0 {
		q.line.remove(pos)
	} else {
		s.remove(&q.heap, slot)
	}
}

// hurry moves a queued slot to an earlier time.
func (s *slab[K]) hurry(q *ready, slot uint32, at int64) {
	r := s.at(slot)
	if r.pos&inLine != 0 {
		q.line.remove(r.pos)
		r.at = at
		s.push(&q.heap, slot)
		return
	}
	r.at = at
	s.fix(&q.heap, slot)
}

func (l *line) index(place uint32) uint32 { return place & uint32(len(l.ring)-1) }

// makeRoom gives the line a ring with room for as many slots again as it has, without
// the places of removed slots.
func (s *slab[K]) makeRoom(q *ready) {
	old := q.line
	size := 16
	for inRing := q.n - len(q.heap.slots); size < 2*inRing; {
		size *= 2
	}
	q.line = line{ring: make([]uint32, size)}
	for p := old.first; p != old.next; p++ {
		if slot := old.ring[old.index(p)]; slot != gone {
			s.at(slot).pos = q.line.append(slot) | inLine
		}
	}
}

func (l *line) append(slot uint32) uint32 {
	place := l.next
	l.ring[l.index(place)] = slot
	l.next++
	return place &^ inLine
}

// remove removes a place from the line, and then any removed places at its front.
//
// Invariant: the first place of a line that is not empty has a slot.
func (l *line) remove(place uint32) {
	l.ring[l.index(place)] = gone
	for l.first != l.next && l.ring[l.index(l.first)] == gone {
		l.first++
	}
}
