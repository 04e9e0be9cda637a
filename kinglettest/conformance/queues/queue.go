package queues

//lint:file-ignore SA1019 deprecated names are as much of the surface as others

import (
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"

	kw "k8s.io/client-go/util/workqueue"
)

func queueRow() row {
	return row{
		ID:    "queue",
		Needs: []string{"New", "NewNamed", "NewWithConfig", "NewTyped", "NewTypedWithConfig"},
		Tests: []test{
			{Sentence: "an item stands once, first in first out", Run: queueOrder},
			{Sentence: "every constructor makes a queue", Run: queueConstructors},
			{Sentence: "what is added while it is processed is queued when it is done", Run: queueDirty},
			{Sentence: "len counts what is queued, and not what is processed", Run: queueLen},
			{Sentence: "get waits for an item", Run: queueGetWaits},
			{Sentence: "each item wakes one worker", Run: queueWakes},
			{Sentence: "random operations hand out what a model does", Run: queueEqualsModel},
			{Sentence: "done of what nobody knows does nothing", Run: queueDoneOfUnknown},
			{Sentence: "an item that is no map key panics, and leaves the queue as it was", Run: queueUnhashable},
			{Sentence: "no item is processed twice at a time, and no add is lost", Run: queueStorm, Real: true},
		},
	}
}

func queueOrder(t *testing.T, im Implementation) {
	q := im.NewTyped()
	for _, item := range strings.Split("abcabdaec", "") {
		q.Add(item)
	}
	equal(t, "length", q.Len(), 5)
	same(t, "items", drained(t, q), "a", "b", "c", "d", "e")
	q.Add("b")
	q.Add("a")
	same(t, "items", drained(t, q), "b", "a")
	q.ShutDown()
}

func queueConstructors(t *testing.T, im Implementation) {
	for name, q := range map[string]kw.Interface{
		"New":           im.New(),
		"NewNamed":      im.NewNamed("queueConstructors"),
		"NewWithConfig": im.NewWithConfig(kw.QueueConfig{}),
	} {
		q.Add(1)
		q.Add("1")
		q.Add(1)
		same(t, name, drained(t, q), any(1), any("1"))
		equal(t, name+" is shutting down", q.ShuttingDown(), false)
		q.ShutDown()
		over(t, q)
	}
	q := im.NewTypedWithConfig(kw.TypedQueueConfig[string]{})
	q.Add("a")
	same(t, "NewTypedWithConfig", drained(t, q), "a")
	q.ShutDown()
}

func queueDirty(t *testing.T, im Implementation) {
	q := im.NewTyped()
	q.Add("a")
	q.Add("b")
	equal(t, "item", next(t, q), "a")
	q.Add("a")
	q.Add("a")
	equal(t, "item", next(t, q), "b")
	equal(t, "length", q.Len(), 0)
	q.Done("b")
	equal(t, "length", q.Len(), 0)
	q.Done("a")
	q.Add("b")
	equal(t, "item", next(t, q), "a")
	q.Done("a")
	same(t, "the rest", drained(t, q), "b")
	q.ShutDown()
}

func queueLen(t *testing.T, im Implementation) {
	q := im.NewTyped()
	lengths := func(do ...func()) []int {
		list := []int{q.Len()}
		for _, f := range do {
			f()
			list = append(list, q.Len())
		}
		return list
	}
	add := func(item string) func() { return func() { q.Add(item) } }
	get := func() { next(t, q) }
	same(t, "lengths", lengths(
		add("a"), add("b"), add("a"), get, add("a"), add("c"), get, func() { q.Done("a") }, func() { q.Done("b") }, get, get,
	), 0, 1, 2, 2, 1, 1, 2, 1, 2, 2, 1, 0)
	q.ShutDown()
}

func queueGetWaits(t *testing.T, im Implementation) {
	q := im.NewTyped()
	var got string
	returned := going(func() { got, _ = q.Get() })
	equal(t, "returned before an item was added", returned(), false)
	q.Add("a")
	equal(t, "returned", returned(), true)
	equal(t, "item", got, "a")
	returned = going(func() { got, _ = q.Get() })
	q.Add("a")
	equal(t, "returned while the item is processed", returned(), false)
	q.Done("a")
	equal(t, "returned", returned(), true)
	q.ShutDown()
}

