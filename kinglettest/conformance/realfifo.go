package conformance

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	kc "k8s.io/client-go/tools/cache"
)

// realFIFOTests are the part of the row "deltas" about the queue that folds nothing.
func realFIFOTests() []test {
	return []test{
		{sentence: "RealFIFO hands out every change by itself, in order", run: realOrder},
		{sentence: "RealFIFO deletes what vanished before it hands out a replace", run: realReplace},
		{sentence: "RealFIFO resyncs known objects with nothing queued", run: realResync},
		{sentence: "RealFIFO batches changes of different keys", run: realBatch},
		{sentence: "RealFIFO ends a batch with the initial list", run: realBatchInitial},
		{sentence: "RealFIFO with atomic events hands out a replace and a resync whole", run: realAtomic},
		{sentence: "RealFIFO transforms once, before it queues", run: realTransform},
		{sentence: "RealFIFO has synced when its first replace has been processed", run: realSynced},
		{sentence: "RealFIFO waits for something, or for the end", run: realWaits},
		{sentence: "RealFIFO refuses options that contradict each other", run: realOptions},
		{sentence: "RealFIFO takes writes while it is processed, where asked to", run: realUnlocked},
		{sentence: "RealFIFO gives a KeyError for what has no key", run: realKeyErrors},
	}
}

func realOrder(t *testing.T, im Implementation) {
	q := im.NewRealFIFO(keyOfKeyed, known(t, im), nil)
	must(t, q.Add(keyed{"a", 1}))
	must(t, q.Add(keyed{"b", 2}))
	must(t, q.Update(keyed{"a", 3}))
	must(t, q.Delete(keyed{"a", 4}))
	must(t, q.Delete(keyed{"a", 5}))
	must(t, q.Add(keyed{"a", 6}))
	same(t, "popped", left(t, q), "Added {a 1}", "Added {b 2}", "Updated {a 3}", "Deleted {a 4}", "Deleted {a 5}", "Added {a 6}")
}

func realReplace(t *testing.T, im Implementation) {
	q := im.NewRealFIFO(keyOfKeyed, known(t, im, keyed{"known", 1}, keyed{"stays", 2}, keyed{"deleted", 3}), nil)
	must(t, q.Add(keyed{"queued", 4}))
	must(t, q.Update(keyed{"queued", 5}))
	must(t, q.Delete(keyed{"deleted", 6}))
	must(t, q.Replace([]any{keyed{"stays", 7}, keyed{"new", 8}}, "1"))
	same(t, "popped", left(t, q),
		"Added {queued 4}", "Updated {queued 5}", "Deleted {deleted 6}",
		"Deleted {queued 5} of queued unknown", "Deleted {known 1} of known unknown",
		"Replaced {stays 7}", "Replaced {new 8}")

	q = im.NewRealFIFO(keyOfKeyed, lossy{}, nil)
	must(t, q.Replace(nil, "1"))
	same(t, "popped after failed look-ups", sorted(left(t, q)),
		"Deleted <nil> of failing unknown", "Deleted <nil> of vanished unknown")
}

func realResync(t *testing.T, im Implementation) {
	q := im.NewRealFIFO(keyOfKeyed, known(t, im, keyed{"a", 1}, keyed{"b", 2}), nil)
	must(t, q.Update(keyed{"b", 3}))
	must(t, q.Resync())
	must(t, q.Resync())
	same(t, "popped", left(t, q), "Updated {b 3}", "Sync {a 1}")
}

// popBatches closes a queue, pops the rest in batches, and describes them: batches in
// brackets, single items without.
func popBatches(t *testing.T, q kc.QueueWithBatch) []string {
	t.Helper()
	q.Close()
	var list []string
	for {
		err := q.PopBatch(func(deltas []kc.Delta, initial bool) error {
			var words []string
			for _, d := range deltas {
				words = append(words, sayDelta(d))
			}
			list = append(list, "["+strings.Join(words, ", ")+"]"+flagged(initial))
			return nil
		}, func(obj any, initial bool) error {
			list = append(list, say(obj)+flagged(initial))
			return nil
		})
		if errors.Is(err, kc.ErrFIFOClosed) {
			return list
		}
		must(t, err)
	}
}

