package main

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// queueFolder is where a copy of controller-runtime's package priorityqueue is, with its
// tests as they are. It is another package, since module ctrlruntime imports the
// original.
const queueFolder = "pkg/controller/kingletqueue"

// queueTests are its tests, beside the specs: but for those of unexported code that has
// no part in what a queue does (TestItemClone…, TestPriorityQueueLogState…).
var queueTests = []string{
	"TestFuzzPriorityQueue",
	"TestHighPriorityItemsAreReturnedBeforeLowPriorityItemMultipleTimes",
	"TestItemIsOnlyReturnedAfterAfterHasPassed",
	"TestHighPriorityItemThatBecameReadyIsReturnedBeforeLowPriorityItem",
	"TestItemIsReturnedAsSoonAsPossible",
	"TestWaitingItemIsReturnedRightAfterReadWithoutAfter",
	"TestMultipleItemsWithAfterAreReturnedInCorrectOrder",
	"TestGetFromPriorityQueueIsUnblockedOnShutdown",
	"TestItemsAreInludedInLenAndMetricsOnceTheyAreReady",
	"TestMetricsAreUpdatedForItemWhoseRequeueAfterExpiredThatGetsAddedAgainWithoutRequeueAfter",
	"TestWhenAddingMultipleItemsWithRatelimitTrueTheyDontAffectEachOther",
	"TestPriorityQueueDoesNotDeadlockOnShutdownWhileHandingOutItems",
}

// testsOfQueue returns those of queueTests that a version of controller-runtime has.
func testsOfQueue(module string) ([]string, error) {
	text, err := os.ReadFile(filepath.Join(module, "pkg", "controller", "priorityqueue", "priorityqueue_test.go"))
	if err != nil {
		return nil, err
	}
	return slices.DeleteFunc(slices.Clone(queueTests), func(name string) bool {
		return !strings.Contains(string(text), "func "+name+"(")
	}), nil
}

// hookedQueue has each method of the copied queue call ours. The tests look at fields of
// theirs, which stay.
var hookedQueue = edit{file: "pkg/controller/priorityqueue/priorityqueue.go", texts: []string{
	"type priorityqueue[T comparable] struct {\n", "type priorityqueue[T comparable] struct {\n\tkinglet kinglets[T]\n",
	"\tgo pq.handleAddBuffer()\n",
	"\tpq.kinglet = newKinglets(pq, name, opts.MetricProvider)\n\tif pq.kinglet != nil {\n\t\treturn pq\n\t}\n\tgo pq.handleAddBuffer()\n",
	") AddWithOpts(o AddOpts, items ...T) {\n\tif", ") AddWithOpts(o AddOpts, items ...T) {\n\tif w.kinglet != nil {\n\t\tw.kinglet.AddWithOpts(original(o), items...)\n\t\treturn\n\t}\n\tif",
	"GetWithPriority() (_ T, priority int, shutdown bool) {\n", "GetWithPriority() (_ T, priority int, shutdown bool) {\n\tif w.kinglet != nil {\n\t\treturn w.kinglet.GetWithPriority()\n\t}\n",
	"Forget(item T) {\n", "Forget(item T) {\n\tif w.kinglet != nil {\n\t\tw.kinglet.Forget(item)\n\t\treturn\n\t}\n",
	"NumRequeues(item T) int {\n", "NumRequeues(item T) int {\n\tif w.kinglet != nil {\n\t\treturn w.kinglet.NumRequeues(item)\n\t}\n",
	"ShuttingDown() bool {\n", "ShuttingDown() bool {\n\tif w.kinglet != nil {\n\t\treturn w.kinglet.ShuttingDown()\n\t}\n",
	"Done(item T) {\n", "Done(item T) {\n\tif w.kinglet != nil {\n\t\tw.kinglet.Done(item)\n\t\treturn\n\t}\n",
	"ShutDown() {\n\tw.shutdown", "ShutDown() {\n\tif w.kinglet != nil {\n\t\tw.kinglet.ShutDown()\n\t\treturn\n\t}\n\tw.shutdown",
	"Len() int {\n\tw.lock", "Len() int {\n\tif w.kinglet != nil {\n\t\treturn w.kinglet.Len()\n\t}\n\tw.lock",
}}

