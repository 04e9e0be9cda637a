package own

import (
	"iter"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/kinglet-go/kinglet/reflector/resourceversion"
	"github.com/kinglet-go/kinglet/store"
)

// Rules read the identity, the version and the deletion mark of objects.
type Rules[T any] struct {
	// UID is the object's UID, or empty: a transform may have left it out.
	UID func(T) types.UID
	// Version is the object's resource version, or empty.
	Version func(T) string
	// Deleting reports whether an object is marked for deletion, and stays for now.
	Deleting func(T) bool
}

// entry has the pending writes and removals of one key. It never changes.
type entry[T any] struct {
	key store.Key
	// scope is the ID of the scope that the key is in.
	scope string
	// written is the newest write with an object; nil if there is none.
	written *written[T]
	// unread is the newest write whose object is not known, if it is newer than
	// written; else nil.
	unread *unread
	// removals are those of objects that are not known to be older than written.
	removals []removal
	// made are the versions that the program has made, and that the watch has not reached
	// yet, in the order of recording; at most maxMade.
	made []made
}

// maxMade bounds the versions by which an entry recognises the program's own
// changes. Changes at older versions count as foreign.
const maxMade = 64

// made is a version that the program is known to have made.
type made struct {
	version string
	uid     types.UID
	From
}

// written is the state of a key after a write.
type written[T any] struct {
	obj T
	// absent: the write left the object outside of the collection.
	absent  bool
	uid     types.UID
	version string
	since   time.Time
	// quiet: absent, and no read had shown the object.
	quiet bool
	// pinned: the watch has passed it without showing it.
	pinned bool
	// values are the object's values in each index, as of a generation of indexes.
	values     map[string][]string
	generation uint64
}

// unread is a write that the informer knows only by its version.
type unread struct {
	uid     types.UID
	version string
	since   time.Time
}

// removal is an object that was deleted.
type removal struct {
	uid types.UID
	// bound is a version at which the object existed or ceased to; empty if none is
	// known. Other objects under its key are older before bound, and newer after it.
	bound string
	// gone: at bound the server no longer had the object, which may have ended before. live is
	// the UID of the one that it had then, if any: that one is newer at any version.
	gone bool
	live types.UID
	// marked: it is not known whether the object is gone or marked for deletion.
	marked bool
	// missed: others may have deleted the object.
	missed bool
	// seen: the object was in the collection, so that the watch will show its end.
	seen bool
	// done: the object left the collection after the delete was recorded. It may have
	// been deleted or left the selector, and could come back for a moment.
	done bool
	// counted: it was once done, and so counts as confirmed.
	counted bool
	since   time.Time
}

// vague reports whether the removal does not tell what reads are to show.
func (m removal) vague() bool { return m.marked || m.bound == "" }

// reached reports whether a collection at version at has reached another version.
func reached(at, version string) bool {
	order, ok := resourceversion.Compare(at, version)
	return ok && order >= 0
}

// before reports whether a collection at version at is known not to have reached
// another version. A collection without a version has reached none.
func before(at, version string) bool {
	if at == "" {
		return resourceversion.Ordered(version)
	}
	order, ok := resourceversion.Compare(at, version)
	return ok && order < 0
}

// comparableWith reports whether a collection's version can be compared with another
// one. A collection without a version is before all versions that have an order.
func comparableWith(at, version string) bool {
	return resourceversion.Ordered(version) && (at == "" || resourceversion.Ordered(at))
}

// raise sets bound to a later version, or to any if it is empty.
func raise(bound *string, version string) {
	if *bound == "" || before(*bound, version) {
		*bound = version
	}
}

// asNew reports whether the held object is as new as a version.
func (r *Rules[T]) asNew(held T, ok bool, version string) bool {
	if !ok {
		return false
	}
	is := r.Version(held)
	return is == version && version != "" || reached(is, version)
}

// is reports whether a removal is that of an object of the collection. One whose UID is not
// known is, if a version is known at which the removed one was there, until changes of the key
// show another: those that show the same raise the bound.
func (r *Rules[T]) is(obj T, m *removal) bool {
	if m.gone {
		return r.UID(obj) == m.uid || r.UID(obj) == "" && before(r.Version(obj), m.bound)
	}
	return r.UID(obj) == m.uid || r.maybe(obj, m) && !before(m.bound, r.Version(obj))
}

// maybe reports whether only changes of the key can tell whether a removal is that of obj.
func (r *Rules[T]) maybe(obj T, m *removal) bool {
	return r.UID(obj) == "" && m.bound != "" && !m.gone
}

// confirmed reports whether a store that holds held at version at shows w or something
// newer.
func (w *written[T]) confirmed(r *Rules[T], at string, held T, ok bool) bool {
	return !w.pinned && reached(at, w.version) || r.asNew(held, ok, w.version)
}

// state is what a read shows under a key.
type state[T any] struct {
	obj   T
	shown bool
	// merged is false if the read shows what the store holds.
	merged bool
	// unsure: the state may be older than a write, or the write may have left another
	// one.
	unsure bool
}

