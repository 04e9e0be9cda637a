package kinglet

import (
	"errors"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/kinglet-go/kinglet/internal/mutant"
	"github.com/kinglet-go/kinglet/source"
	"github.com/kinglet-go/kinglet/store"
)

// What the mirror does with events and items that change nothing: those that
// cannot be taken in, and those that are about another object.

// refuse quarantines a version that cannot be taken in. The last good one
// stays, unless the user wants it removed, which adds to ops.
func (m *mirror[T]) refuse(ops []store.Op[T], item *source.Item[T]) []store.Op[T] {
	_, held := m.store.Get(item.Key)
	if mutant.On(mutant.DropUndecodable) {
		return ops
	}
	m.quarantine.add(item.Key, item.Err, time.Now(), held && !m.remove)
	m.pinOwn(item.Key)
	m.failedItem(item)
	if held && m.remove {
		ops = append(ops, store.Op[T]{Key: item.Key, Delete: true})
	}
	return ops
}

// pinOwn has reads include what the program wrote under a key although the watch
// passes it, since the store will not show it. It stays as the last good version
// does, unless the user wants such objects removed.
func (m *mirror[T]) pinOwn(key store.Key) {
	if !m.remove {
		m.own.pin(key)
	}
}

// failedItem notes what is wrong with an item, unless nobody can say which
// object it is: that the reflector reports, and heals.
func (m *mirror[T]) failedItem(item *source.Item[T]) {
	if item.Key != (store.Key{}) {
		m.failures = append(m.failures, item.Err)
	}
}

// another reports whether an event is about another object than the one that is
// held under its key, as far as their UIDs tell. Within one watch the delete of
// an object comes before its successor. So a delete of another object is one of
// two things: if the key is in quarantine, of the successor, of which no version
// could be taken in, and then what is held is gone as well; else news of a
// predecessor, from a server that repeats itself.
func (m *mirror[T]) another(ops []store.Op[T], ev *source.Event[T]) bool {
	held, ok := m.latest(ops, ev.Key)
	return ok && m.differs(held, ev.UID)
}

// differs reports whether an object is known to be another than that of a UID.
func (m *mirror[T]) differs(obj T, uid types.UID) bool {
	is := m.uid(obj)
	return is != "" && uid != "" && is != uid
}

// latest is what the store has under a key once ops are applied.
func (m *mirror[T]) latest(ops []store.Op[T], key store.Key) (obj T, ok bool) {
	for i := len(ops) - 1; i >= 0; i-- {
		if op := &ops[i]; op.Key == key {
			return op.Object, !op.Delete
		}
	}
	return m.store.Get(key)
}

// otherKind is whether an object of another kind came where one was due.
func otherKind(err error) bool {
	if err == nil {
		return false
	}
	_, is := errors.AsType[*source.KindError](err)
	return is
}

// refuseOther handles an event with an object of another kind. It concerns
// nothing that is held, a delete no less than the others, so it is reported and
// changes nothing. If its UID is that of the object held, it is that object, in a
// form that cannot be taken in: it stays as it was last, unless it was deleted.
func (m *mirror[T]) refuseOther(ops []store.Op[T], ev *source.Event[T]) []store.Op[T] {
	held, ok := m.latest(ops, ev.Key)
	itself := ok && ev.UID != "" && m.uid(held) == ev.UID
	if itself && ev.Type != source.Deleted {
		return m.refuse(ops, &ev.Item)
	}
	m.quarantine.failed()
	m.failures = append(m.failures, ev.Err)
	if itself {
		m.quarantine.clear(ev.Key)
		ops = append(ops, store.Op[T]{Key: ev.Key, Delete: true, ResourceVersion: ev.ResourceVersion})
	}
	return ops
}

// refuseAll quarantines those items of a list that cannot be taken in, and
// returns what is to stay in spite of the list: their last good versions.
func (m *mirror[T]) refuseAll(scope store.Scope, pages [][]source.Item[T]) (kept []store.Op[T]) {
	m.quarantine.reset(scope)
	unreadable := false
	var good map[store.Key]struct{} // made if something of another kind came
	for _, page := range pages {
		for i := range page {
			it := &page[i]
			if it.Err == nil {
				continue
			}
			if it.Key != (store.Key{}) && otherKind(it.Err) {
				if good == nil {
					good = readable(pages)
				}
				if _, there := good[it.Key]; there {
					// It is about another object than that of the list.
					m.quarantine.failed()
					m.failures = append(m.failures, it.Err)
					continue
				}
			}
			unreadable = unreadable || it.Key == (store.Key{})
			obj, memo, held := m.store.Held(it.Key)
			if held && otherKind(it.Err) && m.differs(obj, it.UID) {
				held = false
			}
			m.quarantine.add(it.Key, it.Err, time.Now(), held && !m.remove)
			m.pinOwn(it.Key)
			m.failedItem(it)
			if held && !m.remove {
				kept = append(kept, store.Op[T]{Key: it.Key, Object: obj, Memo: memo})
			}
		}
	}
	if unreadable {
		// One of the objects held may be the one that could not be told: to
		// sweep would send a delete for something alive. Those that the list
		// does not name stay until a relist that can be read.
		kept = m.keepUnnamed(scope, kept, pages)
	}
	return kept
}

// readable are the keys of those items of a list that can be taken in.
func readable[T any](pages [][]source.Item[T]) map[store.Key]struct{} {
	keys := map[store.Key]struct{}{}
	for _, page := range pages {
		for i := range page {
			if page[i].Err == nil {
				keys[page[i].Key] = struct{}{}
			}
		}
	}
	return keys
}

// keepUnnamed adds a put of every object of the scope that no item names.
func (m *mirror[T]) keepUnnamed(scope store.Scope, kept []store.Op[T], pages [][]source.Item[T]) []store.Op[T] {
	named := make(map[store.Key]struct{})
	for _, page := range pages {
		for i := range page {
			named[page[i].Key] = struct{}{}
		}
	}
	for key := range m.store.Keys() {
		if _, ok := named[key]; ok || !scope.Has(key) {
			continue
		}
		if obj, memo, held := m.store.Held(key); held {
			kept = append(kept, store.Op[T]{Key: key, Object: obj, Memo: memo})
		}
	}
	return kept
}
