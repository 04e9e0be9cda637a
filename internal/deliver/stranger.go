package deliver

import "github.com/kinglet-go/kinglet/store"

// strangers are the keys that a handler does not know although changes speak of
// them as known: their objects were removed from the store by a write that nobody
// was told of, before the handler began.
type strangers map[store.Key]struct{}

// strangersTo returns those that a handler which begins with the snapshot does
// not know, among the keys that were removed so.
func strangersTo[T any](snapshot store.Reader[T], removed []store.Key) strangers {
	var s strangers
	for _, key := range removed {
		if _, held := snapshot.Get(key); held {
			continue
		}
		if s == nil {
			s = strangers{}
		}
		s[key] = struct{}{}
	}
	return s
}

// introduce returns the changes that a handler gets for a change: of the delete of a
// stranger nothing, which is nil, and of its next state that it was added.
func introduce[T any](s strangers, c *store.Change[T]) *store.Change[T] {
	if _, is := s[c.Key]; !is {
		return c
	}
	delete(s, c.Key)
	switch c.Type {
	case store.Deleted:
		return nil
	case store.Updated:
		first := *c
		var none T
		first.Type, first.Old = store.Added, none
		return &first
	}
	return c
}
