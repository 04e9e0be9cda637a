package sink

import (
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kinglet-go/kinglet/internal/errtype"
	"github.com/kinglet-go/kinglet/reflector/resourceversion"
	"github.com/kinglet-go/kinglet/source"
	"github.com/kinglet-go/kinglet/store"
)

// Events and items that change nothing: those that cannot be stored, and those of an
// object other than the held one. The functions in this file run under the hub's lock,
// except entering.

// entering looks at an item before the hub's lock is taken. One whose object has another key,
// or none, cannot be stored, nor be the last state of what is deleted.
func (s *Sink[T]) entering(it *source.Item[T], deleted bool) {
	if it.Err != nil {
		return
	}
	if err := s.opts.Store.CheckKey(it.Key, it.Object); err != nil {
		var none T
		it.Object, it.Memo = none, nil
		it.Err = &source.ItemError{Stage: source.StageKey, Key: it.Key, ResourceVersion: it.ResourceVersion, Err: err}
		if it.Key == (store.Key{}) {
			s.failures = append(s.failures, it.Err) // the reflector took it for an item with a key
		}
		return
	}
	if !deleted {
		s.opts.Detector.Entering(it.Key, it.Object)
	}
}

// refuse quarantines a version that cannot be stored. The last good one stays,
// unless RemoveUndecodable is set, which adds a delete to ops.
func (s *Sink[T]) refuse(ops []store.Op[T], item *source.Item[T]) []store.Op[T] {
	_, held := s.latest(ops, item.Key)
	s.Quarantine.add(item.Key, item.Err, time.Now(), held && !s.opts.RemoveUndecodable)
	s.pinOwn(item)
	s.failedItem(item)
	if held && s.opts.RemoveUndecodable {
		ops = append(ops, store.Op[T]{Key: item.Key, Delete: true})
	}
	return ops
}

// pinOwn keeps the program's write to an object in reads although the watch passes it,
// since the store will not show it. Like the last good version, it stays unless
// RemoveUndecodable is set.
func (s *Sink[T]) pinOwn(item *source.Item[T]) {
	if !s.opts.RemoveUndecodable {
		s.opts.Own.Pin(item.Key, item.UID)
	}
}

// failedItem records the error of an item, unless its key is unknown: the reflector
// reports such an item, and repairs it with a relist.
func (s *Sink[T]) failedItem(item *source.Item[T]) {
	if item.Key != (store.Key{}) {
		s.failures = append(s.failures, item.Err)
	}
}

// another reports whether an event is known, by UID, to be about an object other than
// the one that is held under its key. Within one watch the delete of an object comes
// before its successor. So the delete of another object has one of two causes. If the
// key is in quarantine, the event deletes a successor of which no version could be
// stored, and the held object is gone as well. Otherwise it deletes a predecessor, whose
// versions are older: the server repeats itself. If it is newer, the held object is gone in
// any case: the server makes UIDs up.
func (s *Sink[T]) another(ops []store.Op[T], ev *source.Event[T]) bool {
	held, ok := s.latest(ops, ev.Key)
	return ok && s.differs(held, ev.UID)
}

// predecessor reports whether what ev deletes, another object than the held one under its
// key, may be older than that.
func (s *Sink[T]) predecessor(ops []store.Op[T], ev *source.Event[T]) bool {
	held, _ := s.latest(ops, ev.Key)
	m, err := meta.Accessor(held)
	if err != nil {
		return true
	}
	order, ok := resourceversion.Compare(ev.ResourceVersion, m.GetResourceVersion())
	return !ok || order <= 0
}

// differs reports whether an object is known to have another UID.
func (s *Sink[T]) differs(obj T, uid types.UID) bool {
	is := s.opts.UID(obj)
	return is != "" && uid != "" && is != uid
}

// latest returns what the store holds under a key once ops are applied.
func (s *Sink[T]) latest(ops []store.Op[T], key store.Key) (obj T, ok bool) {
	for i := len(ops) - 1; i >= 0; i-- {
		if op := &ops[i]; op.Key == key {
			return op.Object, !op.Delete
		}
	}
	return s.opts.Store.Get(key)
}

// otherKind reports whether an object of another kind arrived.
func otherKind(err error) bool {
	if err == nil {
		return false
	}
	_, is := errtype.As[*source.KindError](err)
	return is
}

