package conformance

import (
	"errors"
	"fmt"
	"testing"

	kc "k8s.io/client-go/tools/cache"
)

func queueReads(t *testing.T, im Implementation) {
	q := im.NewReadableFIFO(keyOfKeyed)
	must(t, q.Add(keyed{"a", 1}))
	must(t, q.Add(keyed{"b", 2}))
	must(t, q.Add(keyed{"a", 3}))
	same(t, "List", names(q.List()), "{a 3}", "{b 2}")
	same(t, "ListKeys", sorted(q.ListKeys()), "a", "b")
	item, exists, err := q.Get(keyed{"a", 9})
	equal(t, "Get", fmt.Sprint(item, exists, err), "{a 3} true <nil>")
	item, exists, err = q.GetByKey("b")
	equal(t, "GetByKey", fmt.Sprint(item, exists, err), "{b 2} true <nil>")
	item, exists, err = q.GetByKey("c")
	equal(t, "GetByKey of an absent key", fmt.Sprint(item, exists, err), "<nil> false <nil>")
	var keyErr kc.KeyError
	if _, _, err := q.Get(keyed{"bad", 1}); !errors.As(err, &keyErr) {
		t.Errorf("Get of a bad object: %v", err)
	}
	popOne(t, q)
	same(t, "ListKeys after Pop", q.ListKeys(), "b")
	must(t, q.Delete(keyed{"b", 1}))
	same(t, "List after Delete", q.List())
}

func queueAddIfNotPresent(t *testing.T, im Implementation) {
	q := im.NewReadableFIFO(keyOfKeyed)
	must(t, q.AddIfNotPresent(keyed{"a", 1}))
	equal(t, "synced", q.HasSynced(), true)
	must(t, q.AddIfNotPresent(keyed{"a", 2}))
	must(t, q.Add(keyed{"b", 3}))
	must(t, q.AddIfNotPresent(keyed{"b", 4}))
	var keyErr kc.KeyError
	if err := q.AddIfNotPresent(keyed{"bad", 1}); !errors.As(err, &keyErr) {
		t.Errorf("a bad object: %v", err)
	}
	same(t, "what is left", drained(t, q), any(keyed{"a", 1}), any(keyed{"b", 3}))
}

func queueRequeue(t *testing.T, im Implementation) {
	q := im.NewReadableFIFO(keyOfKeyed)
	must(t, q.Add(keyed{"a", 1}))
	must(t, q.Add(keyed{"b", 2}))
	item, err := q.Pop(func(any, bool) error { return im.Requeue(errBad) })
	if item != any(keyed{"a", 1}) || err != errBad {
		t.Errorf("Pop of what is queued again: %v, %v", item, err)
	}
	if _, err := q.Pop(func(any, bool) error { return im.Requeue(nil) }); err != nil {
		t.Errorf("Pop of what is queued again without error: %v", err)
	}
	same(t, "what is left", drained(t, q), any(keyed{"a", 1}), any(keyed{"b", 2}))
}

func queueRequeueNewer(t *testing.T, im Implementation) {
	q := im.NewReadableFIFO(keyOfKeyed)
	must(t, q.Add(keyed{"a", 1}))
	inside, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		<-inside
		// If process functions run under the lock, this waits until the item is back.
		// It is the newer one in either case.
		if err := q.Add(keyed{"a", 2}); err != nil {
			t.Error(err)
		}
	}()
	_, err := q.Pop(func(any, bool) error { close(inside); return im.Requeue(errBad) })
	if err != errBad {
		t.Errorf("Pop: %v", err)
	}
	<-done
	same(t, "what is left", drained(t, q), any(keyed{"a", 2}))
}
