package fifo

import (
	"cmp"
	"slices"
)

// roomy is the number of entries from which a line that becomes empty frees its
// map: Go's maps never shrink, and after an initial list of 500,000 the memory
// would stay for the life of the queue. Below it the map is some 100 KB.
const roomy = 1024

// spares is the number of empty entries kept for the next keys, so that a queue
// that is never long does not allocate for them: 128 entries of some 150 B.
const spares = 128

// slot is one of the two places where the value of a key can be.
type slot[V any] struct {
	held    bool
	initial bool // the value is of the first batch
	value   V
}

// entry is the state of one key.
//
// Invariant: an entry that is in line.entries has waiting.held or flight.held.
// Invariant: it is linked between head and tail if and only if waiting.held.
type entry[K comparable, V any] struct {
	key        K
	prev, next *entry[K, V]

	waiting slot[V]
	// flight is what was taken and not yet settled. Its value does not change
	// while held.
	flight slot[V]
	// forgotten is whether what is in flight must not come back.
	forgotten bool
	// turn is the number of the take, which orders the entries in flight.
	turn uint64
	// mark is the last line.stamp that touched the entry.
	mark uint64
}

// line is the order of the keys, what is in flight, and the accounting of the
// first batch. It is pure: no locks, no waiting, no callbacks except merge.
type line[K comparable, V any] struct {
	entries    map[K]*entry[K, V]
	head, tail *entry[K, V]
	// Invariant: waiting and flying are the numbers of entries whose slot of
	// that name is held.
	waiting, flying int
	turns, stamp    uint64
	peak            int // most entries since the map was made

	// spare is a list, linked by next, of zero entries for reuse.
	spare  *entry[K, V]
	spared int

	// populated is set by the first write of any kind.
	populated bool
	// Invariant: initial is the number of slots that are held and initial.
	initial int
}

// synced reports whether the first batch is known and has been dealt with.
func (l *line[K, V]) synced() bool { return l.populated && l.initial == 0 }

// hold returns the entry of key. It makes one if there is none, which the
// caller must then enqueue.
func (l *line[K, V]) hold(key K) *entry[K, V] {
	e := l.entries[key]
	if e == nil {
		if l.entries == nil {
			l.entries = make(map[K]*entry[K, V])
		}
		e = l.blank()
		e.key = key
		l.entries[key] = e
		l.peak = max(l.peak, len(l.entries))
	}
	return e
}

func (l *line[K, V]) blank() *entry[K, V] {
	e := l.spare
	if e == nil {
		return new(entry[K, V])
	}
	l.spare, e.next = e.next, nil
	l.spared--
	return e
}

// put makes v the waiting value of e, which goes to the end if it had none.
func (l *line[K, V]) put(e *entry[K, V], v V) {
	e.waiting.value = v
	if e.waiting.held {
		return
	}
	e.waiting.held = true
	l.waiting++
	l.link(e)
}

func (l *line[K, V]) link(e *entry[K, V]) {
	e.prev, e.next = l.tail, nil
	if l.tail == nil {
		l.head = e
	} else {
		l.tail.next = e
	}
	l.tail = e
}

func (l *line[K, V]) unlink(e *entry[K, V]) {
	if e.prev == nil {
		l.head = e.next
	} else {
		e.prev.next = e.next
	}
	if e.next == nil {
		l.tail = e.prev
	} else {
		e.next.prev = e.prev
	}
	e.prev, e.next = nil, nil
}

// toEnd moves an entry that waits to the end.
func (l *line[K, V]) toEnd(e *entry[K, V]) {
	l.unlink(e)
	l.link(e)
}

// drop removes the waiting value of e.
func (l *line[K, V]) drop(e *entry[K, V]) {
	l.unlink(e)
	l.waiting--
	if e.waiting.initial {
		l.initial--
	}
	e.waiting = slot[V]{}
	l.release(e)
}

// release removes e from the map if it holds nothing any more; e must not be
// used afterwards.
func (l *line[K, V]) release(e *entry[K, V]) {
	if e.waiting.held || e.flight.held {
		return
	}
	delete(l.entries, e.key)
	*e = entry[K, V]{}
	if l.spared < spares {
		e.next, l.spare = l.spare, e
		l.spared++
	}
	if len(l.entries) == 0 && l.peak >= roomy {
		l.entries, l.peak = nil, 0
	}
}

// markInitial ends the first Replace: if no write came before it, everything
// that waits is the first batch.
func (l *line[K, V]) markInitial() {
	if l.populated {
		return
	}
	l.populated = true
	for e := l.head; e != nil; e = e.next {
		e.waiting.initial = true
	}
	l.initial = l.waiting
}

// take moves the first entry that is not in flight already from waiting to
// flight, and returns it; nil if there is none.
func (l *line[K, V]) take() *entry[K, V] {
	e := l.head
	for e != nil && e.flight.held {
		e = e.next
	}
	if e == nil {
		return nil
	}
	l.unlink(e)
	l.waiting--
	l.flying++
	l.turns++
	e.turn, e.forgotten = l.turns, false
	e.flight, e.waiting = e.waiting, slot[V]{}
	return e
}

// settle ends the flight of e. If back is set its value waits again, merged
// with the newer one that waits already, if any.
func (l *line[K, V]) settle(e *entry[K, V], back bool, merge func(older V, newer slot[V]) V) {
	l.flying--
	if e.flight.initial {
		l.initial--
	}
	v := e.flight.value
	e.flight = slot[V]{}
	if back && !e.forgotten {
		l.put(e, merge(v, e.waiting))
	}
	l.release(e)
}

// inFlight returns the entries in flight, in the order in which they were
// taken. It looks at every entry, so it is not for hot paths.
func (l *line[K, V]) inFlight() []*entry[K, V] {
	if l.flying == 0 {
		return nil
	}
	found := make([]*entry[K, V], 0, l.flying)
	for _, e := range l.entries {
		if e.flight.held {
			found = append(found, e)
		}
	}
	slices.SortFunc(found, func(a, b *entry[K, V]) int { return cmp.Compare(a.turn, b.turn) })
	return found
}
