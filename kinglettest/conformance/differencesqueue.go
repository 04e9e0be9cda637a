package conformance

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	kc "k8s.io/client-go/tools/cache"
)

// storeDifferences are those of stores.
func storeDifferences() []Difference {
	return []Difference{
		{
			ID:           "index-function-fails",
			Situation:    "an index function gives an error",
			Reference:    "the write panics",
			Right:        "the object is stored, absent from that index, and the error is reported",
			Outcome:      indexFunctionFails,
			WeakOutcome:  "panics",
			RightOutcome: "stored, in the other index, not in that one, reported true",
		},
		{
			ID:           "live-indexers",
			Situation:    "somebody writes into what GetIndexers returned",
			Reference:    "it is the live map, without its lock",
			Right:        "it is a copy",
			Outcome:      liveIndexers,
			WeakOutcome:  "the store has the indexer",
			RightOutcome: "the store does not have the indexer",
		},
		{
			ID:           "reads-wait",
			Situation:    "a store is read while a write is at work",
			Reference:    "the read waits for the write",
			Right:        "reads wait for no index function",
			Outcome:      readsWait,
			WeakOutcome:  "waits",
			RightOutcome: "does not wait",
			Real:         true,
		},
		{
			ID:           "mutation-forgotten",
			Situation:    "what was added to a MutationCache with IncludeAdds is read by key",
			Reference:    "it is forgotten with the first read",
			Right:        "it stays for its time",
			Outcome:      mutationForgotten,
			WeakOutcome:  "reads: true, false",
			RightOutcome: "reads: true, true",
		},
	}
}

// queueDifferences are those of queues.
func queueDifferences() []Difference {
	return []Difference{
		{
			ID:           "requeue",
			Situation:    "a process function cannot process an item now",
			Reference:    "ErrRequeue and AddIfNotPresent are gone: the item is lost",
			Right:        "ErrRequeue puts it back",
			Outcome:      requeueGone,
			WeakOutcome:  "lost",
			RightOutcome: "popped again",
		},
		{
			ID:           "fifo-keeps-place",
			Situation:    "a key is deleted from a FIFO and added again",
			Reference:    "it has its old place, and the queue grows with every Add and Delete",
			Right:        "it goes to the end",
			Outcome:      fifoKeepsPlace,
			WeakOutcome:  "a, b",
			RightOutcome: "b, a",
		},
		{
			ID:           "fifo-never-synced",
			Situation:    "what is left of a FIFO's first batch is deleted",
			Reference:    "it has not synced until something else is popped",
			Right:        "it has synced",
			Outcome:      fifoNeverSynced,
			WeakOutcome:  "synced false",
			RightOutcome: "synced true",
		},
		{
			ID:           "deltas-synced-early",
			Situation:    "the last deltas of the first batch are being processed",
			Reference:    "a DeltaFIFO says that it has synced",
			Right:        "it says so when they have been",
			Outcome:      deltasSyncedEarly,
			WeakOutcome:  "synced before the end",
			RightOutcome: "synced at the end",
		},
		{
			ID:           "deltas-half-replaced",
			Situation:    "a DeltaFIFO's Replace fails in the middle",
			Reference:    "what came before is queued",
			Right:        "all or nothing",
			Outcome:      deltasHalfReplaced,
			WeakOutcome:  "queued [[{Sync {a 1}}]]",
			RightOutcome: "queued []",
		},
		{
			ID:           "deltas-failed-first",
			Situation:    "the first write to a DeltaFIFO has a key error",
			Reference:    "it counts as the first write, so that the queue has synced",
			Right:        "it changes nothing",
			Outcome:      deltasFailedFirst,
			WeakOutcome:  "synced true",
			RightOutcome: "synced false",
		},
	}
}

func indexFunctionFails(t *testing.T, im Implementation) (outcome string) {
	defer func() {
		if recover() != nil {
			outcome = "panics"
		}
	}()
	s := im.NewIndexer(keyOfKeyed, kc.Indexers{
		"failing": func(any) ([]string, error) { return nil, errBad },
		"value":   valueOfKeyed,
	})
	reports.drain()
	must(t, s.Add(keyed{"a", 1}))
	must(t, s.Update(keyed{"a", 2}))
	if len(s.List()) != 1 {
		return "not stored"
	}
	outcome = "stored"
	if list, err := s.ByIndex("value", "2"); err == nil && len(list) == 1 {
		outcome += ", in the other index"
	}
	if len(s.ListIndexFuncValues("failing")) == 0 {
		outcome += ", not in that one"
	}
	outcome += fmt.Sprint(", reported ", len(reports.drain()) > 0)
	must(t, s.Delete(keyed{"a", 3}))
	return outcome
}

func liveIndexers(t *testing.T, im Implementation) string {
	s := im.NewIndexer(keyOfKeyed, kc.Indexers{"value": valueOfKeyed})
	s.GetIndexers()["smuggled"] = valueOfKeyed
	if _, ok := s.GetIndexers()["smuggled"]; ok {
		return "the store has the indexer"
	}
	if _, err := s.ByIndex("smuggled", "1"); err == nil {
		return "the store answers for the indexer"
	}
	return "the store does not have the indexer"
}

