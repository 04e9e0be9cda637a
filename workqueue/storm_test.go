package workqueue

import (
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/kinglet-go/kinglet/internal/tests/testkit"
)

// For the race detector: every operation on a queue at the same time, with our metrics
// and, over an order, which has no lock, those of client-go's provider.
func TestEverythingAtOnceLosesNothingAndCountsRight(t *testing.T) {
	const items, producers, workers, operations = 20, 6, 4, 3000
	own := newRecorder()
	for name, p := range map[string]MetricsProvider{"storm of ours": own, "storm of client-go's": nil} {
		t.Run(name, func(t *testing.T) {
			seed := testkit.Seed(t)
			var q TypedRateLimitingInterface[string]
			withoutSetProvider(func() {
				config := TypedRateLimitingQueueConfig[string]{Name: name, MetricsProvider: p}
				if p == nil {
					below := NewTypedWithConfig(TypedQueueConfig[string]{Name: name, Queue: DefaultQueue[string]()})
					config.DelayingQueue = NewTypedDelayingQueueWithConfig(TypedDelayingQueueConfig[string]{Name: name, Queue: below})
				}
				q = NewTypedRateLimitingQueueWithConfig(NewTypedItemExponentialFailureRateLimiter[string](time.Microsecond, time.Millisecond), config)
			})
			var producing, working sync.WaitGroup
			var busy, added, seen [items]atomic.Int64
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
						seen[n].Store(added[n].Load())
						busy[n].Add(-1)
						q.Done(item)
					}
				})
			}
			for i := range producers {
				producing.Go(func() {
					r := rand.New(rand.NewPCG(seed, uint64(i)))
					for range operations {
						n := r.IntN(items)
						item := fmt.Sprint(n)
						switch r.IntN(10) {
						case 0:
							q.AddRateLimited(item)
						case 1:
							q.AddAfter(item, time.Duration(r.IntN(1000))*time.Microsecond)
						case 2:
							q.Forget(item)
						case 3:
							q.Len()
						default:
							added[n].Add(1)
							q.Add(item)
						}
					}
				})
			}
			producing.Wait()
			q.ShutDownWithDrain()
			working.Wait()
			for n := range items {
				if got, want := seen[n].Load(), added[n].Load(); got != want {
					t.Errorf("%d was seen after %d adds of %d", n, got, want)
				}
			}
			r := own
			if p == nil {
				r = clientGos
			}
			counts := map[string]int{}
			for _, line := range r.take(name) {
				var what string
				var value float64
				if _, err := fmt.Sscan(line, &what, &value); err != nil {
					t.Error(err)
				}
				if what == "depth" {
					what = fmt.Sprint(what, value)
				}
				counts[what]++
			}
			for _, what := range []string{"depth1", "depth-1", "latency", "work"} {
				if counts[what] != counts["adds"] {
					t.Errorf("%d times %s, and %d adds", counts[what], what, counts["adds"])
				}
			}
			if counts["adds"] == 0 || counts["retries"] == 0 {
				t.Errorf("counts: %v", counts)
			}
		})
	}
}
