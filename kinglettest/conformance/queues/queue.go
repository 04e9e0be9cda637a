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
			{Sentence: "every constructor makes a queue", Run: queueConstructors},
			{Sentence: "get waits for an item", Run: queueGetWaits},
			{Sentence: "random operations hand out what a model does", Run: queueEqualsModel},
			{Sentence: "done of what nobody knows does nothing", Run: queueDoneOfUnknown},
			{Sentence: "an item that is no map key panics, and leaves the queue as it was", Run: queueUnhashable},
			{Sentence: "no item is processed twice at a time, and no add is lost", Run: queueStorm, Real: true},
		},
	}
}

func shutdownRow() row {
	return row{
		ID:    "shutdown, and orders of the program's own",
		Needs: []string{"NewTyped", "NewTypedWithConfig", "DefaultQueue"},
		Tests: []test{
			{Sentence: "a shutdown ends every wait for an item", Run: shutdownWakes},
			{Sentence: "a drain waits until nothing is processed", Run: drainWaits},
			{Sentence: "what was added while it was processed is queued again in a drain", Run: drainDirty},
			{Sentence: "a shutdown ends a drain", Run: shutdownEndsDrain},
			{Sentence: "an order is told what a queue does, and no more", Run: orderCalls},
			{Sentence: "the calls of an order come one at a time", Run: orderStorm, Real: true},
			{Sentence: "the default order is first in first out", Run: orderDefault},
		},
	}
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

func shutdownWakes(t *testing.T, im Implementation) {
	q := im.NewTyped()
	var wg sync.WaitGroup
	for range 5 {
		wg.Go(func() { over(t, q) })
	}
	synctest.Wait()
	q.ShutDown()
	wg.Wait()
}

func drainWaits(t *testing.T, im Implementation) {
	q := im.NewTyped()
	q.Add("a")
	q.Add("b")
	next(t, q)
	next(t, q)
	returned := going(q.ShutDownWithDrain)
	equal(t, "returned", returned(), false)
	over(t, q)
	q.Done("a")
	equal(t, "returned with one of two done", returned(), false)
	q.Done("b")
	equal(t, "returned", returned(), true)
}

func drainDirty(t *testing.T, im Implementation) {
	q := im.NewTyped()
	q.Add("a")
	q.Add("b")
	next(t, q)
	next(t, q)
	q.Add("a")
	returned := going(q.ShutDownWithDrain)
	equal(t, "returned", returned(), false)
	over(t, q)
	q.Done("a")
	equal(t, "item", next(t, q), "a")
	q.Done("a")
	equal(t, "returned while another is processed", returned(), false)
	q.Done("b")
	equal(t, "returned", returned(), true)
	over(t, q)
}

func shutdownEndsDrain(t *testing.T, im Implementation) {
	q := im.NewTyped()
	for i := range 3 {
		q.Add(fmt.Sprint(i))
		next(t, q)
	}
	returned := going(q.ShutDownWithDrain)
	equal(t, "returned", returned(), false)
	q.ShutDown()
	equal(t, "returned", returned(), true)
}

// stack is an order, last in, first out, that records its calls.
type stack struct {
	items []string
	calls []string
}

func (s *stack) Touch(item string) { s.calls = append(s.calls, "touch "+item) }

func (s *stack) Push(item string) {
	s.calls = append(s.calls, "push "+item)
	s.items = append(s.items, item)
}

func (s *stack) Len() int { return len(s.items) }

func (s *stack) Pop() string {
	item := s.items[len(s.items)-1]
	s.items = s.items[:len(s.items)-1]
	s.calls = append(s.calls, "pop "+item)
	return item
}

func orderCalls(t *testing.T, im Implementation) {
	s := &stack{}
	q := im.NewTypedWithConfig(kw.TypedQueueConfig[string]{Queue: s})
	q.Add("a")
	q.Add("a")
	next(t, q)
	q.Add("a")
	q.Add("a")
	q.Add("b")
	q.Done("a")
	q.Add("a")
	next(t, q)
	q.Done("a")
	next(t, q)
	q.Add("b")
	q.ShutDown()
	q.Add("b")
	q.Done("b")
	q.Add("b")
	q.Add("c")
	next(t, q)
	q.Done("b")
	over(t, q)
	same(t, "calls", s.calls,
		"push a", "touch a", "pop a", "push b", "push a", "touch a", "pop a", "pop b", "push b", "pop b")
}

// fifo is an order without a lock, for the race detector.
type fifo struct{ items []string }

func (f *fifo) Touch(string)     {}
func (f *fifo) Push(item string) { f.items = append(f.items, item) }
func (f *fifo) Len() int         { return len(f.items) }

func (f *fifo) Pop() string {
	item := f.items[0]
	f.items = f.items[1:]
	return item
}

func orderStorm(t *testing.T, im Implementation) {
	q := im.NewTypedWithConfig(kw.TypedQueueConfig[string]{Queue: &fifo{}})
	storm(t, q, 50, 4, 4, 1000, q.Add)
}

func orderDefault(t *testing.T, im Implementation) {
	q := im.DefaultQueue()
	r := random(t)
	var model []string
	for i := range 5000 {
		switch {
		case r.IntN(5) < 3-2*(i/2500):
			item := fmt.Sprint(i)
			q.Push(item)
			model = append(model, item)
		case len(model) > 0:
			equal(t, "item", q.Pop(), model[0])
			model = model[1:]
		}
		if len(model) > 0 {
			q.Touch(model[len(model)-1])
		}
		equal(t, "length", q.Len(), len(model))
	}
}
