package own

import (
	"cmp"
	"errors"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/kinglet-go/kinglet/store"
)

// ErrUnknown: a removal has no UID, and no object is known under its key.
var ErrUnknown = errors.New("nothing is known under this key, so a delete needs a UID")

// ErrUnseen: nothing tells which objects under a key are older than a removal.
var ErrUnseen = errors.New("the deleted object was not seen, so a delete needs a version")

// overlay has the writes of a program that the store does not show yet. The nil overlay
// is empty. It never changes.
type overlay[T any] struct {
	// entries are in key order. Invariant: there is at least one.
	entries []*entry[T]
	// mayBeUnsure: reads of some entry may have to wait.
	mayBeUnsure bool
}

// Write is the object in the server's answer to a write.
type Write[T any] struct {
	Key     store.Key
	UID     types.UID
	Version string
	// Object is the zero T if Absent or Unread. Absent: the write left the object outside
	// of the collection. Unread: the answer does not tell what it left there.
	Object         T
	Absent, Unread bool
	// Sent is when the request was sent, zero if that is not known, and Time when its
	// answer was recorded.
	Sent, Time time.Time
	// Made: the write is known to have made Version from From, as one that changed nothing
	// has not.
	Made bool
	From From
	// values are the object's values in each index, as of a generation of indexes.
	values     map[string][]string
	generation uint64
}

// From is what a write changed: nothing, if it created the object, or its version; empty if
// that is not known.
type From struct {
	Created bool
	Version string
}

// Removal is an object that was deleted.
type Removal struct {
	Key store.Key
	UID types.UID
	// Version is one at which the object existed or ceased to; it may be empty. Gone: it is one
	// at which the server was asked and no longer had the object; Live is the UID of the one
	// that it had then, if any. NeedsVersion: ErrUnseen is wanted where nothing else tells.
	Version            string
	Gone, NeedsVersion bool
	Live               types.UID
	// Marked: the object may only have been marked for deletion.
	Marked bool
	// Missed: a list lacks the object, which others may have deleted.
	Missed bool
	// Sent is when the request was sent, zero if that is not known, and Time when its
	// answer was recorded.
	Sent, Time time.Time
}

// Unconfirmed is a write or a removal that the watch has not shown.
type Unconfirmed struct {
	Key     store.Key
	UID     types.UID
	Version string // empty for a removal
	Since   time.Time
}

// maxQuiet bounds the entries of objects that the collection may never have had. Beyond
// it the oldest end.
const maxQuiet = 256

// find returns the index at which a key's entry is or belongs, and whether it exists.
func (o *overlay[T]) find(key store.Key) (int, bool) {
	if o == nil {
		return 0, false
	}
	return slices.BinarySearchFunc(o.entries, key, func(e *entry[T], k store.Key) int { return e.key.Compare(k) })
}

// at returns a key's entry, or nil.
func (o *overlay[T]) at(key store.Key) *entry[T] {
	if i, ok := o.find(key); ok {
		return o.entries[i]
	}
	return nil
}

// with returns o with next as the entry of its key, or without one if that is empty.
func (o *overlay[T]) with(next *entry[T]) *overlay[T] {
	i, found := o.find(next.key)
	var entries []*entry[T]
	if o != nil {
		entries = slices.Clone(o.entries)
	}
	if found {
		entries = slices.Delete(entries, i, i+1)
	}
	if next.orNil() != nil {
		entries = slices.Insert(entries, i, next)
	}
	return overlayOf(entries)
}

// overlayOf returns the overlay with the given entries, nil if there are none.
func overlayOf[T any](entries []*entry[T]) *overlay[T] {
	if len(entries) == 0 {
		return nil
	}
	return &overlay[T]{entries: entries, mayBeUnsure: slices.ContainsFunc(entries, (*entry[T]).mayBeUnsure)}
}

