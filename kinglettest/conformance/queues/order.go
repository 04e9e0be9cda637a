package queues

import (
	"fmt"
	"strings"
	"testing"

	kw "k8s.io/client-go/util/workqueue"
)

func orderRow() row {
	return row{
		ID:    "order",
		Needs: []string{"NewTypedWithConfig", "DefaultQueue"},
		Tests: []test{
			{Sentence: "items come as the program's order has them", Run: orderStack},
			{Sentence: "it is told what a queue does, and no more", Run: orderCalls},
			{Sentence: "its length is the queue's", Run: orderLength},
			{Sentence: "its calls come one at a time", Run: orderStorm, Real: true},
			{Sentence: "the default one is first in first out", Run: orderDefault},
		},
	}
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

func orderStack(t *testing.T, im Implementation) {
	q := im.NewTypedWithConfig(kw.TypedQueueConfig[string]{Queue: &stack{}})
	for _, item := range strings.Split("abca", "") {
		q.Add(item)
	}
	same(t, "items", drained(t, q), "c", "b", "a")
	q.ShutDown()
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

func orderLength(t *testing.T, im Implementation) {
	s := &stack{}
	q := im.NewTypedWithConfig(kw.TypedQueueConfig[string]{Queue: s})
	q.Add("a")
	q.Add("b")
	equal(t, "length", q.Len(), 2)
	next(t, q)
	equal(t, "length", q.Len(), 1)
	q.ShutDown()
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