// readsWait blocks an Add, and an AddIndexers, in an index function.
func readsWait(t *testing.T, im Implementation) string {
	waits := map[bool]string{true: "waits", false: "does not wait"}
	add := waits[readWaits(t, im, func(s kc.Indexer, slow kc.Indexers) error {
		must(t, s.AddIndexers(slow))
		return s.Add(keyed{"b", 2})
	})]
	index := waits[readWaits(t, im, func(s kc.Indexer, slow kc.Indexers) error {
		must(t, s.Add(keyed{"b", 2}))
		return s.AddIndexers(slow)
	})]
	if add != index {
		return add + " for Add, " + index + " for AddIndexers"
	}
	return add
}

// readWaits reports whether reads wait for a write that is blocked in an index function:
// whether they have not returned after a tenth of a second.
func readWaits(t *testing.T, im Implementation, write func(s kc.Indexer, slow kc.Indexers) error) bool {
	inside, release := make(chan struct{}), make(chan struct{})
	s := im.NewIndexer(keyOfKeyed, kc.Indexers{"fast": func(any) ([]string, error) { return []string{"x"}, nil }})
	slow := kc.Indexers{"slow": func(obj any) ([]string, error) {
		if obj.(keyed).value == 2 {
			select {
			case inside <- struct{}{}:
			case <-release:
			}
			<-release
		}
		return []string{"x"}, nil
	}}
	must(t, s.Add(keyed{"a", 1}))
	written, read := make(chan error, 1), make(chan struct{})
	go func() { written <- write(s, slow) }()
	<-inside
	go func() {
		defer close(read)
		_, _, _ = s.GetByKey("a")
		_ = s.List()
		_, _ = s.ByIndex("fast", "x")
		_, _ = s.IndexKeys("fast", "x")
		_, _ = s.Index("fast", keyed{"a", 1})
		_ = s.ListIndexFuncValues("fast")
		_ = s.GetIndexers()
	}()
	waits := false
	timeout := time.NewTimer(100 * time.Millisecond)
	defer timeout.Stop()
	select {
	case <-read:
		close(release)
	case <-timeout.C:
		waits = true
		close(release)
		<-read
	}
	must(t, <-written)
	return waits
}

func mutationForgotten(t *testing.T, im Implementation) string {
	store := im.NewIndexer(im.MetaNamespaceKeyFunc, podIndexers())
	m := im.NewMutationCache(store, kc.MutationCacheOptions{Indexer: store, IncludeAdds: true})
	m.Mutation(pod("ns", "a", at("1")))
	_, first, err := m.GetByKey("ns/a")
	must(t, err)
	_, again, err := m.GetByKey("ns/a")
	must(t, err)
	return fmt.Sprintf("reads: %v, %v", first, again)
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

func requeueGone(t *testing.T, im Implementation) string {
	q := im.NewFIFO(keyOfKeyed)
	must(t, q.Add(keyed{"a", 1}))
	_, err := q.Pop(func(any, bool) error {
		if im.Requeue == nil {
			return errBad
		}
		return im.Requeue(errBad)
	})
	if !errors.Is(err, errBad) {
		t.Errorf("Pop: %v", err)
	}
	if len(drained(t, q)) == 0 {
		return "lost"
	}
	return "popped again"
}

func fifoKeepsPlace(t *testing.T, im Implementation) string {
	q := im.NewFIFO(keyOfKeyed)
	must(t, q.Add(keyed{"a", 1}))
	must(t, q.Add(keyed{"b", 2}))
	must(t, q.Delete(keyed{"a", 1}))
	must(t, q.Add(keyed{"a", 3}))
	var keys []string
	for _, item := range drained(t, q) {
		keys = append(keys, item.(keyed).key)
	}
	return strings.Join(slices.Compact(keys), ", ")
}

func fifoNeverSynced(t *testing.T, im Implementation) string {
	q := im.NewFIFO(keyOfKeyed)
	must(t, q.Replace([]any{keyed{"a", 1}}, "1"))
	must(t, q.Delete(keyed{"a", 1}))
	return fmt.Sprint("synced ", q.HasSynced())
}

func deltasSyncedEarly(t *testing.T, im Implementation) string {
	q := im.NewDeltaFIFO(keyOfKeyed, nil)
	must(t, q.Replace([]any{keyed{"a", 1}}, "1"))
	outcome := ""
	_, err := q.Pop(func(any, bool) error {
		outcome = "synced at the end"
		// It asks the channel, since the process function may hold the queue's lock.
		if isDone(q.HasSyncedChecker()) {
			outcome = "synced before the end"
		}
		return nil
	})
	must(t, err)
	if !q.HasSynced() {
		return "never synced"
	}
	return outcome
}

func deltasHalfReplaced(t *testing.T, im Implementation) string {
	q := im.NewDeltaFIFO(keyOfKeyed, nil)
	if err := q.Replace([]any{keyed{"a", 1}, keyed{"bad", 2}}, "1"); err == nil {
		t.Error("Replace with a bad object succeeded")
	}
	return fmt.Sprint("queued ", drained(t, q))
}

func deltasFailedFirst(t *testing.T, im Implementation) string {
	q := im.NewDeltaFIFO(keyOfKeyed, nil)
	if err := q.Add(keyed{"bad", 1}); err == nil {
		t.Error("Add of a bad object succeeded")
	}
	return fmt.Sprint("synced ", q.HasSynced())
}