// held is what the store has under a key, whose scope is at version at.
type held[T any] struct {
	scope string
	at    string
	obj   T
	ok    bool
	// whole: objects leave the scope's collection only by being deleted.
	whole bool
}

// entryOf returns a copy of the entry of a key, or a new one.
func (o *overlay[T]) entryOf(key store.Key, scope string) *entry[T] {
	next := &entry[T]{}
	if e := o.at(key); e != nil {
		*next = *e
	}
	next.key, next.scope, next.removals = key, scope, slices.Clone(next.removals)
	return next
}

// wrote returns o with a write added. It returns o itself if the write is late: the
// store has reached its version, or a later write or removal of the object is known.
func (o *overlay[T]) wrote(r *Rules[T], w *Write[T], h held[T]) *overlay[T] {
	next := o.entryOf(w.Key, h.scope)
	if i := next.removed(w.UID); i >= 0 && w.UID != "" && !next.removals[i].marked {
		// A late answer of an object that is gone: it existed at this version.
		raise(&next.removals[i].bound, w.Version)
		next.removals[i].seen = next.removals[i].seen || !w.Absent && !w.Unread
		if other := next.written; other != nil && before(other.version, w.Version) {
			next.written = nil
		}
		return o.with(next)
	}
	changed := false
	isLive := func(m *removal) bool { return m.live != "" && m.live == w.UID }
	for _, m := range next.removals {
		if m.uid != w.UID && !isLive(&m) && m.bound != "" && reached(m.bound, w.Version) {
			return o
		}
	}
	next.removals = slices.DeleteFunc(next.removals, func(m removal) bool {
		// A delete of unknown version that was answered before this request was sent is
		// older, and so is what is before the write. So is any where no UID is known.
		older := isLive(&m) || (m.uid != w.UID && m.bound == "" || m.uid == "" && (!m.marked || w.From.Created)) && !w.Sent.Before(m.since)
		changed = changed || older
		return older
	})
	late := reached(h.at, w.Version) || r.asNew(h.obj, h.ok, w.Version)
	if last := next.written; last != nil {
		late = late || last.version == w.Version || before(w.Version, last.version)
		if last.version == w.Version && last.since.Before(w.Time) {
			// A write that changed nothing, or that answer again: it is as new as this one.
			again := *last
			again.since, next.written, changed = w.Time, &again, true
		}
	}
	if last := next.unread; last != nil && before(w.Version, last.version) && w.Unread {
		late = true
	}
	if late {
		if !changed {
			return o
		}
		return o.with(next)
	}
	if w.Made && !w.Unread { // what no read shows before the watch does is news
		next.made = append(slices.Clip(next.made), made{w.Version, w.UID, w.From})
		next.made = next.made[max(0, len(next.made)-maxMade):]
	}
	if w.Unread {
		next.unread = &unread{uid: w.UID, version: w.Version, since: w.Time}
		return o.with(next)
	}
	if u := next.unread; u != nil && !before(w.Version, u.version) {
		next.unread = nil
	}
	next.written = &written[T]{
		obj: w.Object, absent: w.Absent, uid: w.UID, version: w.Version, since: w.Time,
		quiet: w.Absent && !h.ok && next.written == nil, values: w.values, generation: w.generation,
	}
	return o.with(next).withoutSurplus()
}

