package keyqueue

import (
	"container/heap"
	"maps"
)

// byTime is a heap of records, the one with the earliest at first.
type byTime[K comparable] []*record[K]

func (h byTime[K]) Len() int           { return len(h) }
func (h byTime[K]) Less(i, j int) bool { return h[i].at < h[j].at }

func (h byTime[K]) Swap(i, j int) {
	h[i], h[j] = h[j], h[i]
	h[i].index, h[j].index = int32(i), int32(j)
}

// Push implements heap.Interface.
func (h *byTime[K]) Push(r any) {
	added := r.(*record[K])
	added.index = int32(len(*h))
	*h = append(*h, added)
}

// Pop implements heap.Interface. It gives memory back when little of it is used.
func (h *byTime[K]) Pop() any {
	n := len(*h) - 1
	r := (*h)[n]
	(*h)[n] = nil
	*h = (*h)[:n]
	if cap(*h) > 1024 && n < cap(*h)/4 {
		*h = append(make(byTime[K], 0, 2*n), *h...)
	}
	return r
}

func (h *byTime[K]) push(r *record[K])   { heap.Push(h, r) }
func (h *byTime[K]) pop() *record[K]     { return heap.Pop(h).(*record[K]) }
func (h *byTime[K]) remove(r *record[K]) { heap.Remove(h, int(r.index)) }

// moved restores the order after the record's time has changed.
func (h *byTime[K]) moved(r *record[K]) { heap.Fix(h, int(r.index)) }

// next returns the earliest time, or never.
func (h byTime[K]) next() int64 {
	if len(h) == 0 {
		return never
	}
	return h[0].at
}

// peakMap is a map that gives memory back after a peak, which a Go map does not: it is
// copied when an eighth of its most entries are left. The copy costs less than the
// deletions before it.
type peakMap[K comparable, V any] struct {
	entries map[K]V
	// most is the most entries since the map was made.
	most int
}

// leastPeak is the number of entries that are kept room for, so that a queue that fills
// and empties does not allocate.
const leastPeak = 4096

func (m *peakMap[K, V]) set(key K, value V) {
	if m.entries == nil {
		m.entries = map[K]V{}
	}
	m.entries[key] = value
	m.most = max(m.most, len(m.entries))
}

func (m *peakMap[K, V]) delete(key K) {
	delete(m.entries, key)
	if m.most > leastPeak && len(m.entries) < m.most/8 {
		left := make(map[K]V, len(m.entries))
		maps.Copy(left, m.entries)
		m.entries, m.most = left, len(left)
	}
}

// queued holds the keys in the queue. Keys with equal head starts are served in the
// order in which they arrive, and need no heap: they are in line.
type queued[K comparable] struct {
	// arrivals are the keys in the order in which they entered the queue, so that the
	// oldest is known whatever order they are served in. Some keys that have left the
	// queue are still in the list; their number is bounded by trim.
	arrivals []arrival[K]
	// head is the place of the oldest of them that is queued.
	head int
	// Invariant: the keys in line are among arrivals[next:], by rising times, of which
	// last is the latest.
	next, inLine int
	last         int64
	// outOfLine are those that arrived with an earlier time than a key in line.
	outOfLine byTime[K]
}

type arrival[K comparable] struct {
	record  *record[K]
	entered int64
	number  uint16 // record.arrived
}

// inLine is the index of a record that is in no heap.
const inLine = -1

// queued reports whether the key has not left the queue since it arrived. It is wrong for
// a key that has arrived 65,536 times since: the key is served too early then, or the
// oldest seems older.
func (a *arrival[K]) queued() bool {
	return a.record.state == Queued && a.record.arrived == a.number
}

func (q *queued[K]) len() int { return q.inLine + len(q.outOfLine) }

func (q *queued[K]) push(now int64, r *record[K]) {
	r.arrived++
	q.arrivals = append(q.arrivals, arrival[K]{r, now, r.arrived})
	if q.inLine > 0 && r.at < q.last {
		q.outOfLine.push(r)
		return
	}
	r.index, q.last = inLine, r.at
	q.inLine++
}

// pop removes the key with the earliest time; nil if there is none. Once the key's
// state is another, trim must be called.
func (q *queued[K]) pop() *record[K] {
	r := q.first()
	if r == nil || q.outOfLine.next() < r.at {
		if len(q.outOfLine) == 0 {
			return nil
		}
		return q.outOfLine.pop()
	}
	q.inLine--
	q.next++
	return r
}

// first returns the first key in line, and makes next its place.
func (q *queued[K]) first() *record[K] {
	for q.inLine > 0 {
		if a := &q.arrivals[q.next]; a.queued() && a.record.index == inLine {
			return a.record
		}
		q.next++
	}
	return nil
}

// remove removes a key. Once its state is another, trim must be called.
func (q *queued[K]) remove(r *record[K]) {
	if r.index == inLine {
		q.inLine--
	} else {
		q.outOfLine.remove(r)
	}
}

// moved restores the order after a key's time has become earlier.
func (q *queued[K]) moved(r *record[K]) {
	if r.index == inLine {
		q.inLine--
		q.outOfLine.push(r)
	} else {
		q.outOfLine.moved(r)
	}
}

// trim finds the oldest key, and removes keys from arrivals that have left the queue, if
// they are more than half. Its cost is theirs.
func (q *queued[K]) trim() {
	for q.head < len(q.arrivals) && !q.arrivals[q.head].queued() {
		q.head++
	}
	n := q.len()
	if len(q.arrivals) <= 2*n+64 {
		return
	}
	kept, next := q.arrivals[:0], 0
	if cap(q.arrivals) > leastPeak && n < cap(q.arrivals)/8 {
		kept = make([]arrival[K], 0, 2*n)
	}
	for i := range q.arrivals {
		if i == q.next {
			next = len(kept)
		}
		if q.arrivals[i].queued() {
			kept = append(kept, q.arrivals[i])
		}
	}
	if q.next == len(q.arrivals) {
		next = len(kept)
	}
	clear(q.arrivals[min(len(kept), len(q.arrivals)):])
	q.arrivals, q.head, q.next = kept, 0, next
}

// oldest returns when the oldest key entered the queue.
func (q *queued[K]) oldest() (entered int64, ok bool) {
	if q.head == len(q.arrivals) {
		return 0, false
	}
	return q.arrivals[q.head].entered, true
}
