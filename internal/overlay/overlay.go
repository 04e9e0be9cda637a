package overlay

import (
	"errors"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/kinglet-go/kinglet/store"
)

// ErrUnknown: a removal has no UID, and no object is known under its key.
var ErrUnknown = errors.New("nothing is known under this key, so a delete needs a UID")

// Overlay has the writes of a program that the store does not show yet. The nil Overlay
// is empty. It never changes.
type Overlay[T any] struct {
	// entries are in key order. Invariant: there is at least one.
	entries []*entry[T]
}

// Write is the object in the server's answer to a write.
type Write[T any] struct {
	Key store.Key
	// Scope is the ID of the scope that the key is in.
	Scope   string
	UID     types.UID
	Version string
	// Object is the zero T if Absent: the write took the object out of the
	// collection.
	Object T
	Absent bool
	Time   time.Time
	// Values are the object's values in each index, as of a Generation of indexes; see
	// View.
	Values     map[string][]string
	Generation uint64
}

// Removal is an object that was deleted.
type Removal struct {
	Key store.Key
	// Scope is the ID of the scope that the key is in.
	Scope string
	UID   types.UID
	Time  time.Time
}

// Unconfirmed is a write or a removal that ended without having been seen.
type Unconfirmed struct {
	Key     store.Key
	UID     types.UID
	Version string // empty for a removal
	Since   time.Time
}

// maxUnknown bounds the removals of objects that were never seen. Beyond it the oldest
// end.
const maxUnknown = 256

// Len returns the number of keys.
func (o *Overlay[T]) Len() int {
	if o == nil {
		return 0
	}
	return len(o.entries)
}

// find returns the index at which a key's entry is or belongs, and whether it exists.
func (o *Overlay[T]) find(key store.Key) (int, bool) {
	if o == nil {
		return 0, false
	}
	return slices.BinarySearchFunc(o.entries, key, func(e *entry[T], k store.Key) int { return e.key.Compare(k) })
}

// at returns a key's entry, or nil.
func (o *Overlay[T]) at(key store.Key) *entry[T] {
	if i, ok := o.find(key); ok {
		return o.entries[i]
	}
	return nil
}

// Has reports whether there is an entry of a key.
func (o *Overlay[T]) Has(key store.Key) bool { return o.at(key) != nil }

// Scope returns the ID of the scope of a key, if there is an entry of it.
func (o *Overlay[T]) Scope(key store.Key) (id string, ok bool) {
	if e := o.at(key); e != nil {
		return e.scope, true
	}
	return "", false
}

// Resolve returns what a read shows under a key if the store, with the key's scope at
// version at, holds held.
func (o *Overlay[T]) Resolve(r *Rules[T], key store.Key, at string, held T, ok bool) (obj T, shown bool) {
	e := o.at(key)
	if e == nil {
		return held, ok
	}
	obj, shown, _ = e.resolve(r, at, held, ok)
	return obj, shown
}

// with returns o with e as the entry of its key.
func (o *Overlay[T]) with(e *entry[T]) *Overlay[T] {
	i, found := o.find(e.key)
	var had []*entry[T]
	if o != nil {
		had = o.entries
	}
	next := make([]*entry[T], 0, len(had)+1)
	next = append(append(next, had[:i]...), e)
	if found {
		i++
	}
	return &Overlay[T]{entries: append(next, had[i:]...)}
}

// of returns the overlay with the given entries, nil if there are none.
func of[T any](entries []*entry[T]) *Overlay[T] {
	if len(entries) == 0 {
		return nil
	}
	return &Overlay[T]{entries: entries}
}

// Wrote returns o with a write added. held is the store's object under the write's key,
// with the write's scope at version at. Wrote returns o itself if the write is late:
// the store has reached its version, or a later write or removal of the object is known.
func (o *Overlay[T]) Wrote(r *Rules[T], w Write[T], at string, held T, ok bool) *Overlay[T] {
	if reached(at, w.Version) || r.asNew(held, ok, w.Version) {
		return o
	}
	next := &entry[T]{key: w.Key, scope: w.Scope, versions: []string{w.Version}}
	e := o.at(w.Key)
	if e == nil && w.Absent && !ok {
		return o // no read has shown it
	}
	if e != nil {
		if i := e.removed(w.UID); i >= 0 && w.UID != "" {
			return o.bounded(e, i, &w)
		}
		if s := e.written; s != nil && (s.version == w.Version || before(w.Version, s.version)) {
			return o
		}
		for _, m := range e.removals {
			switch {
			case m.uid == w.UID && reached(m.bound, w.Version), before(w.Version, m.bound):
				return o
			case m.bound == "" || !before(m.bound, w.Version):
				next.removals = append(next.removals, m)
			}
		}
		next.versions = withVersion(e.versions, w.Version)
	}
	next.written = &written[T]{
		obj: w.Object, absent: w.Absent, uid: w.UID, version: w.Version, since: w.Time,
		values: w.Values, generation: w.Generation,
	}
	return o.with(next)
}

