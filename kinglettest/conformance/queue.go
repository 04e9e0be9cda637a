package conformance

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	kc "k8s.io/client-go/tools/cache"

	"github.com/kinglet-go/kinglet/internal/tests/testbubble"
)

// olderRow is about what queues and controllers of older versions of client-go do. What
// those of today do, client-go's own tests say, which `make peers-cache` runs over package
// cache.
func olderRow() row {
	readable := func(im Implementation) bool { return im.NewReadableFIFO != nil }
	requeue := func(im Implementation) bool { return im.NewReadableFIFO != nil && im.Requeue != nil }
	retries := func(im Implementation) bool { return im.Requeue != nil && im.NewReadableDeltaFIFO != nil }
	return row{
		ID:    "older queues",
		Needs: []string{"NewController", "NewStore"},
		Tests: []test{
			{Sentence: "a queue can be read, until the item is popped", Run: queueReads, Only: readable},
			{Sentence: "AddIfNotPresent leaves what is there", Run: queueAddIfNotPresent, Only: readable},
			{Sentence: "ErrRequeue puts the item back and returns its inner error", Run: queueRequeue, Only: requeue},
			{Sentence: "ErrRequeue does not put an item over a newer one", Run: queueRequeueNewer, Only: requeue},
			{Sentence: "a controller with RetryOnError processes again what failed", Run: controllerRetries, Only: retries},
		},
	}
}

// popOne pops from a queue that has an item or is closed. It does not wait forever.
func popOne(t *testing.T, q kc.Queue) any {
	t.Helper()
	var processed any
	item, err := q.Pop(func(obj any, _ bool) error { processed = obj; return nil })
	must(t, err)
	if fmt.Sprint(item) != fmt.Sprint(processed) {
		t.Errorf("Pop returns %v and processes %v", item, processed)
	}
	return item
}

// drained closes a queue and pops the rest.
func drained(t *testing.T, q kc.Queue) []any {
	t.Helper()
	q.Close()
	var list []any
	for {
		_, err := q.Pop(func(obj any, _ bool) error { list = append(list, obj); return nil })
		if err == kc.ErrFIFOClosed {
			return list
		}
		must(t, err)
	}
}

// say describes deltas: "Added {a 1}, Deleted {a 2} unknown".
func say(obj any) string {
	var words []string
	for _, d := range obj.(kc.Deltas) {
		words = append(words, sayDelta(d))
	}
	return strings.Join(words, ", ")
}

func sayDelta(d kc.Delta) string {
	switch o := d.Object.(type) {
	case kc.DeletedFinalStateUnknown:
		return fmt.Sprintf("%s %v of %s unknown", d.Type, o.Obj, o.Key)
	case kc.ReplacedAllInfo:
		return fmt.Sprintf("%s %v at %s", d.Type, o.Objects, o.ResourceVersion)
	case kc.BookmarkInfo:
		return fmt.Sprintf("%s at %s", d.Type, o.ResourceVersion)
	case kc.SyncAllInfo:
		return string(d.Type)
	default:
		return fmt.Sprintf("%s %v", d.Type, o)
	}
}

// left closes a queue of deltas and describes what was in it.
func left(t *testing.T, q kc.Queue) []string {
	t.Helper()
	var list []string
	for _, item := range drained(t, q) {
		list = append(list, say(item))
	}
	return list
}

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

func controllerRetries(t *testing.T, im Implementation) {
	o := newOrigin()
	var log logbook
	failures := 3
	store := im.NewStore(im.DeletionHandlingMetaNamespaceKeyFunc)
	c := im.NewController(ControllerConfig{
		Queue:         im.NewReadableDeltaFIFO(kc.DeltaFIFOOptions{KnownObjects: store, EmitDeltaTypeReplaced: true}),
		ListerWatcher: o, ObjectType: &corev1.Pod{}, RetryOnError: true,
		Process: func(obj any, _ bool) error {
			log.write(describe(obj.(kc.Deltas).Newest().Object))
			if failures > 0 {
				failures--
				return errBad
			}
			return nil
		},
	})
	running(t, c.RunWithContext)
	o.put(pod("ns", "a"))
	testbubble.Elapse(time.Minute)
	log.told(t, slices.Repeat([]string{"ns/a@101"}, 4)...)
}
