package deliver

import "github.com/kinglet-go/kinglet/store"

// form is what a record amounts to when it is delivered.
type form uint8

const (
	// nothing: the handler has not received the key and need not.
	nothing form = iota
	added
	updated
	deleted
	// replaced: a Deleted, then an Added.
	replaced
)

// record holds the pending changes of one key (with EveryVersion, a single change of
// it). A Deleted is never followed by an Updated, so old serves both.
type record[T any] struct {
	key store.Key
	// old is the first state not yet overtaken: the Old of an Updated, the
	// final state of a Deleted. Zero for added.
	old T
	// cur is the newest state. Zero for deleted.
	cur T
	// last is the Last of a Deleted. Zero for added and updated.
	last T
	// before is the collection's version before the first change folded in.
	before string
	// version is that of the newest Added or Updated folded in.
	version string
	// gone is that of the Deleted.
	gone string

	form form
	// reason is that of the Added or Updated.
	reason store.Reason
	// goneReason is that of the Deleted.
	goneReason store.Reason
	// unknown is FinalStateUnknown of the Deleted.
	unknown bool
	// own is OwnEcho of the Added or Updated, goneOwn that of the Deleted. Each is
	// set only if OwnEcho is set for every change that was folded in.
	own, goneOwn bool
	// foreign is set if a change that came to nothing had no OwnEcho.
	foreign bool
}

// fold adds the next change, by the table in the package's documentation.
func (r *record[T]) fold(c *store.Change[T]) {
	switch c.Type {
	case store.Added:
		r.foldAdded(c)
	case store.Updated:
		r.foldUpdated(c)
	case store.Deleted:
		r.foldDeleted(c)
	}
}

func (r *record[T]) foldAdded(c *store.Change[T]) {
	switch r.form {
	case nothing:
		r.form, r.reason, r.own = added, c.Reason, !r.foreign
	case deleted:
		r.form, r.reason, r.own = replaced, c.Reason, true
	}
	r.cur, r.version, r.own = c.New, c.ResourceVersion, r.own && c.OwnEcho
}

func (r *record[T]) foldUpdated(c *store.Change[T]) {
	switch r.form {
	case nothing:
		r.form, r.old, r.reason, r.own = updated, c.Old, c.Reason, true
	case updated:
		r.reason = c.Reason
	case deleted:
		r.form, r.reason, r.own = replaced, c.Reason, true
	}
	r.cur, r.version, r.own = c.New, c.ResourceVersion, r.own && c.OwnEcho
}

func (r *record[T]) foldDeleted(c *store.Change[T]) {
	var zero T
	switch r.form {
	case nothing:
		r.last, r.goneOwn = c.Last, c.OwnEcho
		r.setDeleted(c)
	case updated:
		r.last, r.goneOwn = r.old, r.own && c.OwnEcho
		r.setDeleted(c)
	case added:
		r.form, r.foreign = nothing, r.foreign || !(r.own && c.OwnEcho)
	case deleted:
		r.goneOwn = r.goneOwn && c.OwnEcho
		if r.unknown && !c.FinalStateUnknown {
			r.setDeleted(c)
		}
	case replaced:
		// Foreign versions count, although they are not delivered.
		r.goneOwn = r.goneOwn && r.own && c.OwnEcho
		r.form = deleted
	}
	r.cur, r.version, r.own = zero, "", false
}

func (r *record[T]) setDeleted(c *store.Change[T]) {
	r.form, r.old, r.unknown = deleted, c.Old, c.FinalStateUnknown
	r.gone, r.goneReason = c.ResourceVersion, c.Reason
}

// foldsUpdate reports whether c is an Updated that can fold into r without losing an
// Added or a Deleted.
func (r *record[T]) foldsUpdate(c *store.Change[T]) bool {
	return c.Type == store.Updated && (r.form == added || r.form == updated)
}

// changes returns how many changes r amounts to.
func (r *record[T]) changes() int {
	switch r.form {
	case nothing:
		return 0
	case replaced:
		return 2
	}
	return 1
}

// appendTo appends the one or two changes that r amounts to.
func (r *record[T]) appendTo(dst []store.Change[T]) []store.Change[T] {
	if r.form == deleted || r.form == replaced {
		dst = append(dst, store.Change[T]{
			Type: store.Deleted, Key: r.key, Old: r.old, Last: r.last,
			ResourceVersion: r.gone, Reason: r.goneReason, FinalStateUnknown: r.unknown, OwnEcho: r.goneOwn,
		})
	}
	switch r.form {
	case added, replaced:
		dst = append(dst, store.Change[T]{
			Type: store.Added, Key: r.key, New: r.cur,
			ResourceVersion: r.version, Reason: r.reason, OwnEcho: r.own,
		})
	case updated:
		dst = append(dst, store.Change[T]{
			Type: store.Updated, Key: r.key, Old: r.old, New: r.cur,
			ResourceVersion: r.version, Reason: r.reason, OwnEcho: r.own,
		})
	}
	return dst
}
