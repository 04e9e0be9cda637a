package controller_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kinglet-go/kinglet"
	"github.com/kinglet-go/kinglet/controller"
	"github.com/kinglet-go/kinglet/internal/testclock"
)

// TestPollingKeysDoNotStarveTheInitialList is controller-runtime#3496: a hundred keys
// that run again each second, for 12 ms each, are more than one worker can do. The 90
// keys of an initial list come on top.
func TestPollingKeysDoNotStarveTheInitialList(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var pods []pod
		for i := range 90 {
			pods = append(pods, newPod(fmt.Sprintf("initial-%d", i)))
		}
		_, inf := informerOf(t, pods...)
		const cost = 12 * time.Millisecond
		var mu sync.Mutex
		waited := map[string]time.Duration{}
		began := time.Now()
		c := newController(t, func(_ context.Context, k kinglet.Key) (controller.Result, error) {
			testclock.Pass(cost)
			if strings.HasPrefix(k.Name, "initial") {
				mu.Lock()
				waited[k.Name] = time.Since(began)
				mu.Unlock()
				return controller.Result{}, nil
			}
			return controller.Result{After: time.Second}, nil
		}, controller.Options[kinglet.Key]{})
		mustWatch(t, c, inf)
		for i := range 100 {
			_ = c.Add(key(fmt.Sprintf("polling-%d", i)))
		}
		stop := start(t, c, inf)
		testclock.Pass(2 * time.Minute)
		mu.Lock()
		defer mu.Unlock()
		// First in, first out, the last of the 190 runs would end after 2.3 s.
		fifo := 190 * cost
		longest := time.Duration(0)
		for _, d := range waited {
			longest = max(longest, d)
		}
		t.Logf("%d initial keys ran, the last after %v; first in, first out: %v", len(waited), longest, fifo)
		if len(waited) != 90 || longest > fifo+30*time.Second+100*cost {
			t.Errorf("%d initial keys ran, the last after %v", len(waited), longest)
		}
		if err := stop(); err != nil {
			t.Error(err)
		}
	})
}

// TestAKeyThatFailsOnceIsTriedAgainInItsOwnTime has 10,000 keys that always fail
// beside one that fails once.
func TestAKeyThatFailsOnceIsTriedAgainInItsOwnTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var failed, again time.Time
		c := newController(t, func(_ context.Context, k kinglet.Key) (controller.Result, error) {
			if k.Name != "healthy" {
				return controller.Result{}, errors.New("always")
			}
			if failed.IsZero() {
				failed = time.Now()
				return controller.Result{}, errors.New("once")
			}
			again = time.Now()
			return controller.Result{}, nil
		}, controller.Options[kinglet.Key]{Workers: 8, Retries: 10, OnError: func(error) {}})
		stop := start(t, c)
		for i := range 10_000 {
			_ = c.Add(key(fmt.Sprintf("failing-%d", i)))
		}
		testclock.Pass(time.Minute)
		_ = c.Add(key("healthy"))
		testclock.Pass(time.Minute)
		// The first backoff is at most 5 ms; a token comes each 100 ms, and
		// every second one goes to the first in line.
		if failed.IsZero() || again.IsZero() || again.Sub(failed) > 5*time.Millisecond+200*time.Millisecond {
			t.Errorf("failed at %v, and was tried again at %v", failed, again)
		}
		if err := stop(); err != nil {
			t.Error(err)
		}
	})
}

// TestATenantThatFloodsDelaysTheOthersByNoMoreThanTheirOwnRun has 51 tenants on 8
// workers. One tenant adds more than all workers can do.
func TestATenantThatFloodsDelaysTheOthersByNoMoreThanTheirOwnRun(t *testing.T) {
	p99 := func(flood bool) (d time.Duration) {
		synctest.Test(t, func(t *testing.T) {
			const cost = 10 * time.Millisecond
			var mu sync.Mutex
			added := map[kinglet.Key]time.Time{}
			var latencies []time.Duration
			c := newController(t, func(_ context.Context, k kinglet.Key) (controller.Result, error) {
				testclock.Pass(cost)
				if k.Namespace != "flood" {
					mu.Lock()
					latencies = append(latencies, time.Since(added[k]))
					mu.Unlock()
				}
				return controller.Result{}, nil
			}, controller.Options[kinglet.Key]{Workers: 8, Class: func(k kinglet.Key) string { return k.Namespace }})
			stop := start(t, c)
			if flood {
				for i := range 20_000 {
					_ = c.Add(kinglet.Key{Namespace: "flood", Name: fmt.Sprint(i)})
				}
			}
			// Fifty tenants with a key each 200 ms: a quarter of the workers' time,
			// spread evenly.
			for i := range 5000 {
				testclock.Pass(4 * time.Millisecond)
				k := kinglet.Key{Namespace: fmt.Sprintf("tenant-%d", i%50), Name: fmt.Sprint(i)}
				mu.Lock()
				added[k] = time.Now()
				mu.Unlock()
				_ = c.Add(k)
			}
			testclock.Pass(time.Second)
			if err := stop(); err != nil {
				t.Error(err)
			}
			slices.Sort(latencies)
			if len(latencies) != 5000 {
				t.Fatalf("%d of 5000 keys ran", len(latencies))
			}
			d = latencies[len(latencies)*99/100]
		})
		return d
	}
	idle, flooded := p99(false), p99(true)
	t.Logf("99th percentile from Add to the end of the run: %v, and %v beside a flood", idle, flooded)
	if flooded > 2*idle {
		t.Errorf("the 99th percentile is %v beside a flood, and %v without", flooded, idle)
	}
}

func TestAClosedGateSaysWhyWithinASecond(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		src, inf := informerOf(t, newPod("a"))
		r := &runs{}
		c := newController(t, func(_ context.Context, k kinglet.Key) (controller.Result, error) {
			r.note(k)
			return controller.Result{}, nil
		}, controller.Options[kinglet.Key]{MaxStale: 3 * time.Minute})
		mustWatch(t, c, inf)
		stop := start(t, c, inf)
		for range 5 { // the pace of bookmarks is learned
			testclock.Pass(time.Minute)
			src.Bookmark()
		}
		_ = c.Add(key("a"))
		synctest.Wait()
		if got := r.list(); len(got) != 2 {
			t.Fatalf("ran %v", got)
		}
		src.FailWatches(-1, errors.New("unreachable"))
		src.FailLists(-1, errors.New("unreachable"))
		src.Disconnect(nil)
		testclock.Pass(3*time.Minute + time.Second)
		if gate := c.Status().Gate; !strings.Contains(gate.Reason, "nothing was heard of pods") || !strings.Contains(gate.Reason, "unreachable") {
			t.Errorf("the gate says %q", gate.Reason)
		}
		_ = c.Add(key("a"))
		testclock.Pass(time.Minute)
		if got := r.list(); len(got) != 2 {
			t.Errorf("ran %v although nothing is heard of the informer", got)
		}
		src.FailWatches(0, nil)
		src.FailLists(0, nil)
		testclock.Pass(time.Minute)
		if got := r.list(); len(got) < 3 {
			t.Errorf("ran %v after the server had answered", got)
		}
		if err := stop(); err != nil {
			t.Error(err)
		}
	})
}