// removed returns o with a removal added. A removal without a UID removes the object
// that a read shows; if there is none, the error is ErrUnknown. gone returns the version
// at which the store recently saw the removed object leave. removed returns o itself if the
// removal is late, or the store, a write or another removal has the object that came after.
func (o *overlay[T]) removed(r *Rules[T], m *Removal, h held[T], gone func(m *Removal, uid types.UID, held bool) (string, bool)) (*overlay[T], error) {
	next := o.entryOf(m.Key, h.scope)
	now := next.resolve(r, h.at, h.obj, h.ok)
	uid := m.UID
	switch {
	case uid != "":
	case !now.shown:
		return o, ErrUnknown
	case now.merged:
		uid = next.written.uid
	default:
		uid = r.UID(h.obj)
	}
	if m.Live != "" && (h.ok && r.UID(h.obj) == m.Live || next.written != nil && next.written.uid == m.Live || next.removed(m.Live) >= 0) {
		return o, nil
	}
	add := removal{uid: uid, bound: m.Version, marked: m.Marked, missed: m.Missed, since: m.Time}
	if add.gone = m.Gone && comparableWith(h.at, m.Version); add.gone {
		add.live = m.Live
	} else if m.Gone {
		add.bound = ""
	}
	if i := next.removed(uid); i >= 0 && (uid != "" || next.written == nil) {
		was := next.removals[i]
		if was.marked == m.Marked || !was.marked {
			return o, nil
		}
		raise(&add.bound, was.bound)
		add.seen = was.seen
		next.removals = slices.Delete(next.removals, i, i+1)
	}
	w := next.written
	version, left := gone(m, uid, h.ok)
	is, guess := h.ok && r.UID(h.obj) == uid, h.ok && r.UID(h.obj) == "" && uid != ""
	if guess {
		// It is taken for it, unless the program has written to another one meanwhile.
		is = !left && w == nil && next.unread == nil && len(next.removals) == 0 && (!add.gone || r.is(h.obj, &add))
	}
	switch {
	case w != nil && w.uid == uid:
		raise(&add.bound, w.version)
		add.seen = !w.absent
		if !m.Marked {
			next.written = nil
		}
	case is:
		raise(&add.bound, h.at)
		add.seen = true
	case left && h.whole:
		return o, nil
	case left:
		raise(&add.bound, version)
	}
	if u := next.unread; u != nil && u.uid == uid {
		raise(&add.bound, u.version)
		next.unread = nil
	}
	if m.NeedsVersion && (add.bound == "" || is && guess) {
		return o, ErrUnseen
	}
	if w != nil && w.uid != uid {
		// Of two objects under one key, one is gone before the other begins.
		older := !m.Sent.Before(w.since)
		if add.bound != "" {
			older = !before(add.bound, w.version)
		}
		if older {
			next.written = nil
		}
	}
	if add.bound != "" {
		next.removals = slices.DeleteFunc(next.removals, func(old removal) bool {
			if old.bound == "" {
				return !m.Sent.Before(old.since)
			}
			return before(old.bound, add.bound)
		})
	}
	next.removals = append(next.removals, add)
	return o.with(next).withoutSurplus(), nil
}

// withoutSurplus returns o without the oldest quiet entry if there are too many.
func (o *overlay[T]) withoutSurplus() *overlay[T] {
	n, oldest := 0, -1
	if len(o.entries) <= maxQuiet {
		return o
	}
	for i, e := range o.entries {
		if e.quiet() {
			if n++; oldest < 0 || e.oldest().Before(o.entries[oldest].oldest()) {
				oldest = i
			}
		}
	}
	if n <= maxQuiet {
		return o
	}
	return overlayOf(slices.Delete(slices.Clone(o.entries), oldest, oldest+1))
}

// pin returns o with the entry of a key pinned: a version of the object arrived that
// could not be stored.
func (o *overlay[T]) pin(key store.Key) *overlay[T] {
	e := o.at(key)
	if e == nil || e.written == nil || e.written.pinned {
		return o
	}
	next, w := *e, *e.written
	w.pinned = true
	next.written = &w
	return o.with(&next)
}

// pinned returns the pinned ones among keys.
func (o *overlay[T]) pinned(among func(store.Key) bool) (keys []store.Key) {
	if o == nil {
		return nil
	}
	for _, e := range o.entries {
		if e.written != nil && e.written.pinned && among(e.key) {
			keys = append(keys, e.key)
		}
	}
	return keys
}

