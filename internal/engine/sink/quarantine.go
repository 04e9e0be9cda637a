package sink

import (
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/kinglet-go/kinglet/internal/errtype"
	"github.com/kinglet-go/kinglet/source"
	"github.com/kinglet-go/kinglet/status"
	"github.com/kinglet-go/kinglet/store"
)

// maxQuarantined bounds the list of quarantined keys with what is known of each: 10,000
// entries are about 2 MB. Of those beyond it only the keys are kept, as the store has those
// of good objects.
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

// Quarantine lists the keys whose latest version is not in the store. It changes under
// the hub's lock; its methods are safe for concurrent use and take only its own lock.
type Quarantine struct {
	mu sync.Mutex
	// guarded by mu. Invariant: len(entries) <= maxQuarantined.
	entries map[store.Key]Quarantined
	// unlisted are the keys for which entries had no room; guarded by mu.
	unlisted map[store.Key]struct{}
	// failures counts every version that failed, ever; guarded by mu.
	failures uint64
	// since is when a key was first added to the empty list; guarded by mu.
	since time.Time
	// stages counts errors of objects by the stage at which they occurred; guarded by
	// mu. An object that is stored but missing in an index does not count in failures.
	stages status.StageCounts
}

// add records a version that failed.
func (q *Quarantine) add(key store.Key, err error, now time.Time, stale bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.failures++
	q.stages[StageOf(err)]++
	if key == (store.Key{}) {
		return // without an identity there is nothing to list, or to clear
	}
	if len(q.entries)+len(q.unlisted) == 0 {
		q.since = now
	}
	if _, known := q.entries[key]; !known && len(q.entries) >= maxQuarantined {
		if q.unlisted == nil {
			q.unlisted = make(map[store.Key]struct{})
		}
		q.unlisted[key] = struct{}{}
		return
	}
	delete(q.unlisted, key)
	if q.entries == nil {
		q.entries = make(map[store.Key]Quarantined)
	}
	q.entries[key] = Quarantined{Key: key, Err: err, Since: now, Stale: stale}
}

// failed counts a version that failed and is not a state of any held object.
func (q *Quarantine) failed(err error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.failures++
	q.stages[StageOf(err)]++
}

// notStored counts an object that the store refused, or left out of an index.
func (q *Quarantine) notStored(err error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.stages[StageOf(err)]++
}

// StageOf returns the stage at which the object of err was refused.
func StageOf(err error) status.Stage {
	if item, ok := errtype.As[*source.ItemError](err); ok {
		switch item.Stage {
		case source.StageDecode:
			return status.StageDecode
		case source.StageKey:
			return status.StageKey
		case source.StageTransform:
			return status.StageTransform
		}
	}
	if _, ok := errtype.As[*store.KeyError](err); ok {
		return status.StageKey
	}
	if _, ok := errtype.As[*store.IndexError](err); ok {
		return status.StageIndex
	}
	return status.StageOther
}

// has reports whether a key's latest version is not in the store.
func (q *Quarantine) has(key store.Key) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	_, listed := q.entries[key]
	_, unlisted := q.unlisted[key]
	return listed || unlisted
}

// clear removes a key: a good version or a delete arrived.
func (q *Quarantine) clear(key store.Key) {
	q.mu.Lock()
	defer q.mu.Unlock()
	delete(q.entries, key)
	delete(q.unlisted, key)
}

// reset removes the keys of a scope before a list of all of it is stored.
func (q *Quarantine) reset(scope store.Scope) {
	q.mu.Lock()
	defer q.mu.Unlock()
	maps.DeleteFunc(q.entries, func(key store.Key, _ Quarantined) bool { return scope.Has(key) })
	maps.DeleteFunc(q.unlisted, func(key store.Key, _ struct{}) bool { return scope.Has(key) })
}

// empty reports whether the latest version of every key is in the store.
func (q *Quarantine) empty() bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	return len(q.entries)+len(q.unlisted) == 0
}

// AddTo adds the counts of quarantined keys and of failures to an informer's status.
func (q *Quarantine) AddTo(s *status.Informer) {
	q.mu.Lock()
	defer q.mu.Unlock()
	keys := len(q.entries) + len(q.unlisted)
	s.Quarantined += keys
	s.Failures += q.failures
	for stage, n := range q.stages {
		s.FailuresByStage[stage] += n
	}
	if keys > 0 && (s.QuarantinedSince.IsZero() || q.since.Before(s.QuarantinedSince)) {
		s.QuarantinedSince = q.since
	}
}

// Keys returns a copy of the listed keys, and the number of keys that are not listed.
func (q *Quarantine) Keys() (keys map[store.Key]struct{}, unlisted int) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if len(q.entries) > 0 {
		keys = make(map[store.Key]struct{}, len(q.entries))
		for key := range q.entries {
			keys[key] = struct{}{}
		}
	}
	return keys, len(q.unlisted)
}

// List returns the entries in key order, at most 10,000.
func (q *Quarantine) List() []Quarantined {
	q.mu.Lock()
	defer q.mu.Unlock()
	return slices.SortedFunc(maps.Values(q.entries), func(a, b Quarantined) int { return a.Key.Compare(b.Key) })
}
