package fifo

import "k8s.io/client-go/tools/cache"

// DeltaType is what happened to an object.
type DeltaType = cache.DeltaType

const (
	Added    = cache.Added
	Updated  = cache.Updated
	Deleted  = cache.Deleted
	Replaced = cache.Replaced
	Sync     = cache.Sync

	// ReplacedAll, SyncAll and Bookmark are about all keys, and only in a
	// Journal.
	ReplacedAll = cache.ReplacedAll
	SyncAll     = cache.SyncAll
	Bookmark    = cache.Bookmark
)

// Knowledge is how well the object of a delta is known, the best first. Only
// a Deleted delta ever has another one than Exact.
type Knowledge uint8

const (
	// Exact: the object is the state after the change; for Deleted, the final
	// state.
	Exact Knowledge = iota
	// LastSeen: the object is gone and its final state was missed. The delta
	// has the last state that was seen, which may be stale.
	LastSeen
	// KeyOnly: the object is gone and no state of it is known. The delta has
	// the zero object.
	KeyOnly
)

// Delta is one thing that happened to an object.
type Delta[T any] struct {
	Type      DeltaType
	Knowledge Knowledge
	// Object is the state after the change, or what Knowledge says.
	Object T
}

// FinalStateUnknown reports whether the object was deleted unseen, so that
// Object is not its final state.
func (d Delta[T]) FinalStateUnknown() bool { return d.Knowledge != Exact }

// Deltas is what happened to one object, the oldest first.
type Deltas[T any] []Delta[T]

// Newest returns the last delta, and whether there is one.
func (d Deltas[T]) Newest() (Delta[T], bool) {
	if len(d) == 0 {
		return Delta[T]{}, false
	}
	return d[len(d)-1], true
}

// gone reports whether the last delta is a delete.
func (d Deltas[T]) gone() bool {
	last, ok := d.Newest()
	return ok && last.Type == Deleted
}

// with returns d with one more delta. Two adjacent deletes become one, the
// one that knows more: watches and lists both report the same deletion.
// Nothing else is folded. It may write to d.
func (d Deltas[T]) with(newer Delta[T]) Deltas[T] {
	if newer.Type != Deleted || !d.gone() {
		return append(d, newer)
	}
	last := &d[len(d)-1]
	// The first report of the final state is kept. Of two guesses the later
	// one is better, if it has an object at all.
	if last.Knowledge != Exact && newer.Knowledge <= last.Knowledge {
		*last = newer
	}
	return d
}

// mergeDeltas puts deltas that come back before those that were queued since.
func mergeDeltas[T any](older Deltas[T], newer slot[Deltas[T]]) Deltas[T] {
	// The caller of Pop keeps older, so it is copied.
	merged := make(Deltas[T], len(older), len(older)+len(newer.value))
	copy(merged, older)
	for _, d := range newer.value {
		merged = merged.with(d)
	}
	return merged
}

// Item is the entry of one key in a DeltaFIFO.
type Item[K comparable, T any] struct {
	Key K
	// Deltas has at least one element.
	Deltas Deltas[T]
}
