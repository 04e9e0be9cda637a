package deliver

import "github.com/kinglet-go/kinglet/store"

// unknownKeys are keys that changes treat as known although the handler has not
// received their objects: a write that went around the hub removed them from the
// store before the handler began.
type unknownKeys map[store.Key]struct{}

// unknownTo returns the removed keys that are unknown to a handler that begins with
// the snapshot.
func unknownTo[T any](snapshot store.Reader[T], removed []store.Key) unknownKeys {
	var s unknownKeys
	for _, key := range removed {
		if _, held := snapshot.Get(key); held {
			continue
		}
		if s == nil {
			s = unknownKeys{}
		}
		s[key] = struct{}{}
	}
	return s
}

// asReceived returns the change that a handler receives for c. The delete of an
// unknown key becomes nil, its next state an Added.
func asReceived[T any](s unknownKeys, c *store.Change[T]) *store.Change[T] {
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