// unpin returns o without the pins of keys.
func (o *overlay[T]) unpin(keys []store.Key) *overlay[T] {
	for _, key := range keys {
		if e := o.at(key); e != nil && e.written != nil {
			next, w := *e, *e.written
			w.pinned = false
			next.written = &w
			o = o.with(&next)
		}
	}
	return o
}

// len returns the number of keys with something pending.
func (o *overlay[T]) len() (n int) {
	if o == nil {
		return 0
	}
	for _, e := range o.entries {
		if e.pending() > 0 {
			n++
		}
	}
	return n
}

// oldest returns the time of the oldest part; zero if there is none.
func (o *overlay[T]) oldest() (oldest time.Time) {
	if o == nil {
		return oldest
	}
	for _, e := range o.entries {
		if t := e.oldest(); oldest.IsZero() || t.Before(oldest) {
			oldest = t
		}
	}
	return oldest
}

// pass returns what remains of o once the store shows version at of a scope, and how
// many writes and removals this has confirmed. get reads the store. changes are those
// of the step, all in the scope; pass marks those that consist only of the program's
// writes as OwnEcho.
func (o *overlay[T]) pass(r *Rules[T], scope string, whole bool, at string, get func(store.Key) (T, bool), changes []store.Change[T]) (*overlay[T], int) {
	if o == nil {
		return nil, 0
	}
	// touched are the changes of each entry's key.
	touched := make([][]*store.Change[T], len(o.entries))
	for i := range changes {
		c := &changes[i]
		if n, ok := o.find(c.Key); ok {
			c.OwnEcho = o.entries[n].isOwn(r, c, whole)
			touched[n] = append(touched[n], c)
		}
	}
	confirmed, same := 0, true
	left := make([]*entry[T], 0, len(o.entries))
	for n, e := range o.entries {
		if e.scope == scope {
			obj, ok := get(e.key)
			next, seen := e.passed(r, held[T]{scope, at, obj, ok, whole}, touched[n])
			same = same && next == e
			confirmed += seen
			if e = next; e == nil {
				continue
			}
		}
		left = append(left, e)
	}
	if same {
		return o, 0
	}
	return overlayOf(left), confirmed
}

// passed returns what remains of an entry once the store holds h, after the given
// changes of the key, and how many writes and removals this has confirmed.
func (e *entry[T]) passed(r *Rules[T], h held[T], changes []*store.Change[T]) (_ *entry[T], confirmed int) {
	next := *e
	if w := e.written; w != nil && w.ended(r, h, changes) {
		next.written = nil
		confirmed++
	}
	if u := e.unread; u != nil && (reached(h.at, u.version) || r.asNew(h.obj, h.ok, u.version)) {
		next.unread = nil
		confirmed++
	}
	next.removals = nil
	same := true
	rest := changes
	for _, m := range e.removals {
		was := m
		ended := passRemoval(&m, r, h, rest)
		rest = r.following(rest, ended)
		if (ended || m.done) && !m.counted {
			m.counted = true
			confirmed++
		}
		if !ended {
			next.removals = append(next.removals, m)
		}
		same = same && !ended && m == was
	}
	next.made = slices.DeleteFunc(slices.Clone(e.made), func(m made) bool { return reached(h.at, m.version) })
	if same && next.written == e.written && next.unread == e.unread && len(next.made) == len(e.made) {
		return e, confirmed
	}
	return next.orNil(), confirmed
}

// ended reports whether a write has been seen.
func (w *written[T]) ended(r *Rules[T], h held[T], changes []*store.Change[T]) bool {
	switch {
	case w.confirmed(r, h.at, h.obj, h.ok):
		return true
	case !comparableWith(h.at, w.version):
		return len(changes) > 0
	}
	// A pinned write waits for something newer that can be stored.
	return w.pinned && slices.ContainsFunc(changes, func(c *store.Change[T]) bool { return reached(c.ResourceVersion, w.version) })
}

