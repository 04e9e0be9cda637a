package deliver

import "github.com/kinglet-go/kinglet/store"

// keepRecords is the capacity that an empty queue may keep: 8 records of 152 B
// and 8 changes of 104 B to deliver are 2 KiB. The memory of a larger burst is
// freed when the handler has been idle for keepMemoryFor.
const keepRecords = 8

// fewRecords is how many records are found without an index.
const fewRecords = 8

// none is a slot number that refers to no slot.
const none = -1

// queue holds the pending records of one handler in the order of their first change,
// found by key. It is plain data, guarded by its owner.
//
// Records are in slots, linked in order, so that one in the middle is removed in
// O(1) and its slot is reused.
type queue[T any] struct {
	// every: each change has its own record, not each key, as long as there are fewer
	// than bound.
	every bool
	bound int
	// stop: changes beyond bound are refused.
	stop bool

	slots []slot[T]
	// Invariant: every slot is on the list from head or on the one from free.
	head, tail, free int32
	n                int
	// index finds the newest record of a key, if indexed. It is not kept in step with
	// records that leave, since most keys come again: it also has numbers of slots that
	// are free or another key's now, of at most twice as many keys as there are slots.
	index   map[store.Key]int32
	indexed bool

	// version is the collection's after all pushed changes.
	version string
	// folded counts pushed changes that are not delivered as changes of their own.
	folded uint64
}

type slot[T any] struct {
	record[T]
	next, prev int32
	// at is when the record's first change was pushed.
	at stamp
}

func newQueue[T any](opts HandlerOptions) queue[T] {
	q := queue[T]{every: opts.EveryVersion, bound: opts.Bound, stop: opts.Overflow == OverflowStop}
	q.release()
	return q
}

// find returns the slot of the newest record of key. If there is none, and pending is
// false, it returns the slot that the key had before, or none. Up to fewRecords it
// compares with all records, which are one or two for a handler that keeps up.
func (q *queue[T]) find(key *store.Key) (i int32, pending bool) {
	if q.indexed {
		i, ok := q.index[*key]
		if !ok {
			return none, false
		}
		return i, q.slots[i].form != nothing && q.slots[i].key == *key
	}
	// From the end, so that the newest record of a key comes first.
	for i := q.tail; i != none; i = q.slots[i].prev {
		if q.slots[i].key == *key {
			return i, true
		}
	}
	return none, false
}

// enter makes lookups find the record in slot i, the last of the queue.
func (q *queue[T]) enter(i int32) {
	if !q.indexed && q.n <= fewRecords {
		return
	}
	if q.index == nil {
		q.index = make(map[store.Key]int32, 2*fewRecords)
	}
	full := len(q.index) >= 2*max(len(q.slots), fewRecords)
	if full {
		clear(q.index)
	}
	if q.indexed && !full {
		q.index[q.slots[i].key] = i
		return
	}
	q.indexed = true
	for i := q.head; i != none; i = q.slots[i].next { // the newest of a key comes last
		q.index[q.slots[i].key] = i
	}
}

// len returns the number of records.
func (q *queue[T]) len() int { return q.n }

// has reports whether something is pending for key.
func (q *queue[T]) has(key store.Key) bool {
	_, pending := q.find(&key)
	return pending
}

// through returns the version through which nothing is pending: the version before
// the oldest pending change. That change is in the first record, since records keep
// the place of their first change.
func (q *queue[T]) through() string {
	if q.n == 0 {
		return q.version
	}
	return q.slots[q.head].before
}

// grow makes room for n more records if that saves growing step by step.
func (q *queue[T]) grow(n int) {
	if q.n > 0 || n <= cap(q.slots) {
		return
	}
	q.release()
	q.slots = make([]slot[T], 0, n)
	if n > fewRecords {
		q.index = make(map[store.Key]int32, n)
	}
}

// push adds the next change, which arrived at the given time; before is the
// collection's version before it. It returns false if there is no room, which happens
// only with stop.
func (q *queue[T]) push(c *store.Change[T], before string, at stamp) bool {
	had, pending := q.find(&c.Key)
	if pending {
		r := &q.slots[had].record
		if !q.every || q.n >= q.bound && !q.stop && r.foldsUpdate(c) {
			changes := r.changes()
			r.fold(c)
			q.folded += uint64(changes + 1 - r.changes())
			if r.form == nothing {
				q.drop(had)
			}
			return true
		}
	}
	if q.stop && q.n >= q.bound {
		return false
	}
	i := q.append(had)
	r := &q.slots[i].record
	r.key, r.before = c.Key, before
	r.fold(c)
	q.slots[i].at = at
	if i != had {
		q.enter(i)
	}
	return true
}

// append links an empty slot at the end: this one if it is free.
func (q *queue[T]) append(i int32) int32 {
	if i == none || q.slots[i].form != nothing {
		i = q.free
	}
	if i == none {
		i = int32(len(q.slots))
		q.slots = append(q.slots, slot[T]{})
	} else {
		q.unlink(i, &q.free, nil)
	}
	s := &q.slots[i]
	s.prev, s.next = q.tail, none
	if q.tail != none {
		q.slots[q.tail].next = i
	} else {
		q.head = i
	}
	q.tail = i
	q.n++
	return i
}

// drop forgets the record in slot i.
func (q *queue[T]) drop(i int32) {
	q.unlink(i, &q.head, &q.tail)
	q.slots[i] = slot[T]{next: q.free, prev: none}
	if q.free != none {
		q.slots[q.free].prev = i
	}
	q.free = i
	q.n--
	if q.n == 0 {
		q.indexed = false // few records follow
	}
}

// unlink takes slot i off the list from first to last, or off that of free slots, which
// has no last.
func (q *queue[T]) unlink(i int32, first, last *int32) {
	s := &q.slots[i]
	if s.prev != none {
		q.slots[s.prev].next = s.next
	} else {
		*first = s.next
	}
	if s.next != none {
		q.slots[s.next].prev = s.prev
	} else if last != nil {
		*last = s.prev
	}
}

// take moves records to dst, which is empty, as the changes they amount to: at
// most limit changes, or one record of two.
func (q *queue[T]) take(dst []store.Change[T], limit int) []store.Change[T] {
	if n := min(q.n, limit); cap(dst) < n {
		// Not slices.Grow, which makes it larger than keepRecords.
		dst = make([]store.Change[T], 0, n)
	}
	for first := true; q.n > 0; first = false {
		i := q.head
		limit -= q.slots[i].changes()
		if limit < 0 && !first {
			break
		}
		dst = q.slots[i].appendTo(dst)
		q.drop(i)
	}
	return dst
}

// foldInto returns c, the Added of an object in the handler's snapshot, with all
// pending changes of the object folded in; ok is false if the object is gone. The key
// then has nothing pending.
//
// With EveryVersion, foldInto returns c unchanged, and later changes stay pending.
func (q *queue[T]) foldInto(c store.Change[T]) (_ store.Change[T], ok bool) {
	if q.every {
		return c, true
	}
	i, pending := q.find(&c.Key)
	if !pending {
		return c, true
	}
	r := &q.slots[i].record
	ok = r.form != deleted
	q.folded += uint64(r.changes())
	c.New, c.ResourceVersion = r.cur, r.version
	q.drop(i)
	return c, ok
}

// large reports whether the queue has room for more than an idle one should.
func (q *queue[T]) large() bool { return cap(q.slots) > keepRecords }

// release empties the queue and frees its memory.
func (q *queue[T]) release() {
	q.slots, q.index, q.indexed = nil, nil, false
	q.head, q.tail, q.free, q.n = none, none, none, 0
}
