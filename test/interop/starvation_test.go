package interop

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/controller/priorityqueue"

	"github.com/kinglet-go/kinglet/controller"
	"github.com/kinglet-go/kinglet/ctrlruntime"
	"github.com/kinglet-go/kinglet/internal/tests/testbubble"
)

// The work of controller-runtime#3496: a hundred keys that ask to run again a
// second after each run, of runs that take 12 ms, are 120 % of what one worker can
// do. Beside them come the 90 keys of an initial list, at low priority.
const (
	pollingKeys, initialKeys = 100, 90
	pollingPeriod            = time.Second
	runCost                  = 12 * time.Millisecond
	pollingFor               = 5 * time.Minute
)

// initialRuns notes when the initial keys have run.
type initialRuns struct {
	began time.Time
	mu    sync.Mutex
	ended map[string]time.Duration // guarded by mu
}

// run runs a key, and reports whether it polls.
func (r *initialRuns) run(key string) (polls bool) {
	testbubble.Pass(runCost)
	if strings.HasPrefix(key, "polling") {
		return true
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.ended[key] = time.Since(r.began)
	return false
}

func (r *initialRuns) result() (n int, last time.Duration) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, d := range r.ended {
		last = max(last, d)
	}
	return len(r.ended), last
}

// TestInitialKeysAreNotStarvedByKeysThatPoll runs that work on kinglet's controller, on
// its queue for controller-runtime's controllers, and on controller-runtime's own.
func TestInitialKeysAreNotStarvedByKeysThatPoll(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := &initialRuns{began: time.Now(), ended: map[string]time.Duration{}}
		c, err := controller.New(controller.ReconcilerFunc[string](func(_ context.Context, key string) (controller.Result, error) {
			if r.run(key) {
				return controller.Result{After: pollingPeriod}, nil
			}
			return controller.Result{}, nil
		}), controller.Options[string]{})
		if err != nil {
			t.Fatal(err)
		}
		for i := range initialKeys { // as Watch adds the keys of an initial list
			_ = c.AddWith(controller.AddOptions{Head: -30 * time.Second}, fmt.Sprintf("initial-%d", i))
		}
		for i := range pollingKeys {
			_ = c.Add(fmt.Sprintf("polling-%d", i))
		}
		ctx, cancel := context.WithTimeout(t.Context(), pollingFor)
		defer cancel()
		if err := c.Run(ctx); err != nil {
			t.Error(err)
		}
		n, last := r.result()
		fifo := (pollingKeys + initialKeys) * runCost
		t.Logf("kinglet: %d of %d initial keys ran, the last after %v; first in, first out would be %v", n, initialKeys, last, fifo)
		if n != initialKeys || last > fifo+30*time.Second+pollingKeys*runCost {
			t.Errorf("%d initial keys ran, the last after %v", n, last)
		}
	})

	synctest.Test(t, func(t *testing.T) {
		q := ctrlruntime.QueueOptions[string]{}.NewQueue("", nil)
		n, last := poll(q.(priorityqueue.PriorityQueue[string]))
		t.Logf("kinglet's queue for controller-runtime: %d of %d initial keys ran, the last after %v", n, initialKeys, last)
		if fifo := (pollingKeys + initialKeys) * runCost; n != initialKeys || last > fifo+30*time.Second+pollingKeys*runCost {
			t.Errorf("%d initial keys ran, the last after %v", n, last)
		}
	})

	synctest.Test(t, func(t *testing.T) {
		n, last := poll(priorityqueue.New[string](""))
		t.Logf("controller-runtime: %d of %d initial keys ran, the last after %v", n, initialKeys, last)
	})
}

// poll does that work as controller-runtime's controllers do, with one worker, and
// returns how many initial keys ran and when the last did.
func poll(q priorityqueue.PriorityQueue[string]) (n int, last time.Duration) {
	r := &initialRuns{began: time.Now(), ended: map[string]time.Duration{}}
	for i := range initialKeys {
		q.AddWithOpts(priorityqueue.AddOpts{Priority: ptr.To(-100)}, fmt.Sprintf("initial-%d", i))
	}
	for i := range pollingKeys {
		q.AddWithOpts(priorityqueue.AddOpts{}, fmt.Sprintf("polling-%d", i))
	}
	for time.Since(r.began) < pollingFor {
		key, priority, _ := q.GetWithPriority()
		if r.run(key) {
			q.AddWithOpts(priorityqueue.AddOpts{After: pollingPeriod, Priority: ptr.To(priority)}, key)
		}
		q.Done(key)
	}
	q.ShutDown()
	return r.result()
}
