package queues

import (
	"math/rand/v2"
	"slices"
	"testing"
	"testing/synctest"

	kw "k8s.io/client-go/util/workqueue"
)

func equal[T comparable](t *testing.T, what string, got, want T) {
	t.Helper()
	if got != want {
		t.Errorf("%s: got %v, want %v", what, got, want)
	}
}

// same fails if got is not want. An empty list equals nil.
func same[T comparable](t *testing.T, what string, got []T, want ...T) {
	t.Helper()
	if len(got)+len(want) > 0 && !slices.Equal(got, want) {
		t.Errorf("%s: got %v, want %v", what, got, want)
	}
}

// next gets the next item of a queue that has one or is shut down.
func next[T comparable](t *testing.T, q kw.TypedInterface[T]) T {
	t.Helper()
	if q.Len() == 0 && !q.ShuttingDown() {
		t.Fatal("the queue has no item")
	}
	item, shutdown := q.Get()
	if shutdown {
		t.Fatal("the queue is shut down and empty")
	}
	return item
}

// drained gets all queued items, and marks each as done.
func drained[T comparable](t *testing.T, q kw.TypedInterface[T]) []T {
	t.Helper()
	var items []T
	for q.Len() > 0 {
		item := next(t, q)
		items = append(items, item)
		q.Done(item)
	}
	return items
}

// over checks that the queue has no more items.
func over[T comparable](t *testing.T, q kw.TypedInterface[T]) {
	t.Helper()
	if item, shutdown := q.Get(); !shutdown {
		t.Errorf("got %v of a queue that should be shut down and empty", item)
	}
}

// going runs f in a goroutine of a bubble. returned reports whether it has returned.
func going(f func()) (returned func() bool) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		f()
	}()
	return func() bool {
		synctest.Wait()
		select {
		case <-done:
			return true
		default:
			return false
		}
	}
}

// random returns a source of random numbers. A test that fails prints its seed.
func random(t *testing.T) *rand.Rand {
	seed := rand.Uint64()
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("seed %d", seed)
		}
	})
	return rand.New(rand.NewPCG(seed, 0))
}