// resolve returns what a read shows under the entry's key if the store, at version at,
// holds held. The store may have reached a later version before held was read.
func (e *entry[T]) resolve(r *Rules[T], at string, held T, ok bool) state[T] {
	s := state[T]{obj: held, shown: ok}
	if w := e.written; w != nil && !w.confirmed(r, at, held, ok) {
		s = state[T]{obj: w.obj, shown: !w.absent, merged: true}
	}
	if u := e.unread; u != nil && !reached(at, u.version) && !r.asNew(held, ok, u.version) {
		s.unsure = true
	}
	for i := range e.removals {
		m := &e.removals[i]
		older := before(at, m.bound) && !r.asNew(held, ok, m.bound) && !(ok && m.live != "" && r.UID(held) == m.live)
		is := s.shown && r.is(s.obj, m)
		if s.merged && s.shown {
			is = e.written.uid == m.uid
		}
		switch {
		case m.marked:
			if s.merged && e.written != nil {
				older = before(e.written.version, m.bound)
			} else {
				is = is || s.shown && r.maybe(s.obj, m)
			}
			s.unsure = s.unsure || older || is && !r.Deleting(s.obj)
		case s.merged && !is:
			s.unsure = s.unsure || m.bound == "" && s.shown
		case older, is:
			s = state[T]{merged: true, unsure: s.unsure}
		case s.shown && (m.bound == "" || r.maybe(s.obj, m)):
			s.unsure = true
		}
	}
	return s
}

// missing returns the last of what may make a state of the entry unsure.
func (e *entry[T]) missing() (last Unconfirmed) {
	if u := e.unread; u != nil {
		last = Unconfirmed{e.key, u.uid, u.version, u.since}
	}
	for _, m := range e.removals {
		if m.vague() || last.Since.IsZero() {
			last = Unconfirmed{e.key, m.uid, "", m.since}
		}
	}
	return last
}

// mayBeUnsure reports whether reads of the entry may have to wait.
func (e *entry[T]) mayBeUnsure() bool {
	return e.unread != nil || slices.ContainsFunc(e.removals, removal.vague)
}

// isOwn reports whether a change of the key is known to consist only of the program's writes.
// whole is that of held.
func (e *entry[T]) isOwn(r *Rules[T], c *store.Change[T], whole bool) bool {
	if c.Reason != store.Live || c.FinalStateUnknown {
		return false // there may have been other changes in between, or it cannot be stored
	}
	of := c.New
	if c.Type == store.Deleted {
		of = c.Old
	}
	// A server that has begun anew may give a version again.
	i := slices.IndexFunc(e.made, func(m made) bool { return m.version == c.ResourceVersion && (m.uid == r.UID(of) || r.UID(of) == "") })
	if i >= 0 {
		return alone(e.made[i], r, c, whole)
	}
	if c.Type != store.Deleted || !whole {
		return false // somebody else may have taken it out of the selector
	}
	i = slices.IndexFunc(e.removals, func(m removal) bool { return r.is(c.Old, &m) })
	return i >= 0 && !e.removals[i].done && !e.removals[i].marked && !e.removals[i].missed
}

// alone reports whether nobody else has written between what receivers know and c, whose
// version is m's. Others may have made versions that are not in the selector, or that could
// not be stored.
func alone[T any](m made, r *Rules[T], c *store.Change[T], whole bool) bool {
	told := m.From == From{} // by Wrote, which does not say what the program has changed
	if c.Type == store.Added {
		return m.Created || told && whole
	}
	switch was := r.Version(c.Old); was {
	case "", m.version: // it is not known, or the program has put it by hand
		return true
	default:
		return told || was == m.Version
	}
}

// removed returns the index of the removal with a UID, or -1.
func (e *entry[T]) removed(uid types.UID) int {
	return slices.IndexFunc(e.removals, func(m removal) bool { return m.uid == uid })
}

// pending returns how many writes and removals the store has not confirmed.
func (e *entry[T]) pending() (n int) {
	for range e.each() {
		n++
	}
	return n
}

// each iterates over what is pending, for reports and clocks. loud is false for what
// the collection may never have had, of which nobody is told.
func (e *entry[T]) each() iter.Seq2[Unconfirmed, bool] {
	return func(yield func(u Unconfirmed, loud bool) bool) {
		if w := e.written; w != nil && !yield(Unconfirmed{e.key, w.uid, w.version, w.since}, !w.quiet) {
			return
		}
		if u := e.unread; u != nil && !yield(Unconfirmed{e.key, u.uid, u.version, u.since}, true) {
			return
		}
		for _, m := range e.removals {
			if !m.done && !yield(Unconfirmed{e.key, m.uid, "", m.since}, m.seen) {
				return
			}
		}
	}
}

// oldest returns the time of the entry's oldest part.
func (e *entry[T]) oldest() (t time.Time) {
	earlier := func(since time.Time) {
		if t.IsZero() || since.Before(t) {
			t = since
		}
	}
	for u := range e.each() {
		earlier(u.Since)
	}
	for _, m := range e.removals {
		earlier(m.since)
	}
	return t
}

// quiet reports whether an entry consists of what the collection may never have had.
func (e *entry[T]) quiet() bool {
	for _, loud := range e.each() {
		if loud {
			return false
		}
	}
	return true
}

// without returns what remains of an entry without the parts for which ends returns
// true; nil if that is nothing.
func (e *entry[T]) without(ends func(since time.Time) bool) *entry[T] {
	next := *e
	if e.written != nil && ends(e.written.since) {
		next.written = nil
	}
	if e.unread != nil && ends(e.unread.since) {
		next.unread = nil
	}
	next.removals = slices.DeleteFunc(slices.Clone(e.removals), func(m removal) bool { return ends(m.since) })
	return next.orNil()
}

// orNil returns nil for an entry that has nothing.
func (e *entry[T]) orNil() *entry[T] {
	if e.written == nil && e.unread == nil && len(e.removals) == 0 {
		return nil
	}
	return e
}