// refuseOther handles an event with an object of another kind. Such an event, even a
// delete, concerns no held object, so it is reported and changes nothing. The exception
// is an event with the UID of the held object: it is that object in a form that cannot
// be stored, so the last version stays, unless the event is a delete.
func (s *Sink[T]) refuseOther(ops []store.Op[T], ev *source.Event[T]) []store.Op[T] {
	held, ok := s.latest(ops, ev.Key)
	if !ok && ev.Type == source.Deleted {
		held, ok = s.opts.Store.RemovedByHand(ev.Key) // handlers know it
	}
	same := ok && ev.UID != "" && s.opts.UID(held) == ev.UID
	if same && ev.Type != source.Deleted {
		return s.refuse(ops, &ev.Item)
	}
	s.Quarantine.failed(ev.Err)
	s.failures = append(s.failures, ev.Err)
	if same {
		s.Quarantine.clear(ev.Key)
		ops = append(ops, store.Op[T]{Key: ev.Key, Delete: true, ResourceVersion: ev.ResourceVersion})
	}
	return ops
}

// refuseAll quarantines the items of a list that cannot be stored, and returns puts of
// the objects that stay in spite of the list: their last good versions.
func (s *Sink[T]) refuseAll(scope store.Scope, pages [][]source.Item[T]) (kept []store.Op[T]) {
	s.Quarantine.reset(scope)
	unreadable := false
	good := readable(pages)
	for _, page := range pages {
		for i := range page {
			it := &page[i]
			if it.Err == nil {
				continue
			}
			if good[it.Key] {
				// It is about another object than that of the list, or another version.
				s.Quarantine.failed(it.Err)
				s.failures = append(s.failures, it.Err)
				continue
			}
			unreadable = unreadable || it.Key == (store.Key{})
			obj, memo, held := s.opts.Store.Held(it.Key)
			if held && (s.differs(obj, it.UID) || it.UID == "" && otherKind(it.Err)) {
				held = false // another object has its key, so it is gone
			}
			s.Quarantine.add(it.Key, it.Err, time.Now(), held && !s.opts.RemoveUndecodable)
			s.pinOwn(it)
			s.failedItem(it)
			if held && !s.opts.RemoveUndecodable {
				kept = append(kept, store.Op[T]{Key: it.Key, Keyed: true, Object: obj, Memo: memo})
			}
		}
	}
	if unreadable {
		// Any held object may be the one whose key is unknown, and a sweep would
		// deliver the delete of an object that exists. Held objects that the list
		// does not name stay until a list in which all keys are known.
		return s.keepUnnamed(scope, kept, pages)
	}
	s.opts.Own.Unpin(func(key store.Key) bool { return scope.Has(key) && !s.Quarantine.has(key) })
	return kept
}

// readable returns, of the keys of items of a list that cannot be stored, which are also
// those of items that can.
func readable[T any](pages [][]source.Item[T]) map[store.Key]bool {
	keys := map[store.Key]bool{}
	for _, page := range pages {
		for i := range page {
			if it := &page[i]; it.Err != nil && it.Key != (store.Key{}) {
				keys[it.Key] = false
			}
		}
	}
	if len(keys) == 0 {
		return keys
	}
	for _, page := range pages {
		for i := range page {
			if it := &page[i]; it.Err == nil {
				if _, broken := keys[it.Key]; broken {
					keys[it.Key] = true
				}
			}
		}
	}
	return keys
}

// keepUnnamed adds a put of every held object of the scope that no item names.
func (s *Sink[T]) keepUnnamed(scope store.Scope, kept []store.Op[T], pages [][]source.Item[T]) []store.Op[T] {
	named := make(map[store.Key]struct{})
	for _, page := range pages {
		for i := range page {
			named[page[i].Key] = struct{}{}
		}
	}
	for key := range s.opts.Store.Snapshot().SpanKeys(scope.Span) {
		if _, ok := named[key]; ok || !scope.Has(key) {
			continue
		}
		if obj, memo, held := s.opts.Store.Held(key); held {
			kept = append(kept, store.Op[T]{Key: key, Keyed: true, Object: obj, Memo: memo})
		}
	}
	return kept
}
