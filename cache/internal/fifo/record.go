package fifo

// Record is one change in a Journal.
type Record[K comparable, T any] struct {
	// Key is zero where the record is about all keys: ReplacedAll, SyncAll and
	// Bookmark.
	Key K
	Delta[T]
	// List is that of a ReplacedAll. The reader may keep it; it is shared only
	// with those who get the same record.
	List []T
	// ResourceVersion is that of a ReplacedAll or a Bookmark.
	ResourceVersion string
}

// journaled is a queued Record, without the fields that only few need.
type journaled[K comparable, T any] struct {
	key     K
	delta   Delta[T]
	whole   *whole[T] // nil for the record of one key
	initial bool      // of the first batch
}

// whole is the data of a record about all keys.
type whole[T any] struct {
	list    []T
	version string
}

func (j *journaled[K, T]) record() Record[K, T] {
	r := Record[K, T]{Key: j.key, Delta: j.delta}
	if j.whole != nil {
		r.List, r.ResourceVersion = j.whole.list, j.whole.version
	}
	return r
}

// before reports whether j must stay before other.
func (j *journaled[K, T]) before(other *journaled[K, T]) bool {
	return j.whole != nil || other.whole != nil || j.key == other.key
}

// ledger is what is queued and what is in flight, and the accounting of the
// first batch. It is pure: no locks, no waiting, no callbacks.
type ledger[K comparable, T any] struct {
	waiting scroll[journaled[K, T]]
	// flight is what was taken and is not settled, in order.
	flight []journaled[K, T]
	// populated is set by the first write of any kind.
	populated bool
	// Invariant: initial is how many of waiting and flight are initial.
	initial int
}

// ready reports whether something can be taken. To keep the order of all
// changes, nothing is taken before the last take is settled.
func (l *ledger[K, T]) ready() bool { return len(l.flight) == 0 && l.waiting.len() > 0 }

func (l *ledger[K, T]) synced() bool { return l.populated && l.initial == 0 }

func (l *ledger[K, T]) push(key K, d Delta[T]) {
	l.waiting.push(journaled[K, T]{key: key, delta: d})
}

// markInitial ends the first Replace: if no write came before it, everything
// that waits is the first batch.
func (l *ledger[K, T]) markInitial() {
	if l.populated {
		return
	}
	l.populated = true
	all := l.waiting.all()
	for i := range all {
		all[i].initial = true
	}
	l.initial = len(all)
}

// take moves up to limit records from waiting to flight: of different keys,
// all of the first batch or none of it, and one about all keys alone.
func (l *ledger[K, T]) take(limit int) []journaled[K, T] {
	all := l.waiting.all()
	n := 1
	if all[0].whole == nil && limit > 1 && len(all) > 1 {
		keys := make(map[K]struct{}, min(limit, len(all)))
		keys[all[0].key] = struct{}{}
		for ; n < len(all) && n < limit; n++ {
			next := &all[n]
			if _, twice := keys[next.key]; twice || next.whole != nil || next.initial != all[0].initial {
				break
			}
			keys[next.key] = struct{}{}
		}
	}
	l.flight = append([]journaled[K, T](nil), all[:n]...)
	l.waiting.drop(n)
	return l.flight
}

// settle ends the flight. If back is set, each of its records is queued again,
// before the first record that it must precede, or else at the end.
func (l *ledger[K, T]) settle(back bool) {
	for _, j := range l.flight {
		if back {
			l.putBack(j)
		} else if j.initial {
			l.initial--
		}
	}
	l.flight = nil
}

func (l *ledger[K, T]) putBack(j journaled[K, T]) {
	all := l.waiting.all()
	for i := range all {
		if j.before(&all[i]) {
			l.waiting.insert(i, j)
			return
		}
	}
	l.waiting.push(j)
}

// newest returns the last record of each key that is in flight or waits, and
// these keys in the order in which they came first.
func (l *ledger[K, T]) newest() (map[K]Delta[T], []K) {
	last := make(map[K]Delta[T])
	var keys []K
	note := func(records []journaled[K, T]) {
		for i := range records {
			j := &records[i]
			if j.whole != nil {
				continue
			}
			if _, seen := last[j.key]; !seen {
				keys = append(keys, j.key)
			}
			last[j.key] = j.delta
		}
	}
	note(l.flight)
	note(l.waiting.all())
	return last, keys
}

// latest returns the last record of one key.
func (l *ledger[K, T]) latest(key K) (Delta[T], bool) {
	for _, records := range [][]journaled[K, T]{l.waiting.all(), l.flight} {
		for i := len(records) - 1; i >= 0; i-- {
			if j := &records[i]; j.whole == nil && j.key == key {
				return j.delta, true
			}
		}
	}
	return Delta[T]{}, false
}
