package sink

import (
	"slices"
	"sync"
	"time"

	"github.com/kinglet-go/kinglet/store"
)

// maxQuarantined bounds the list of quarantined keys, so that a server that sends
// broken objects without end cannot grow it: 10,000 entries are about 2 MB. Beyond
// it keys are counted and reported, but not listed.
const maxQuarantined = 10_000

// Quarantined is a key whose latest version is not in the store.
type Quarantined struct {
	Key store.Key
	// Err is a *source.ItemError: at which stage it failed, and why.
	Err error
	// Since is when the version that failed arrived.
	Since time.Time
	// Stale is true if the store still holds an earlier, good version.
	Stale bool
}

// Quarantined returns the entries in key order, at most 10,000.
func (s *Sink[T]) Quarantined() []Quarantined { return s.quarantine.list() }

// Refused returns how many keys are quarantined, and how many versions could not
// be stored, ever.
func (s *Sink[T]) Refused() (keys int, versions uint64) { return s.quarantine.count() }

// QuarantinedKeys returns a copy of the listed keys, and how many more there are.
func (s *Sink[T]) QuarantinedKeys() (keys map[store.Key]struct{}, unlisted int) {
	return s.quarantine.keys()
}

// quarantine is the list of keys whose latest version is not in the store.
type quarantine struct {
	mu sync.Mutex
	// guarded by mu. Invariant: len(entries) <= maxQuarantined.
	entries map[store.Key]Quarantined
	// overflow counts keys for which entries had no room; guarded by mu.
	overflow int
	// failures counts every version that failed, ever; guarded by mu.
	failures uint64
}

// add notes a version that failed.
func (q *quarantine) add(key store.Key, err error, now time.Time, stale bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.failures++
	if key == (store.Key{}) {
		return // without an identity there is nothing to list, or to clear
	}
	if _, known := q.entries[key]; !known && len(q.entries) >= maxQuarantined {
		q.overflow++
		return
	}
	if q.entries == nil {
		q.entries = make(map[store.Key]Quarantined)
	}
	q.entries[key] = Quarantined{Key: key, Err: err, Since: now, Stale: stale}
}

// failed counts a version that failed and is no state of any held object.
func (q *quarantine) failed() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.failures++
}

// has reports whether a key's latest version may be missing in the store.
func (q *quarantine) has(key store.Key) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	_, known := q.entries[key]
	return known || q.overflow > 0
}

// clear removes a key from the list: a good version or a delete arrived.
func (q *quarantine) clear(key store.Key) {
	q.mu.Lock()
	defer q.mu.Unlock()
	delete(q.entries, key)
}

// reset removes the keys of a scope before a list of all of it is stored.
func (q *quarantine) reset(scope store.Scope) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for key := range q.entries {
		if scope.Has(key) {
			delete(q.entries, key)
		}
	}
	q.overflow = 0
}

// empty reports whether no key is listed.
func (q *quarantine) empty() bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	return len(q.entries) == 0
}

// count returns how many keys are quarantined, and how many versions failed.
func (q *quarantine) count() (keys int, failures uint64) {
	q.mu.Lock()
	defer q.mu.Unlock()
	return len(q.entries) + q.overflow, q.failures
}

// keys returns a copy of the keys, and how many more there are that are not listed.
func (q *quarantine) keys() (keys map[store.Key]struct{}, unlisted int) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if len(q.entries) > 0 {
		keys = make(map[store.Key]struct{}, len(q.entries))
		for key := range q.entries {
			keys[key] = struct{}{}
		}
	}
	return keys, q.overflow
}

// list returns the entries in key order.
func (q *quarantine) list() []Quarantined {
	q.mu.Lock()
	defer q.mu.Unlock()
	out := make([]Quarantined, 0, len(q.entries))
	for _, e := range q.entries {
		out = append(out, e)
	}
	slices.SortFunc(out, func(a, b Quarantined) int { return a.Key.Compare(b.Key) })
	return out
}
