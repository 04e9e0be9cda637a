package conformance

import (
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"testing/synctest"

	kc "k8s.io/client-go/tools/cache"
)

func queueRow() row {
	readable := func(im Implementation) bool { return im.NewReadableFIFO != nil }
	requeue := func(im Implementation) bool { return im.NewReadableFIFO != nil && im.Requeue != nil }
	return row{
		id:    "queue",
		needs: []string{"NewFIFO"},
		tests: []test{
			{sentence: "a key has one entry, first in first out, and its newest object wins", run: queueOrder},
			{sentence: "random operations hand out what a list of keys would", run: queueEqualsList},
			{sentence: "what is deleted is not handed out", run: queueDelete},
			{sentence: "pop waits for something, or for the end", run: queueWaits},
			{sentence: "what waits at the end is still handed out", run: queueDrainsAfterClose},
			{sentence: "pop hands on the item and the error of the process function", run: queueProcessError},
			{sentence: "it has synced when the first replace is popped", run: queueSyncedByReplace},
			{sentence: "it has synced at once when another write came first", run: queueSyncedByWrite},
			{sentence: "the first batch is the initial list", run: queueInitialList},
			{sentence: "replace leaves nothing of what waited", run: queueReplace},
			{sentence: "a key error is a KeyError and queues nothing", run: queueKeyErrors},
			{sentence: "resync queues nothing twice", run: queueResync},
			{sentence: "many may write and pop at the same time", run: queueConcurrent, real: true},
			{sentence: "what waits can be read, until it is popped", run: queueReads, only: readable},
			{sentence: "AddIfNotPresent leaves what is there", run: queueAddIfNotPresent, only: readable},
			{sentence: "ErrRequeue puts the item back and hands on its inner error", run: queueRequeue, only: requeue},
			{sentence: "ErrRequeue does not put an item over a newer one", run: queueRequeueNewer, only: requeue},
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

func queueOrder(t *testing.T, im Implementation) {
	q := im.NewFIFO(keyOfKeyed)
	must(t, q.Add(keyed{"a", 1}))
	must(t, q.Add(keyed{"b", 2}))
	must(t, q.Update(keyed{"c", 3}))
	must(t, q.Update(keyed{"a", 4}))
	must(t, q.Add(keyed{"b", 5}))
	for _, want := range []keyed{{"a", 4}, {"b", 5}, {"c", 3}} {
		equal(t, "popped", popOne(t, q), any(want))
	}
	must(t, q.Add(keyed{"a", 6}))
	must(t, q.Add(keyed{"d", 7}))
	same(t, "the rest", drained(t, q), any(keyed{"a", 6}), any(keyed{"d", 7}))
}

func queueEqualsList(t *testing.T, im Implementation) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	r := rand.New(rand.NewPCG(seed, 4))
	q := im.NewFIFO(keyOfKeyed)
	var order []string
	newest := map[string]keyed{}
	for step := range 3000 {
		k := keyed{fmt.Sprint("k", r.IntN(10)), step}
		switch n := r.IntN(10); {
		case n < 6:
			write := q.Add
			if n < 3 {
				write = q.Update
			}
			must(t, write(k))
			if _, ok := newest[k.key]; !ok {
				order = append(order, k.key)
			}
			newest[k.key] = k
		case len(order) > 0:
			if got, want := popOne(t, q), any(newest[order[0]]); got != want {
				t.Fatalf("step %d: popped %v, want %v", step, got, want)
			}
			delete(newest, order[0])
			order = order[1:]
		}
	}
	var want []any
	for _, key := range order {
		want = append(want, newest[key])
	}
	same(t, "the rest", drained(t, q), want...)
}

func queueDelete(t *testing.T, im Implementation) {
	q := im.NewFIFO(keyOfKeyed)
	must(t, q.Delete(keyed{"never there", 0}))
	must(t, q.Add(keyed{"a", 1}))
	must(t, q.Add(keyed{"b", 2}))
	must(t, q.Delete(keyed{"a", 3}))
	must(t, q.Delete(keyed{"a", 3}))
	same(t, "what is left", drained(t, q), any(keyed{"b", 2}))
}

// popping starts a Pop and returns a channel for its result.
func popping(q kc.Queue) <-chan string {
	done := make(chan string, 1)
	go func() {
		item, err := q.Pop(func(any, bool) error { return nil })
		done <- fmt.Sprint(item, ", ", err)
	}()
	return done
}

func outcome(done <-chan string) string {
	synctest.Wait()
	select {
	case s := <-done:
		return s
	default:
		return "waits"
	}
}

func queueWaits(t *testing.T, im Implementation) {
	q := im.NewFIFO(keyOfKeyed)
	done := popping(q)
	equal(t, "Pop of an empty queue", outcome(done), "waits")
	must(t, q.Add(keyed{"a", 1}))
	equal(t, "Pop after Add", outcome(done), "{a 1}, <nil>")

	done = popping(q)
	equal(t, "Pop of an empty queue", outcome(done), "waits")
	must(t, q.Replace([]any{keyed{"b", 2}}, "1"))
	equal(t, "Pop after Replace", outcome(done), "{b 2}, <nil>")

	first, second := popping(q), popping(q)
	equal(t, "Pop of an empty queue", outcome(first)+", "+outcome(second), "waits, waits")
	equal(t, "closed", q.IsClosed(), false)
	q.Close()
	closed := "<nil>, " + kc.ErrFIFOClosed.Error()
	equal(t, "Pop at Close", outcome(first), closed)
	equal(t, "the other Pop at Close", outcome(second), closed)
	equal(t, "closed", q.IsClosed(), true)
	q.Close()
	if _, err := q.Pop(func(any, bool) error { return nil }); err != kc.ErrFIFOClosed {
		t.Errorf("Pop of a closed queue: %v", err)
	}
}

func queueDrainsAfterClose(t *testing.T, im Implementation) {
	q := im.NewFIFO(keyOfKeyed)
	must(t, q.Add(keyed{"a", 1}))
	must(t, q.Add(keyed{"b", 2}))
	same(t, "popped after Close", drained(t, q), any(keyed{"a", 1}), any(keyed{"b", 2}))
}

func queueProcessError(t *testing.T, im Implementation) {
	q := im.NewFIFO(keyOfKeyed)
	must(t, q.Add(keyed{"a", 1}))
	item, err := q.Pop(func(any, bool) error { return errBad })
	if item != any(keyed{"a", 1}) || err != errBad {
		t.Errorf("Pop of what fails: %v, %v", item, err)
	}
	same(t, "what is left of what failed", drained(t, q))
}

func queueSyncedByReplace(t *testing.T, im Implementation) {
	q := im.NewFIFO(keyOfKeyed)
	equal(t, "synced at first", q.HasSynced(), false)
	must(t, q.Replace([]any{keyed{"a", 1}, keyed{"b", 2}}, "1"))
	must(t, q.Add(keyed{"later", 3}))
	checker := q.HasSyncedChecker()
	if checker.Name() == "" {
		t.Error("the checker has no name")
	}
	for range 2 {
		equal(t, "synced before the batch is popped", q.HasSynced(), false)
		equal(t, "done before the batch is popped", isDone(checker), false)
		popOne(t, q)
	}
	equal(t, "synced", q.HasSynced(), true)
	equal(t, "done", isDone(checker), true)
	must(t, q.Replace([]any{keyed{"c", 1}}, "2"))
	equal(t, "synced after another Replace", q.HasSynced(), true)

	empty := im.NewFIFO(keyOfKeyed)
	must(t, empty.Replace(nil, "1"))
	equal(t, "synced by an empty Replace", empty.HasSynced(), true)
	equal(t, "done by an empty Replace", isDone(empty.HasSyncedChecker()), true)
}

func isDone(c kc.DoneChecker) bool {
	select {
	case <-c.Done():
		return true
	default:
		return false
	}
}

func queueSyncedByWrite(t *testing.T, im Implementation) {
	for what, write := range map[string]func(kc.Queue) error{
		"Add":    func(q kc.Queue) error { return q.Add(keyed{"a", 1}) },
		"Update": func(q kc.Queue) error { return q.Update(keyed{"a", 1}) },
		"Delete": func(q kc.Queue) error { return q.Delete(keyed{"a", 1}) },
	} {
		q := im.NewFIFO(keyOfKeyed)
		must(t, write(q))
		equal(t, "synced after "+what, q.HasSynced(), true)
		must(t, q.Replace([]any{keyed{"b", 1}}, "1"))
		equal(t, "synced after a Replace that follows "+what, q.HasSynced(), true)
	}
}

func queueInitialList(t *testing.T, im Implementation) {
	q := im.NewFIFO(keyOfKeyed)
	must(t, q.Replace([]any{keyed{"a", 1}, keyed{"b", 2}}, "1"))
	var flags []bool
	pop := func() {
		_, err := q.Pop(func(_ any, initial bool) error { flags = append(flags, initial); return nil })
		must(t, err)
	}
	pop()
	pop()
	must(t, q.Add(keyed{"c", 3}))
	pop()
	same(t, "initial", flags, true, true, false)
}

func queueReplace(t *testing.T, im Implementation) {
	q := im.NewFIFO(keyOfKeyed)
	must(t, q.Add(keyed{"gone", 1}))
	must(t, q.Add(keyed{"a", 2}))
	must(t, q.Replace([]any{keyed{"a", 3}, keyed{"b", 4}, keyed{"a", 5}}, "1"))
	same(t, "what is left", names(drained(t, q)), "{a 5}", "{b 4}")
}

func queueKeyErrors(t *testing.T, im Implementation) {
	q := im.NewFIFO(keyOfKeyed)
	must(t, q.Add(keyed{"a", 1}))
	for what, err := range map[string]error{
		"Add": q.Add(keyed{"bad", 1}), "Update": q.Update(keyed{"bad", 1}), "Delete": q.Delete(keyed{"bad", 1}),
		"Replace": q.Replace([]any{keyed{"b", 1}, keyed{"bad", 1}}, "1"),
	} {
		var keyErr kc.KeyError
		if !errors.As(err, &keyErr) || !errors.Is(err, errBad) {
			t.Errorf("%s: %v", what, err)
		}
	}
	same(t, "what is left", drained(t, q), any(keyed{"a", 1}))
}

func queueResync(t *testing.T, im Implementation) {
	q := im.NewFIFO(keyOfKeyed)
	must(t, q.Add(keyed{"a", 1}))
	must(t, q.Add(keyed{"b", 2}))
	must(t, q.Resync())
	same(t, "what is left", drained(t, q), any(keyed{"a", 1}), any(keyed{"b", 2}))
}

func queueConcurrent(t *testing.T, im Implementation) {
	q := im.NewFIFO(keyOfKeyed)
	var mu sync.Mutex
	last := map[string]int{}
	var poppers, writers sync.WaitGroup
	for range 3 {
		poppers.Go(func() {
			for {
				_, err := q.Pop(func(obj any, _ bool) error {
					mu.Lock()
					defer mu.Unlock()
					k := obj.(keyed)
					last[k.key] = max(last[k.key], k.value)
					return nil
				})
				if err == kc.ErrFIFOClosed {
					return
				}
				if err != nil {
					t.Error(err)
				}
			}
		})
	}
	for w := range 3 {
		writers.Go(func() {
			for i := range 500 {
				if err := q.Add(keyed{fmt.Sprint(w, "/", i%10), i}); err != nil {
					t.Error(err)
				}
				_ = q.HasSynced()
			}
		})
	}
	writers.Wait()
	q.Close()
	poppers.Wait()
	equal(t, "keys", len(last), 30)
	for _, key := range slices.Sorted(maps.Keys(last)) {
		if last[key] < 490 {
			t.Errorf("the newest object of %s was %d when it was popped last", key, last[key])
		}
	}
}
