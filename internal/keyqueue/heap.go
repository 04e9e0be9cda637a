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

// arrivals are the queued keys in the order in which they entered the queue, so that
// the oldest is known whatever order they are served in. Some keys that have left the
// queue are still in the list; their number is bounded by trim.
type arrivals[K comparable] struct{ list []arrival[K] }

type arrival[K comparable] struct {
	record         *record[K]
	since, entered int64
}

// queued reports whether the key has not left the queue since it arrived.
func (a *arrival[K]) queued() bool { return a.record.state == Queued && a.record.since == a.since }

func (a *arrivals[K]) add(now int64, r *record[K]) {
	a.list = append(a.list, arrival[K]{r, r.since, now})
}

// trim is called when a key has left the queue, with n left in it. Its cost is that of
// the keys that have left since the last trim that did anything.
func (a *arrivals[K]) trim(n int) {
	if len(a.list) <= 2*n+64 {
		return
	}
	queued := a.list[:0]
	if cap(a.list) > leastPeak && n < cap(a.list)/8 {
		queued = make([]arrival[K], 0, 2*n)
	}
	for i := range a.list {
		if a.list[i].queued() {
			queued = append(queued, a.list[i])
		}
	}
	clear(a.list[min(len(queued), len(a.list)):])
	a.list = queued
}

// oldest returns when the oldest key entered the queue.
func (a *arrivals[K]) oldest() (entered int64, ok bool) {
	for i := range a.list {
		if a.list[i].queued() {
			return a.list[i].entered, true
		}
	}
	return 0, false
}
