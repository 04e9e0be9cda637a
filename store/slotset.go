package store

import "slices"

// slotSet is a sorted set of slots: a leaf of up to 128 numbers, or an inner
// node over up to 64 sets. It is sorted so that the objects of an index value
// are visited in the order in which their blocks lie in memory.
//
// 128 keeps the copy of a leaf at half a kilobyte and its search short.
type slotSet struct {
	owner uint64
	n     int // slots in and below
	// low holds the slots of a leaf. In an inner node it holds for each kid a
	// number that is not above any slot in it, and above all slots in the kid
	// before.
	low  []uint32
	kids []*slotSet
}

const (
	setLeafMax = 128
	setKidsMax = 64
)

func (s *slotSet) max() int {
	if s.kids != nil {
		return setKidsMax
	}
	return setLeafMax
}

// walk yields the slots, a leaf at a time, until yield returns false.
func (s *slotSet) walk(yield func([]uint32) bool) bool {
	if s.kids == nil {
		return yield(s.low)
	}
	for _, kid := range s.kids {
		if !kid.walk(yield) {
			return false
		}
	}
	return true
}

func (s *slotSet) own(epoch uint64) *slotSet {
	if s.owner == epoch {
		return s
	}
	c := &slotSet{owner: epoch, n: s.n}
	c.low = append(make([]uint32, 0, setCap(len(s.low)+1)), s.low...)
	if s.kids != nil {
		c.kids = append(make([]*slotSet, 0, len(s.kids)+1), s.kids...)
	}
	return c
}

// setCap rounds a capacity up to what the allocator would use anyway, in
// steps fine enough that small sets stay small.
func setCap(n int) int {
	switch {
	case n <= 4:
		return 4
	case n <= 16:
		return (n + 3) &^ 3
	case n <= 32:
		return (n + 7) &^ 7
	case n <= 64:
		return (n + 15) &^ 15
	case n <= 96:
		return 96
	}
	return setLeafMax
}

// kid returns which kid covers a slot.
func (s *slotSet) kid(slot uint32) int {
	i := place(s.low, slot)
	if i > 0 && (i == len(s.low) || s.low[i] != slot) {
		i--
	}
	return i
}

// place returns how many of the sorted slots are smaller than the given one.
// It reads one slot in every cache line, and then those of one line. The
// lines arrive together, while a binary search would wait for each before it
// knew which to read next.
func place(low []uint32, slot uint32) int {
	const line = 16
	n := 0
	for i := line - 1; i < len(low); i += line {
		n += line * less(low[i], slot)
	}
	for _, l := range low[n:min(n+line, len(low))] {
		n += less(l, slot)
	}
	return n
}

// less returns 1 if a < b and 0 otherwise, without an unpredictable branch.
func less(a, b uint32) int { return int((uint64(a) - uint64(b)) >> 63) }

// add adds a slot to the owned set, and returns the root.
func (s *slotSet) add(slot uint32, epoch uint64) *slotSet {
	right := s.insert(slot, epoch)
	if right == nil {
		return s
	}
	return &slotSet{owner: epoch, n: s.n + right.n, low: []uint32{s.first(), right.first()}, kids: []*slotSet{s, right}}
}

func (s *slotSet) first() uint32 { return s.low[0] }

// insert returns what had to be split off to the right, or nil.
func (s *slotSet) insert(slot uint32, epoch uint64) *slotSet {
	if s.kids == nil {
		i := place(s.low, slot)
		if i < len(s.low) && s.low[i] == slot {
			panic("BUG: store: a slot enters a set twice")
		}
		if len(s.low) < setLeafMax {
			s.low = insertAt(s.low, i, slot, setCap(len(s.low)+1))
			s.n++
			return nil
		}
		if i == setLeafMax {
			// Slots that come in order leave full leaves behind.
			return &slotSet{owner: epoch, n: 1, low: append(make([]uint32, 0, 4), slot)}
		}
		r := s.split(epoch)
		if slot < r.low[0] {
			s.insert(slot, epoch)
		} else {
			r.insert(slot, epoch)
		}
		return r
	}
	i := s.kid(slot)
	kid := s.kids[i].own(epoch)
	s.kids[i] = kid
	s.low[i] = min(s.low[i], slot)
	s.n++
	right := kid.insert(slot, epoch)
	if right == nil {
		return nil
	}
	s.low = slices.Insert(s.low, i+1, right.first())
	s.kids = slices.Insert(s.kids, i+1, right)
	if len(s.kids) <= setKidsMax {
		return nil
	}
	return s.split(epoch)
}