// bounded returns o after a late write of an object that was removed. The object
// existed at the version of the write, and an earlier write is not the latest then.
func (o *Overlay[T]) bounded(e *entry[T], removal int, late *Write[T]) *Overlay[T] {
	if bound := e.removals[removal].bound; bound != "" && !before(bound, late.Version) {
		return o
	}
	next := *e
	next.removals = slices.Clone(e.removals)
	next.removals[removal].bound, next.removals[removal].seen = late.Version, !late.Absent
	switch w := e.written; {
	case w == nil:
	case before(w.version, late.Version):
		next.written = nil
	case before(late.Version, w.version):
		next.removals = slices.Delete(next.removals, removal, removal+1)
	}
	return o.with(&next)
}

// Removed returns o with a removal added. held is the store's object under the removal's
// key, with its scope at version at. A removal without a UID removes the object that a
// read shows; if there is none, the error is ErrUnknown. gone reports whether the store
// has recently seen the delete of an object. Removed returns o itself if the removal is
// late.
func (o *Overlay[T]) Removed(r *Rules[T], m Removal, at string, held T, ok bool, gone func(types.UID) bool) (*Overlay[T], error) {
	e := o.at(m.Key)
	obj, shown := held, ok
	if e != nil {
		obj, shown, _ = e.resolve(r, at, held, ok)
	}
	switch {
	case shown && (m.UID == "" || r.UID(obj) == ""):
		m.UID = r.UID(obj)
	case m.UID == "":
		return o, ErrUnknown
	}
	next := &entry[T]{key: m.Key, scope: m.Scope}
	add := removal{uid: m.UID, since: m.Time}
	if e != nil {
		if e.removed(m.UID) >= 0 && (m.UID != "" || e.written == nil) {
			return o, nil
		}
		next.written, next.versions = e.written, e.versions
	}
	switch w := next.written; {
	case w != nil && w.uid == m.UID:
		add.bound, add.seen, next.written = w.version, !w.absent, nil
	case ok && r.UID(held) == m.UID:
		if w != nil {
			return o, nil // another object was written since
		}
		add.bound, add.seen = at, true
	case gone(m.UID):
		return o, nil
	}
	if e != nil {
		for _, old := range e.removals {
			if old.bound == "" || !before(old.bound, add.bound) {
				next.removals = append(next.removals, old)
			}
		}
	}
	next.removals = append(next.removals, add)
	if add.seen {
		return o.with(next), nil
	}
	return o.with(next).withoutSurplus(), nil
}

// withoutSurplus returns o without the oldest removal of an object that was never seen
// if there are more than maxUnknown.
func (o *Overlay[T]) withoutSurplus() *Overlay[T] {
	n, oldest := 0, -1
	for i, e := range o.entries {
		if e.written == nil && len(e.removals) == 1 && !e.removals[0].seen {
			n++
			if oldest < 0 || e.removals[0].since.Before(o.entries[oldest].removals[0].since) {
				oldest = i
			}
		}
	}
	if n <= maxUnknown {
		return o
	}
	return of(slices.Delete(slices.Clone(o.entries), oldest, oldest+1))
}

// Pin returns o with the entry of a key pinned: a version of the object arrived that
// could not be stored.
func (o *Overlay[T]) Pin(key store.Key) *Overlay[T] {
	e := o.at(key)
	if e == nil || e.written == nil || e.written.pinned {
		return o
	}
	next, w := *e, *e.written
	w.pinned = true
	next.written = &w
	return o.with(&next)
}

// since calls yield with the time of each write and removal of an entry.
func (e *entry[T]) since(yield func(time.Time)) {
	if e.written != nil {
		yield(e.written.since)
	}
	for _, m := range e.removals {
		yield(m.since)
	}
}

// Oldest returns the time of the oldest write or removal; zero if there is none.
func (o *Overlay[T]) Oldest() (oldest time.Time) {
	if o == nil {
		return oldest
	}
	for _, e := range o.entries {
		e.since(func(t time.Time) {
			if oldest.IsZero() || t.Before(oldest) {
				oldest = t
			}
		})
	}
	return oldest
}
