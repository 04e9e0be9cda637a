package ctrlruntime

import (
	"runtime"
	"testing"
	"testing/synctest"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/controller/priorityqueue"

	"github.com/kinglet-go/kinglet/ctrlruntime"
)

// forgetful is a rate limiter without memory.
type forgetful struct{}

func (forgetful) When(int) time.Duration { return time.Second }
func (forgetful) Forget(int)             {}
func (forgetful) NumRequeues(int) int    { return 0 }

// A queue gives back the memory of a peak: of requests that are queued, that are
// processed at the same time, and that fail and succeed later.
func TestAQueueGivesBackTheMemoryOfAPeak(t *testing.T) {
	const requests, left, bound = 100_000, 10, 2 << 20
	synctest.Test(t, func(t *testing.T) {
		q := ctrlruntime.QueueOptions[int]{}.NewQueue("", forgetful{}).(priorityqueue.PriorityQueue[int])
		defer q.ShutDown()
		run := func(succeeds func(int) bool) {
			var keys []int
			for range requests {
				key, _, _ := q.GetWithPriority()
				keys = append(keys, key)
			}
			for _, key := range keys {
				if succeeds(key) {
					q.Forget(key)
				} else {
					q.AddRateLimited(key)
				}
				q.Done(key)
			}
		}
		q.Add(0)
		key, _, _ := q.GetWithPriority()
		q.Forget(key)
		q.Done(key)
		before, _ := memory()
		for i := range requests {
			q.Add(i)
		}
		run(func(int) bool { return false })
		run(func(i int) bool { return i >= left })
		after, _ := memory()
		if kept := int64(after) - int64(before); kept > bound {
			t.Errorf("%d requests keep %d KB of a peak of %d", left, kept>>10, requests)
		}
		runtime.KeepAlive(q)
	})
}