func queueWakes(t *testing.T, im Implementation) {
	q := im.NewTyped()
	var got atomic.Int32
	var wg sync.WaitGroup
	for range 10 {
		wg.Go(func() {
			if _, shutdown := q.Get(); !shutdown {
				got.Add(1)
			}
		})
	}
	synctest.Wait()
	for i := range 4 {
		q.Add(fmt.Sprint(i))
		synctest.Wait()
		equal(t, "workers with an item", got.Load(), int32(i+1))
	}
	for i := 4; i < 8; i++ {
		q.Add(fmt.Sprint(i))
	}
	synctest.Wait()
	equal(t, "workers with an item", got.Load(), 8)
	q.ShutDown()
	wg.Wait()
}

func queueEqualsModel(t *testing.T, im Implementation) {
	r := random(t)
	for range 20 {
		q, m := im.NewTyped(), newModel()
		for range 2000 {
			item := fmt.Sprint(r.IntN(12))
			switch op := r.IntN(100); {
			case op < 50:
				q.Add(item)
				m.add(item)
			case op < 75 && len(m.queued) > 0:
				equal(t, "item", next(t, q), m.get())
			case len(m.processing) > 0:
				item = m.oneProcessed(r)
				q.Done(item)
				m.done(item)
			}
			if got, want := q.Len(), len(m.queued); got != want {
				t.Fatalf("length %d, want %d", got, want)
			}
		}
		if r.IntN(2) == 0 {
			q.ShutDown()
			m.shutDown()
		}
		for range 100 {
			q.Add("late")
			m.add("late")
			if len(m.queued) > 0 {
				equal(t, "item", next(t, q), m.get())
			}
			if len(m.processing) > 0 {
				item := m.oneProcessed(r)
				q.Done(item)
				m.done(item)
			}
		}
		q.ShutDown()
		if t.Failed() {
			return
		}
	}
}

func queueDoneOfUnknown(t *testing.T, im Implementation) {
	q := im.NewTyped()
	q.Done("a")
	q.Add("b")
	q.Done("a")
	equal(t, "length", q.Len(), 1)
	equal(t, "item", next(t, q), "b")
	q.Done("b")
	q.Done("b")
	equal(t, "length", q.Len(), 0)
	q.ShutDown()
}

func queueUnhashable(t *testing.T, im Implementation) {
	q := im.New()
	panics := func(what string, f func(any)) {
		t.Helper()
		defer func() {
			if p := fmt.Sprint(recover()); !strings.Contains(p, "hash of unhashable type") || !strings.Contains(p, "[]int") {
				t.Errorf("%s: panic %q", what, p)
			}
		}()
		f([]int{1})
	}
	q.Add("a")
	panics("Add", q.Add)
	panics("Done", q.Done)
	equal(t, "length", q.Len(), 1)
	same(t, "items", drained(t, q), any("a"))
	q.ShutDown()
}

// queueStorm has workers that record the items that they process, and producers that count
// what they add. A worker that began after the last version of an item was added has to
// see it.
func queueStorm(t *testing.T, im Implementation) {
	const items, producers, workers, adds = 50, 8, 8, 2000
	q := im.NewTyped()
	storm(t, q, items, producers, workers, adds, func(item string) { q.Add(item) })
}

func storm(t *testing.T, q kw.TypedInterface[string], items, producers, workers, adds int, add func(string)) {
	versions := make([]atomic.Int64, items)
	seen := make([]atomic.Int64, items)
	busy := make([]atomic.Int32, items)
	var producing, working sync.WaitGroup
	for p := range producers {
		producing.Go(func() {
			for i := range adds {
				n := (i*7 + p*13) % items
				versions[n].Add(1)
				add(fmt.Sprint(n))
			}
		})
	}
	for range workers {
		working.Go(func() {
			for {
				item, shutdown := q.Get()
				if shutdown {
					return
				}
				var n int
				if _, err := fmt.Sscan(item, &n); err != nil {
					t.Error(err)
				}
				if busy[n].Add(1) != 1 {
					t.Errorf("%s is processed twice at a time", item)
				}
				v := versions[n].Load()
				if seen[n].Load() < v {
					seen[n].Store(v)
				}
				busy[n].Add(-1)
				q.Done(item)
			}
		})
	}
	producing.Wait()
	q.ShutDownWithDrain()
	working.Wait()
	for n := range items {
		equal(t, fmt.Sprintf("version of %d", n), seen[n].Load(), versions[n].Load())
	}
	equal(t, "length", q.Len(), 0)
}
