package deliver

import "github.com/kinglet-go/kinglet/store"

// exceptions are keys of which a handler knows something else than the other handlers
// do, since a write that went around the hub put or removed their objects before the
// handler began: whether it has received the object.
type exceptions map[store.Key]bool

// exceptionsOf returns the exceptions of a handler that begins with the snapshot.
// byHand is what store.ByHand returned since.
func exceptionsOf[T any](snapshot store.Reader[T], byHand map[store.Key]bool) exceptions {
	var e exceptions
	for key, others := range byHand {
		if _, received := snapshot.Get(key); received != others {
			if e == nil {
				e = exceptions{}
			}
			e[key] = received
		}
	}
	return e
}

// asReceived returns the change that a handler receives for c; nil if it is the delete
// of an object that the handler has not received.
func asReceived[T any](e exceptions, c *store.Change[T]) *store.Change[T] {
	others := c.Type != store.Added && !c.ByHand
	received, is := e[c.Key]
	if is {
		delete(e, c.Key)
	} else {
		received = others
	}
	own := *c
	own.ByHand = false
	switch {
	case received && c.Type == store.Added:
		own.Type, own.Old = store.Updated, c.New
	case !received && c.Type == store.Deleted:
		return nil
	case !received && c.Type == store.Updated:
		var none T
		own.Type, own.Old = store.Added, none
	case !c.ByHand:
		return c
	}
	return &own
}
