package sink

import "github.com/kinglet-go/kinglet/store"

// legal turns changes of the store into a legal history: an object that replaced
// another one under the same key is a delete, then an add.
func (s *Sink[T]) legal(changes []store.Change[T]) []store.Change[T] {
	replaced := 0
	for i := range changes {
		c := &changes[i]
		switch {
		case c.Type == store.Deleted && c.Reason == store.Relist:
			c.FinalStateUnknown = true
		case s.replaces(c):
			replaced++
		}
	}
	if replaced > 0 {
		changes = s.split(changes, replaced)
	}
	return changes
}

// replaces reports whether c is an object that replaced another one. An object
// without a UID, such as one that was written to the store directly, cannot be
// distinguished from its successor.
func (s *Sink[T]) replaces(c *store.Change[T]) bool {
	return c.Type == store.Updated && s.differs(c.Old, s.opts.UID(c.New))
}

// split turns each change that replaces an object into two.
func (s *Sink[T]) split(changes []store.Change[T], replaced int) []store.Change[T] {
	out := make([]store.Change[T], 0, len(changes)+replaced)
	for _, c := range changes {
		if !s.replaces(&c) {
			out = append(out, c)
			continue
		}
		gone, added := c, c
		gone.Type, gone.Last, added.Type = store.Deleted, c.Old, store.Added
		gone.FinalStateUnknown = true // the delete itself was never seen
		var none T
		gone.New, added.Old = none, none
		out = append(out, gone, added)
	}
	return out
}
