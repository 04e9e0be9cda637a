package keyqueue

import (
	"cmp"
	"slices"
	"sort"
	"time"
)

// Report describes a queue as a whole.
type Report struct {
	Counts
	// Oldest is when the key that has been queued longest entered the queue, to a
	// tick, or a 512th of its age. It is zero if none is queued.
	Oldest time.Time
	// Adds counts runs that were asked for, Retries those of keys that had failed.
	Adds, Retries uint64
	// Classes are those with the most keys queued or running, in descending order.
	Classes []ClassCounts
}

// ClassCounts is how many keys of a class are queued and running.
type ClassCounts struct {
	Name            string
	Queued, Running int
}

// Report returns the counts of the queue and of at most the given number of classes.
// Its cost grows with the number of classes that have keys, not with the keys.
func (q *Queue[K]) Report(classes int) Report {
	q.mu.Lock()
	defer q.mu.Unlock()
	r := Report{Counts: q.countsLocked(), Adds: q.core.adds, Retries: q.core.retries}
	if oldest, ok := q.core.ages.oldest(); ok {
		r.Oldest = q.timeOf(oldest)
	}
	r.Classes = q.core.classes.most(classes)
	return r
}

// most returns at most limit of the classes that have records, the busiest first.
func (s *classes[K]) most(limit int) []ClassCounts {
	if s.workers == 0 || limit <= 0 {
		return nil
	}
	busy := func(slot uint32) int { return s.list[slot].ready.n + s.list[slot].running }
	// The slots of the busiest classes, sorted. Most classes are not among them, and
	// cost one comparison.
	var found []uint32
	for i := range s.list {
		slot := uint32(i)
		if s.list[i].records == 0 || len(found) == limit && busy(slot) <= busy(found[limit-1]) {
			continue
		}
		if len(found) == limit {
			found = found[:limit-1]
		}
		at := sort.Search(len(found), func(i int) bool { return busy(found[i]) < busy(slot) })
		found = slices.Insert(found, at, slot)
	}
	out := make([]ClassCounts, len(found))
	for i, slot := range found {
		out[i] = ClassCounts{s.name(slot), s.list[slot].ready.n, s.list[slot].running}
	}
	return out
}

// MostFailures returns at most limit failed keys, in descending order of failures in a
// row. It examines at most 1024 failed keys, arbitrary ones if there are more, so that
// it holds the lock for some tens of microseconds at most.
func (q *Queue[K]) MostFailures(limit int) ([]K, []KeyStatus) {
	const look = 1024
	type failing struct {
		slot  uint32
		count int
	}
	seen := make([]failing, 0, look)
	q.mu.Lock()
	defer q.mu.Unlock()
	for slot, f := range q.core.failures {
		if seen = append(seen, failing{slot, f.Count}); len(seen) == look {
			break
		}
	}
	slices.SortFunc(seen, func(a, b failing) int {
		return cmp.Or(cmp.Compare(b.count, a.count), cmp.Compare(a.slot, b.slot))
	})
	seen = seen[:min(limit, len(seen))]
	keys, statuses := make([]K, len(seen)), make([]KeyStatus, len(seen))
	for i, f := range seen {
		r := q.core.records.at(f.slot)
		keys[i], statuses[i] = r.key, q.statusLocked(f.slot, r)
	}
	return keys, statuses
}

func (q *Queue[K]) timeOf(ticks uint32) time.Time { return q.clock.Time(int64(ticks) * tick) }
