package controller_test

import (
	"context"
	"fmt"
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