func flagged(initial bool) string {
	if initial {
		return " initial"
	}
	return ""
}

func realBatch(t *testing.T, im Implementation) {
	q := im.NewRealFIFO(keyOfKeyed, known(t, im), nil)
	for i, key := range []string{"a", "b", "c", "b", "b", "d"} {
		must(t, q.Add(keyed{key, i}))
	}
	must(t, q.Delete(keyed{"e", 6}))
	same(t, "popped", popBatches(t, q),
		"[Added {a 0}, Added {b 1}, Added {c 2}]", "Added {b 3}", "[Added {b 4}, Added {d 5}, Deleted {e 6}]")

	q = im.NewRealFIFO(keyOfKeyed, known(t, im), nil)
	must(t, q.Add(keyed{"a", 1}))
	err := q.PopBatch(func([]kc.Delta, bool) error { return nil }, func(any, bool) error { return errBad })
	if err != errBad {
		t.Errorf("PopBatch of what fails: %v", err)
	}
	same(t, "what is left of it", left(t, q))
}

func realBatchInitial(t *testing.T, im Implementation) {
	q := im.NewRealFIFO(keyOfKeyed, known(t, im), nil)
	must(t, q.Replace([]any{keyed{"a", 1}, keyed{"b", 2}}, "1"))
	must(t, q.Add(keyed{"c", 3}))
	must(t, q.Add(keyed{"d", 4}))
	same(t, "popped", popBatches(t, q), "[Replaced {a 1}, Replaced {b 2}] initial", "[Added {c 3}, Added {d 4}]")
	equal(t, "synced", q.HasSynced(), true)
}

func realAtomic(t *testing.T, im Implementation) {
	q := im.NewRealFIFOWithOptions(kc.RealFIFOOptions{KeyFunction: keyOfKeyed, AtomicEvents: true, EmitDeltaTypeBookmark: true})
	must(t, q.Replace([]any{keyed{"a", 1}, keyed{"b", 2}}, "7"))
	must(t, q.Add(keyed{"c", 3}))
	must(t, q.Add(keyed{"d", 4}))
	must(t, q.Bookmark("9"))
	must(t, q.Resync())
	must(t, q.Replace(nil, "11"))
	same(t, "popped", popBatches(t, q),
		"ReplacedAll [{a 1} {b 2}] at 7 initial", "[Added {c 3}, Added {d 4}]", "Bookmark at 9", "SyncAll", "ReplacedAll [] at 11")

	quiet := im.NewRealFIFOWithOptions(kc.RealFIFOOptions{KeyFunction: keyOfKeyed, AtomicEvents: true})
	must(t, quiet.Bookmark("9"))
	same(t, "bookmarks that nobody asked for", left(t, quiet))
}

func realTransform(t *testing.T, im Implementation) {
	transform := func(obj any) (any, error) {
		k := obj.(keyed)
		if k.value == 13 {
			return nil, errBad
		}
		k.value *= 10
		return k, nil
	}
	q := im.NewRealFIFO(keyOfKeyed, known(t, im, keyed{"known", 1}), transform)
	if q.Transformer() == nil {
		t.Error("the transformer is not to be had")
	}
	must(t, q.Resync())
	must(t, q.Add(keyed{"a", 1}))
	if err := q.Update(keyed{"a", 13}); !errors.Is(err, errBad) {
		t.Errorf("Update of what cannot be transformed: %v", err)
	}
	must(t, q.Replace([]any{keyed{"a", 2}}, "1"))
	same(t, "popped", left(t, q), "Sync {known 1}", "Added {a 10}", "Deleted {known 1} of known unknown", "Replaced {a 20}")

	atomic := im.NewRealFIFOWithOptions(kc.RealFIFOOptions{KeyFunction: keyOfKeyed, Transformer: transform, AtomicEvents: true})
	must(t, atomic.Replace([]any{keyed{"a", 3}}, "1"))
	same(t, "popped of atomic events", left(t, atomic), "ReplacedAll [{a 30}] at 1")
}

