package keyqueue

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
