package overlay

import (
	"slices"
	"time"

	"github.com/kinglet-go/kinglet/store"
)

// Pass returns what remains of o once the store shows version at of a scope, and how
// many writes and removals this has confirmed. get reads the store. changes are those
// of the step, all in the scope; Pass marks those that consist only of the program's
// writes as OwnEcho.
func (o *Overlay[T]) Pass(r *Rules[T], scope, at string, get func(store.Key) (T, bool), changes []store.Change[T]) (*Overlay[T], int) {
	if o == nil {
		return nil, 0
	}
	// touched are the changes of each entry's key.
	touched := make([][]*store.Change[T], len(o.entries))
	for i := range changes {
		c := &changes[i]
		if n, ok := o.find(c.Key); ok {
			c.OwnEcho = o.entries[n].isOwn(r, c)
			touched[n] = append(touched[n], c)
		}
	}
	confirmed, same := 0, true
	left := make([]*entry[T], 0, len(o.entries))
	for n, e := range o.entries {
		if e.scope != scope {
			left = append(left, e)
			continue
		}
		held, ok := get(e.key)
		next := e.passed(r, at, held, ok, touched[n])
		same = same && next == e
		confirmed += e.size() - next.size()
		if next.size() > 0 {
			left = append(left, next)
		}
	}
	if same {
		return o, 0
	}
	return of(left), confirmed
}

// size returns how many writes and removals an entry has.
func (e *entry[T]) size() int {
	n := len(e.removals)
	if e.written != nil {
		n++
	}
	return n
}

// passed returns what remains of an entry once the store, at version at, holds held,
// after the given changes of the key.
func (e *entry[T]) passed(r *Rules[T], at string, held T, ok bool, changes []*store.Change[T]) *entry[T] {
	next := *e
	if w := e.written; w != nil && w.ended(r, at, held, ok, changes) {
		next.written = nil
	}
	next.removals = slices.DeleteFunc(slices.Clone(e.removals), func(m removal) bool {
		return r.ended(&m, at, held, ok, changes)
	})
	next.versions = slices.DeleteFunc(slices.Clone(e.versions), func(v string) bool { return reached(at, v) })
	if next.size() == e.size() && len(next.versions) == len(e.versions) {
		return e
	}
	return &next
}

// ended reports whether a write has been seen.
func (w *written[T]) ended(r *Rules[T], at string, held T, ok bool, changes []*store.Change[T]) bool {
	switch {
	case w.confirmed(r, at, held, ok):
		return true
	case !comparableWith(at, w.version):
		return len(changes) > 0
	}
	// A pinned write waits for something newer that can be stored.
	return w.pinned && slices.ContainsFunc(changes, func(c *store.Change[T]) bool { return reached(c.ResourceVersion, w.version) })
}

// ended reports whether the deletion of an object has been seen.
func (r *Rules[T]) ended(m *removal, at string, held T, ok bool, changes []*store.Change[T]) bool {
	if before(at, m.bound) {
		return false // it left the collection, and enters it again
	}
	if slices.ContainsFunc(changes, func(c *store.Change[T]) bool { return c.Type == store.Deleted && r.UID(c.Old) == m.uid }) {
		return true
	}
	if !m.seen || !reached(at, m.bound) {
		return false
	}
	// Without UIDs, any change of the key counts as one of another object.
	return !ok || r.UID(held) != m.uid || m.uid == "" && len(changes) > 0
}

// Leave returns o without the writes and removals in a scope, and a list of these as
// Expire does. Those under keys that move to another scope are kept in that scope.
func (o *Overlay[T]) Leave(scope string, to func(store.Key) (id string, ok bool)) (*Overlay[T], []Unconfirmed) {
	left, ended := o.without(func(e *entry[T], _ time.Time) bool {
		_, stays := to(e.key)
		return e.scope == scope && !stays
	})
	if left == nil {
		return nil, ended
	}
	entries := slices.Clone(left.entries)
	for i, e := range entries {
		if e.scope == scope {
			moved := *e
			moved.scope, _ = to(e.key)
			entries[i] = &moved
		}
	}
	return of(entries), ended
}

// Expire returns o without the writes and removals of cutoff or before, and a list of
// these. Removals of objects that were never seen are not listed, since the collection
// may never have had them.
func (o *Overlay[T]) Expire(cutoff time.Time) (*Overlay[T], []Unconfirmed) {
	return o.without(func(_ *entry[T], since time.Time) bool { return !since.After(cutoff) })
}

// without returns o without the writes and removals for which ends returns true, and a
// list of these.
func (o *Overlay[T]) without(ends func(e *entry[T], since time.Time) bool) (*Overlay[T], []Unconfirmed) {
	if o == nil {
		return nil, nil
	}
	var expired []Unconfirmed
	same := true
	left := make([]*entry[T], 0, len(o.entries))
	for _, e := range o.entries {
		next := *e
		if w := e.written; w != nil && ends(e, w.since) {
			next.written = nil
			expired = append(expired, Unconfirmed{Key: e.key, UID: w.uid, Version: w.version, Since: w.since})
		}
		next.removals = slices.DeleteFunc(slices.Clone(e.removals), func(m removal) bool {
			old := ends(e, m.since)
			if old && m.seen {
				expired = append(expired, Unconfirmed{Key: e.key, UID: m.uid, Since: m.since})
			}
			return old
		})
		same = same && next.size() == e.size()
		switch {
		case next.size() == 0:
		case next.size() == e.size():
			left = append(left, e)
		default:
			left = append(left, &next)
		}
	}
	if same {
		return o, nil
	}
	return of(left), expired
}
