package store

// ChangeType is what happened to a key.
type ChangeType uint8

const (
	// Added: the key was absent; New is set.
	Added ChangeType = iota + 1
	// Updated: the key was present; Old and New are set.
	Updated
	// Deleted: the key is gone; Old is the last state known, Last the one received last.
	Deleted
)

var changeTypeNames = [...]string{Added: "Added", Updated: "Updated", Deleted: "Deleted"}

// String returns "Added", "Updated" or "Deleted".
func (t ChangeType) String() string { return nameIn(changeTypeNames[:], int(t)) }

// nameIn returns a name of a table; "Unknown" for a number that has none.
func nameIn(names []string, i int) string {
	if i < len(names) && names[i] != "" {
		return names[i]
	}
	return "Unknown"
}

// Reason is how a change was observed.
type Reason uint8

const (
	// Live: the server's watch reported it.
	Live Reason = iota
	// Initial: part of the state found when the handler, or the informer,
	// began.
	Initial
	// Relist: found by comparing a later list with the store.
	Relist
	// Resync: nothing changed; the handler asked to see every object again
	// from time to time.
	Resync
)

var reasonNames = [...]string{Live: "Live", Initial: "Initial", Relist: "Relist", Resync: "Resync"}

// String returns "Live", "Initial", "Relist" or "Resync".
func (r Reason) String() string { return nameIn(reasonNames[:], int(r)) }

// Change is one step in the history of a key.
type Change[T any] struct {
	Key Key
	// Old is the state before; the zero T when Type is Added. Of a Deleted it is the
	// final state, which may be later than Last.
	Old T
	// New is the state after; the zero T when Type is Deleted.
	New T
	// Last is the state that the receiver received last; the zero T unless Type is
	// Deleted. It differs from Old if the object changed in its last step, or if updates
	// folded into the delete.
	Last T
	// ResourceVersion is the version of the collection after this change:
	// the object's own for a live change, the list's for a list.
	ResourceVersion string
	// Type and Reason are beside the flags to keep a Change small.
	Type   ChangeType
	Reason Reason
	// FinalStateUnknown is true for a Deleted change of which the object's
	// last state was missed; Old is then the last state that was seen.
	FinalStateUnknown bool
	// ByHand is true if Old was put by a write that was not reported, under a key that
	// had no object: a receiver of Reported batches does not know it, unless it has begun
	// with a state of the store that had one (Store.Begin). To one that does not know it,
	// an Updated is an Added, and a Deleted is nothing.
	ByHand bool
	// OwnEcho is true for a change that is known to be the program's alone: an Added by its
	// create, an Updated by a request that named the resource version of Old, as updates do,
	// a Deleted by its delete. It has learned of it by OwnWrites before the watch delivered
	// it, and reads have shown it. An object that comes into a selector, or that could not be
	// stored before, may have been changed by others. Informer.Wrote does not say what the
	// write has changed, nor does an object without a version: then all that is between Old
	// and that version counts as the program's.
	OwnEcho bool
}

// Memo is what a decoder keeps beside an object to recognise its next version.
// Only the decoder that made it looks inside.
type Memo any

// Op is one write of a Batch.
type Op[T any] struct {
	// Key names the object. Invariant: for a put it equals the store's
	// KeyFunc of Object, if the store has one.
	Key Key
	// Delete removes the key; Object, if the deleter knew it, is the final
	// state and becomes Change.Old.
	Delete bool
	// HasObject is set on a Delete whose Object is the final state.
	HasObject bool
	// IfChanged makes Apply skip a put of what is held already: if Options.Equal
	// says so, nothing is written and no change reported, as by Replace (but see
	// Batch.Reported).
	IfChanged bool
	// Keyed: CheckKey has found nothing wrong.
	Keyed  bool
	Object T
	// Memo is kept beside the object until its next write. It may be nil.
	Memo Memo
	// ResourceVersion is the collection's version once this op is applied; empty
	// keeps the present version.
	ResourceVersion string
}

// Batch is what arrived together from one scope. Ops are applied in order.
type Batch[T any] struct {
	Scope  Scope
	Ops    []Op[T]
	Reason Reason
	// ResourceVersion is the scope's version once the whole batch is applied;
	// empty keeps the present version.
	ResourceVersion string
	// Reported says that there are receivers of the changes, such as an
	// informer's handlers. They see the changes of every Reported batch and no
	// others. An object that another write has removed counts as held in these
	// changes, so that no receiver misses a Deleted or gets a second Added. One that
	// another write has put is marked: see Change.ByHand. A put after another write is a
	// change, even of what is held already, since receivers may know something else.
	Reported bool
	// AtOnce makes readers see all of an applied batch or nothing, at the price
	// of a copy of every block and node that it changes.
	AtOnce bool
	// Rewrite makes Replace write every object, even the very object that is
	// held: its index values may have changed if it was modified against the
	// rules.
	Rewrite bool
}
