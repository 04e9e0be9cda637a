package fifo

import "fmt"

// Check verifies the invariants that the comments in line.go and queue.go
// state, for a queue that nobody else uses at the moment.
func (q *queue[K, T, V]) Check() error {
	q.mu.Lock()
	defer q.mu.Unlock()
	l := &q.line
	linked, waiting, flying, initial := 0, 0, 0, 0
	var prev *entry[K, V]
	for e := l.head; e != nil; prev, e = e, e.next {
		linked++
		if e.prev != prev {
			return fmt.Errorf("%v: prev is not the entry before", e.key)
		}
		if !e.waiting.held || l.entries[e.key] != e {
			return fmt.Errorf("%v: linked, but not waiting or not in the map", e.key)
		}
	}
	if l.tail != prev {
		return fmt.Errorf("tail is not the last entry")
	}
	for key, e := range l.entries {
		if e.key != key {
			return fmt.Errorf("entry of %v under %v", e.key, key)
		}
		if !e.waiting.held && !e.flight.held {
			return fmt.Errorf("%v: empty entry", key)
		}
		for _, s := range []slot[V]{e.waiting, e.flight} {
			if s.initial {
				initial++
			}
			if s.initial && !s.held {
				return fmt.Errorf("%v: initial, but not held", key)
			}
		}
		if e.waiting.held {
			waiting++
		}
		if e.flight.held {
			flying++
		}
	}
	if linked != waiting || waiting != l.waiting || flying != l.flying || initial != l.initial {
		return fmt.Errorf("counted linked %d, waiting %d, flying %d, initial %d; line says %d, %d, %d",
			linked, waiting, flying, initial, l.waiting, l.flying, l.initial)
	}
	spared := 0
	for e := l.spare; e != nil; e = e.next {
		spared++
		if e.prev != nil || e.waiting.held || e.flight.held || e.forgotten || e.turn != 0 || e.mark != 0 {
			return fmt.Errorf("a spare entry is not empty: %+v", *e)
		}
	}
	if spared != l.spared || spared > spares {
		return fmt.Errorf("%d spare entries, line says %d", spared, l.spared)
	}
	if l.peak < len(l.entries) {
		return fmt.Errorf("peak %d below %d entries", l.peak, len(l.entries))
	}
	if l.synced() != q.HasSynced() {
		return fmt.Errorf("line.synced is %v, the channel says %v", l.synced(), q.HasSynced())
	}
	if waiting > flying && len(q.wake) == 0 {
		return fmt.Errorf("%d wait, %d in flight, and there is no token", waiting, flying)
	}
	return nil
}

// DeltaCount is the number of deltas that wait.
func (f *DeltaFIFO[K, T]) DeltaCount() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	n := 0
	for e := f.line.head; e != nil; e = e.next {
		n += len(e.waiting.value)
	}
	return n
}

// Room is how many records fit without an allocation.
func (j *Journal[K, T]) Room() int {
	j.mu.Lock()
	defer j.mu.Unlock()
	return cap(j.ledger.waiting.items)
}
