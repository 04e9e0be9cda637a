package keyqueue

import (
	"cmp"
	"iter"
	"slices"
	"time"
)

// Counts is the number of keys in each state. Again counts the running keys that will
// run once more; Running includes them. Failing counts the keys whose last run failed,
// Failed those of them that failed for good.
type Counts struct{ Waiting, Queued, Running, Again, Failing, Failed int }

// Counts returns how many keys are in each state, in constant time.
func (q *Queue[K]) Counts() Counts {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.countsLocked()
}

func (q *Queue[K]) countsLocked() Counts {
	c := &q.core
	return Counts{
		Waiting: len(c.waiting),
		Queued:  c.lenQueued(),
		Running: c.running,
		Again:   c.again,
		Failing: len(c.failures.entries),
		Failed:  len(c.failed),
	}
}

// KeyStatus is the status of a key that is not absent.
type KeyStatus struct {
	State State
	// Since is when the key entered that state; for a queued key, when its run was asked
	// for.
	Since time.Time
	// Next is when a waiting key is due, and zero for the others.
	Next time.Time
	// Failure is zero for a key that has not failed since it last succeeded.
	Failure Failure
	Cause   uint8
}

// All returns all keys that are not absent, in no order. The queue is locked for a few
// hundred keys at a time, so keys that change meanwhile may be missing or appear
// twice.
func (q *Queue[K]) All() iter.Seq2[K, KeyStatus] {
	const most = 256
	return func(yield func(K, KeyStatus) bool) {
		keys, statuses := make([]K, 0, most), make([]KeyStatus, 0, most)
		q.mu.Lock()
		for key, r := range q.core.records.entries { // which may change while the lock is free
			if r.key != key || r.state == 0 {
				continue
			}
			keys, statuses = append(keys, key), append(statuses, q.statusLocked(r))
			if len(keys) < most {
				continue
			}
			q.mu.Unlock()
			for i, key := range keys {
				if !yield(key, statuses[i]) {
					return
				}
			}
			keys, statuses = keys[:0], statuses[:0]
			q.mu.Lock()
		}
		q.mu.Unlock()
		for i, key := range keys {
			if !yield(key, statuses[i]) {
				return
			}
		}
	}
}

// Get returns the status of a key, or false if the key is absent.
func (q *Queue[K]) Get(key K) (KeyStatus, bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	r := q.core.records.entries[key]
	if r == nil {
		return KeyStatus{}, false
	}
	return q.statusLocked(r), true
}

func (q *Queue[K]) statusLocked(r *record[K]) KeyStatus {
	s := KeyStatus{State: r.state, Since: q.clock.Time(r.since), Failure: q.core.failures.entries[r], Cause: r.cause}
	if (r.state == Waiting || r.state == Running) && r.at != never {
		s.Next = q.clock.Time(r.at)
	}
	return s
}

// Report describes a queue as a whole.
type Report[K comparable] struct {
	Counts
	// Oldest is when the key that has been queued longest entered the queue, or when the
	// queue was last held if that is later. It is zero if none is queued.
	Oldest time.Time
	// Adds counts runs that were asked for, Retries those of keys that had failed.
	Adds, Retries uint64
	// MostFailures are the keys that failed, in descending order of failures in a row.
	MostFailures []FailingKey[K]
}

// FailingKey is a key whose last run failed.
type FailingKey[K comparable] struct {
	Key K
	KeyStatus
}

// Report returns the counts of the queue, and at most the given number of keys that
// failed. It examines at most 1024 of these, arbitrary ones if there are more, so that
// it holds the lock for some tens of microseconds at most.
func (q *Queue[K]) Report(failing int) Report[K] {
	const most = 1024
	q.mu.Lock()
	defer q.mu.Unlock()
	r := Report[K]{Counts: q.countsLocked(), Adds: q.core.adds, Retries: q.core.retries}
	if oldest, ok := q.core.queued.oldest(); ok {
		r.Oldest = q.clock.Time(max(oldest, q.released))
	}
	if failing == 0 {
		return r
	}
	found := make([]*record[K], 0, min(most, len(q.core.failures.entries)))
	for record := range q.core.failures.entries {
		if found = append(found, record); len(found) == most {
			break
		}
	}
	slices.SortFunc(found, func(a, b *record[K]) int {
		return cmp.Or(cmp.Compare(q.core.failures.entries[b].Count, q.core.failures.entries[a].Count), cmp.Compare(a.since, b.since))
	})
	for _, record := range found[:min(failing, len(found))] {
		r.MostFailures = append(r.MostFailures, FailingKey[K]{record.key, q.statusLocked(record)})
	}
	return r
}