func insertAt(s []uint32, i int, x uint32, capacity int) []uint32 {
	if len(s) == cap(s) {
		s = append(make([]uint32, 0, capacity), s...)
	}
	s = s[:len(s)+1]
	copy(s[i+1:], s[i:])
	s[i] = x
	return s
}

// split moves the upper half to a new set. The halves share no memory.
func (s *slotSet) split(epoch uint64) *slotSet {
	at := len(s.low) / 2
	r := &slotSet{owner: epoch}
	r.low = append(make([]uint32, 0, setCap(len(s.low)-at+1)), s.low[at:]...)
	if s.kids == nil {
		r.n = len(r.low)
	} else {
		r.kids = slices.Clone(s.kids[at:])
		for _, kid := range r.kids {
			r.n += kid.n
		}
		s.kids = slices.Clone(s.kids[:at])
	}
	s.low = append(make([]uint32, 0, setCap(at+1)), s.low[:at]...)
	s.n -= r.n
	return r
}

// remove removes a slot from the owned set and returns the root. It reports
// whether the slot was there.
func (s *slotSet) remove(slot uint32, epoch uint64) (*slotSet, bool) {
	if s.kids == nil {
		i := place(s.low, slot)
		found := i < len(s.low) && s.low[i] == slot
		if found {
			s.low = slices.Delete(s.low, i, i+1)
			s.n--
		}
		return s, found
	}
	i := s.kid(slot)
	kid := s.kids[i].own(epoch)
	s.kids[i] = kid
	kid, found := kid.remove(slot, epoch)
	s.kids[i] = kid
	if !found {
		return s, false
	}
	s.n--
	if len(kid.low) < kid.max()/4 {
		s.join(i, epoch)
	}
	if len(s.kids) == 1 {
		return s.kids[0], true
	}
	return s, true
}

// join merges kid i, which has few entries, with a neighbour of the same
// height if both fit in one.
func (s *slotSet) join(i int, epoch uint64) {
	if i == len(s.kids)-1 {
		i--
	}
	l, r := s.kids[i], s.kids[i+1]
	if (l.kids == nil) == (r.kids == nil) && len(l.low)+len(r.low) <= l.max()*3/4 {
		l = l.own(epoch)
		l.low = append(append(make([]uint32, 0, setCap(len(l.low)+len(r.low))), l.low...), r.low...)
		l.kids = append(l.kids, r.kids...)
		l.n += r.n
		s.kids[i] = l
	} else {
		switch {
		case l.n == 0:
			s.kids[i] = r
		case r.n > 0:
			return
		}
	}
	s.kids = slices.Delete(s.kids, i+1, i+2)
	s.low = slices.Delete(s.low, i+1, i+2)
}

// newSlotSet returns the set of the given slots, which are sorted. Its leaves
// are full.
func newSlotSet(slots []uint32, epoch uint64) *slotSet {
	var sets []*slotSet
	for part := range slices.Chunk(slots, setLeafMax) {
		sets = append(sets, &slotSet{owner: epoch, n: len(part), low: append(make([]uint32, 0, setCap(len(part))), part...)})
	}
	for len(sets) > 1 {
		var up []*slotSet
		for kids := range slices.Chunk(sets, setKidsMax) {
			s := &slotSet{owner: epoch, kids: slices.Clone(kids)}
			for _, kid := range kids {
				s.n += kid.n
				s.low = append(s.low, kid.first())
			}
			up = append(up, s)
		}
		sets = up
	}
	return sets[0]
}