// kingletsFile makes our queue in the copy.
const kingletsFile = `package priorityqueue

import (
	"time"

	"k8s.io/client-go/util/workqueue"
	theirs "sigs.k8s.io/controller-runtime/pkg/controller/priorityqueue"
	"sigs.k8s.io/controller-runtime/pkg/internal/metrics"

	"github.com/kinglet-go/kinglet/ctrlruntime"
)

type kinglets[T comparable] = theirs.PriorityQueue[T]

func original(o AddOpts) theirs.AddOpts { return theirs.AddOpts(o) }

// later is the limiter that the queue has when it is asked: tests set another one.
type later[T comparable] struct{ pq *priorityqueue[T] }

func (l later[T]) When(item T) time.Duration { return l.pq.rateLimiter.When(item) }
func (l later[T]) Forget(item T)             { l.pq.rateLimiter.Forget(item) }
func (l later[T]) NumRequeues(item T) int    { return l.pq.rateLimiter.NumRequeues(item) }

type byPriority struct{ metrics.MetricsProviderWithPriority }

func (p byPriority) NewDepthByPriority(name string) ctrlruntime.PriorityDepth {
	return p.NewDepthMetricWithPriority(name)
}

func newKinglets[T comparable](pq *priorityqueue[T], name string, provider workqueue.MetricsProvider) kinglets[T] {
	if p, ok := provider.(metrics.MetricsProviderWithPriority); ok {
		provider = byPriority{p}
	}
	now := func() time.Time { return pq.now() }
	tick := func(d time.Duration) <-chan time.Time { return pq.tick(d) }
	return ctrlruntime.NewQueueByTicks[T](ctrlruntime.QueueOptions[T]{Metrics: provider}, name, later[T]{pq}, now, tick)
}
`

// ticksFile is added to module ctrlruntime: a queue by the clock that the tests move.
const ticksFile = `package ctrlruntime

import (
	"time"

	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/controller/priorityqueue"

	"github.com/kinglet-go/kinglet/internal/keyqueue"
)

// NewQueueByTicks returns a queue whose time is that of now and tick.
func NewQueueByTicks[T comparable](o QueueOptions[T], name string, limiter workqueue.TypedRateLimiter[T], now func() time.Time, tick func(time.Duration) <-chan time.Time) priorityqueue.PriorityQueue[T] {
	return newQueue(o, name, limiter, &tickClock{now: now, tick: tick, began: now().Add(-time.Minute)})
}

type tickClock struct {
	now   func() time.Time
	tick  func(time.Duration) <-chan time.Time
	began time.Time
}

func (c *tickClock) Now() int64              { return int64(c.now().Sub(c.began)) }
func (c *tickClock) Time(ns int64) time.Time { return c.began.Add(time.Duration(ns)) }

func (c *tickClock) AfterFunc(d time.Duration, f func()) keyqueue.Timer {
	t := &tickTimer{clock: c, f: f}
	t.Reset(d)
	return t
}

type tickTimer struct {
	clock *tickClock
	f     func()
	stop  chan struct{}
}

func (t *tickTimer) Stop() bool {
	if t.stop == nil {
		return false
	}
	close(t.stop)
	t.stop = nil
	return true
}

func (t *tickTimer) Reset(d time.Duration) bool {
	was := t.Stop()
	stop, due := make(chan struct{}), t.clock.tick(d)
	t.stop = stop
	go func() {
		select {
		case <-due:
			t.f()
		case <-stop:
		}
	}()
	return was
}
`

// copyQueue copies the package and its tests, and adds to the overlay what our queue
// needs for them.
func copyQueue(module, dir string, replaced map[string]string) error {
	text, err := hookedQueue.apply(module)
	if err != nil {
		return err
	}
	from, to := filepath.Join(module, "pkg", "controller", "priorityqueue"), filepath.Join(module, filepath.FromSlash(queueFolder))
	files, err := os.ReadDir(from)
	if err == nil {
		err = os.MkdirAll(to, 0o777)
	}
	if err != nil {
		return err
	}
	for _, f := range files {
		file, err := os.ReadFile(filepath.Join(from, f.Name()))
		if err == nil {
			err = write(filepath.Join(to, f.Name()), file)
		}
		if err != nil {
			return err
		}
	}
	top, err := repository()
	if err != nil {
		return err
	}
	ticks := filepath.Join(top, "ctrlruntime", "queueticks.go")
	replaced[ticks] = filepath.Join(dir, "overlay", "queueticks.go")
	for name, text := range map[string]string{
		filepath.Join(to, "priorityqueue.go"): text,
		filepath.Join(to, "kinglet.go"):       kingletsFile,
		replaced[ticks]:                       ticksFile,
	} {
		if err := write(name, []byte(strings.TrimLeft(text, "\n"))); err != nil {
			return err
		}
	}
	return nil
}