func realSynced(t *testing.T, im Implementation) {
	q := im.NewRealFIFO(keyOfKeyed, known(t, im), nil)
	equal(t, "synced at first", q.HasSynced(), false)
	must(t, q.Replace([]any{keyed{"a", 1}, keyed{"b", 2}}, "1"))
	popOne(t, q)
	equal(t, "synced before all is popped", q.HasSynced(), false)
	popOne(t, q)
	equal(t, "synced", q.HasSynced(), true)
	equal(t, "done", isDone(q.HasSyncedChecker()), true)

	empty := im.NewRealFIFO(keyOfKeyed, known(t, im), nil)
	must(t, empty.Replace(nil, "1"))
	equal(t, "synced by an empty Replace", empty.HasSynced(), true)

	other := im.NewRealFIFO(keyOfKeyed, known(t, im), nil)
	must(t, other.Add(keyed{"a", 1}))
	equal(t, "synced by Add", other.HasSynced(), true)

	named := im.NewRealFIFOWithOptions(kc.RealFIFOOptions{Name: "my queue", KeyFunction: keyOfKeyed, KnownObjects: known(t, im)})
	equal(t, "name", named.HasSyncedChecker().Name(), "my queue")
}

func realWaits(t *testing.T, im Implementation) {
	q := im.NewRealFIFO(keyOfKeyed, known(t, im), nil)
	done := popping(q)
	equal(t, "Pop of an empty queue", outcome(done), "waits")
	must(t, q.Add(keyed{"a", 1}))
	equal(t, "Pop after Add", outcome(done), "[{Added {a 1}}], <nil>")
	batch := make(chan string, 1)
	go func() {
		batch <- fmt.Sprint(q.PopBatch(func([]kc.Delta, bool) error { return nil }, func(any, bool) error { return nil }))
	}()
	equal(t, "PopBatch of an empty queue", outcome(batch), "waits")
	q.Close()
	equal(t, "PopBatch at Close", outcome(batch), kc.ErrFIFOClosed.Error())
	equal(t, "closed", q.IsClosed(), true)
}

func realOptions(t *testing.T, im Implementation) {
	for what, options := range map[string]kc.RealFIFOOptions{
		"known objects with atomic events":       {KnownObjects: known(t, im), AtomicEvents: true},
		"neither known objects nor atomic":       {},
		"unlocked processing that is not atomic": {KnownObjects: known(t, im), UnlockWhileProcessing: true},
		"bookmarks that are not atomic":          {KnownObjects: known(t, im), EmitDeltaTypeBookmark: true},
	} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%s: taken", what)
				}
			}()
			im.NewRealFIFOWithOptions(options)
		}()
	}
}

func realUnlocked(t *testing.T, im Implementation) {
	q := im.NewRealFIFOWithOptions(kc.RealFIFOOptions{KeyFunction: keyOfKeyed, AtomicEvents: true, UnlockWhileProcessing: true})
	must(t, q.Add(keyed{"a", 1}))
	_, err := q.Pop(func(any, bool) error { return q.Add(keyed{"a", 2}) })
	must(t, err)
	same(t, "what is left", left(t, q), "Added {a 2}")
}

func realKeyErrors(t *testing.T, im Implementation) {
	q := im.NewRealFIFO(keyOfKeyed, known(t, im), nil)
	for what, err := range map[string]error{
		"Add": q.Add(keyed{"bad", 1}), "Update": q.Update(keyed{"bad", 1}), "Delete": q.Delete(keyed{"bad", 1}),
		"Replace": q.Replace([]any{keyed{"bad", 1}}, "1"),
	} {
		var keyErr kc.KeyError
		if !errors.As(err, &keyErr) || !errors.Is(err, errBad) {
			t.Errorf("%s: %v", what, err)
		}
	}
	same(t, "what is left", left(t, q))
}