// passRemoval updates a removal once the store holds h, after the given changes of the key, and
// reports whether it has ended.
func passRemoval[T any](m *removal, r *Rules[T], h held[T], changes []*store.Change[T]) (ended bool) {
	if before(h.at, m.bound) {
		return false // the object left the collection, and enters it again
	}
	if m.gone {
		return true
	}
	is, left := r.stays(m, h, changes)
	switch {
	case is:
		raise(&m.bound, h.at)
		m.seen, m.done = true, false
		return m.marked && r.Deleting(h.obj)
	case !left && !reached(h.at, m.bound):
		return false // nothing is known of it yet
	case m.uid == "":
		return !h.ok || len(changes) > 0
	case h.ok, h.whole:
		return true
	}
	raise(&m.bound, h.at)
	m.done = true
	return false
}

// stays reports whether the held object is the one that was removed, after the given changes of
// the key, and whether they show that one to have left.
func (r *Rules[T]) stays(m *removal, h held[T], changes []*store.Change[T]) (is, left bool) {
	was := h.obj // before the changes
	if len(changes) > 0 && changes[0].Type != store.Added {
		was = changes[0].Old
	}
	known := h.ok && r.UID(h.obj) == m.uid && m.uid != ""
	is = known || h.ok && r.UID(h.obj) == "" && r.is(was, m)
	for _, c := range changes {
		// What is not updated live may be another object.
		another := c.Type != store.Updated || c.Reason != store.Live
		is = is && (known || !another || reached(m.bound, cmp.Or(r.Version(h.obj), c.ResourceVersion)))
		left = left || r.leaves(m, c)
	}
	return is, left
}

// leaves reports whether a change of the key shows the removed object to leave.
func (r *Rules[T]) leaves(m *removal, c *store.Change[T]) bool {
	switch {
	case c.Type == store.Added:
		return false
	case r.UID(c.Old) != "":
		return r.UID(c.Old) == m.uid
	case before(c.ResourceVersion, m.bound):
		return false // the removed one was there later
	case c.Type == store.Deleted && m.bound == "":
		return true // it was not seen before
	}
	return (c.Type == store.Deleted || c.Reason != store.Live) && r.is(c.Old, m)
}

// following returns those of a key's changes that concern the removals after one that they have
// ended or not: without UIDs, those until the first object is gone are of the first removal.
func (r *Rules[T]) following(changes []*store.Change[T], ended bool) []*store.Change[T] {
	for i, c := range changes {
		switch {
		case c.Type != store.Added && r.UID(c.Old) != "", c.Type != store.Deleted && r.UID(c.New) != "":
			return changes
		case ended && c.Type == store.Deleted:
			return changes[i+1:]
		}
	}
	return nil
}

// expire returns o without what is of cutoff or before, and a list of it. What the
// collection may never have had is not listed.
func (o *overlay[T]) expire(cutoff time.Time) (*overlay[T], []Unconfirmed) {
	return o.without(func(_ *entry[T], since time.Time) bool { return !since.After(cutoff) })
}

// leave returns o without what is in a scope, and a list of it as expire does. What is
// under keys that move to another scope is kept in that scope.
func (o *overlay[T]) leave(scope string, to func(store.Key) (id string, ok bool)) (*overlay[T], []Unconfirmed) {
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
	return overlayOf(entries), ended
}

// without returns o without the parts for which ends returns true, and a list of them.
func (o *overlay[T]) without(ends func(e *entry[T], since time.Time) bool) (*overlay[T], []Unconfirmed) {
	if o == nil {
		return nil, nil
	}
	var ended []Unconfirmed
	var left []*entry[T]
	for _, e := range o.entries {
		for u, loud := range e.each() {
			if loud && ends(e, u.Since) {
				ended = append(ended, u)
			}
		}
		if next := e.without(func(since time.Time) bool { return ends(e, since) }); next != nil {
			left = append(left, next)
		}
	}
	return overlayOf(left), ended
}
