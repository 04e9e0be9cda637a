package ctrlruntime

import (
	"cmp"
	"maps"
	"sync"
	"time"

	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/controller/priorityqueue"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/kinglet-go/kinglet"
	kingletcache "github.com/kinglet-go/kinglet/cache"
	"github.com/kinglet-go/kinglet/internal/histogram"
	"github.com/kinglet-go/kinglet/internal/keyqueue"
)

// QueueOptions configure the queues of controllers. The zero value is ready to use.
type QueueOptions[request comparable] struct {
	// HeadStart returns how much earlier than in order of arrival a request of a
	// priority is served; later if it is negative. A higher priority must not have a
	// shorter head start. If nil, it is 300 ms for each 1 of priority, and at most an
	// hour either way: controller-runtime's low priority of -100 is served at most 30 s
	// late.
	HeadStart func(priority int) time.Duration
	// Workers is MaxConcurrentReconciles, for the controller's report.
	Workers int
	// Set shows the controller from its start until its queue is shut down. If nil, it
	// is cache.Observed of package cache.
	Set *kinglet.Set
	// Metrics measure the queue, by the controller's name. If nil, they are
	// controller-runtime's, with its names. The depth has priorities if Metrics is a
	// DepthByPriority.
	Metrics workqueue.MetricsProvider
}

// NewQueue is QueueOptions.NewQueue with the zero QueueOptions:
//
//	ctrl.NewControllerManagedBy(mgr).
//		WithOptions(controller.Options{NewQueue: ctrlruntime.NewQueue}).
//
// A controller of other requests uses QueueOptions[request]{}.NewQueue.
func NewQueue(name string, limiter workqueue.TypedRateLimiter[reconcile.Request]) workqueue.TypedRateLimitingInterface[reconcile.Request] {
	return QueueOptions[reconcile.Request]{}.NewQueue(name, limiter)
}

// NewQueue returns a queue for controller.Options.NewQueue. It is a
// priorityqueue.PriorityQueue and keeps its contract, with these differences:
//
//   - Priorities are head starts: compared with first in, first out, a request of low
//     priority waits longer by the difference of the head starts and no more. In
//     controller-runtime's queue it waits as long as there is any request of higher
//     priority (controller-runtime#3496).
//   - All calls take effect before they return, and nothing is buffered.
//   - A delay that ends while its request is processed takes effect when the run ends.
//     Adding a delayed request without a delay queues it as if it were new. Requests
//     that are due at the same nanosecond are served in no particular order.
//   - ShutDownWithDrain waits until no request is processed; until then, queued
//     requests are handed out.
//   - A request that does not equal itself, such as one that contains a NaN, is
//     refused.
//
// All methods are safe for concurrent use, and only Get, GetWithPriority and
// ShutDownWithDrain block. A queue with a name has one goroutine, which counts
// unfinished work every half second until the queue is shut down. Its memory is that of
// the requests that it holds, and of the last 1024 whose error was terminal, until they
// succeed.
func (o QueueOptions[request]) NewQueue(name string, limiter workqueue.TypedRateLimiter[request]) workqueue.TypedRateLimitingInterface[request] {
	return newQueue(o, name, limiter, nil)
}

// queue is a priorityqueue.PriorityQueue. Methods without a comment are those of it.
type queue[request comparable] struct {
	name    string
	workers int
	keys    *keyqueue.Queue[request]
	limiter workqueue.TypedRateLimiter[request]
	metrics *queueMetrics[request] // nil if there are none
	// took measures how long runs took, and waited how long their requests were queued.
	took, waited histogram.Histogram

	// made is when the queue was made. opening sets opened at the first Get.
	made    time.Time
	opening sync.Once

	// hide removes the queue from the Set, and stop ends the count of unfinished work.
	hide    func()
	stop    chan struct{}
	ended   sync.Once
	measure sync.WaitGroup

	mu sync.Mutex
	// What follows is guarded by mu.

	// opened is when a worker asked for a request first.
	opened time.Time
	// running are the requests that are being processed.
	running map[request]*processing[request]
	// mostRunning is how many running has had since it was made.
	mostRunning int

	counts struct{ succeeded, failed, terminal uint64 }
}

var _ priorityqueue.PriorityQueue[int] = (*queue[int])(nil)

// processing is a request that a worker is processing.
type processing[request comparable] struct {
	run   keyqueue.Run[request]
	began time.Time
	// retried is set if the request was added with a rate limit meanwhile, and
	// forgotten if Forget was called. controller-runtime does the former after an
	// error, the latter after a success, and neither after a terminal error.
	retried, forgotten bool
}

// A priority of 1 is a head start of headStart, up to farthest.
const (
	headStart = 300 * time.Millisecond
	farthest  = time.Hour
)

func defaultHeadStart(priority int) time.Duration {
	const most = int(farthest / headStart)
	return time.Duration(min(max(priority, -most), most)) * headStart
}

// newQueue uses the system's clock if clock is nil.
func newQueue[request comparable](o QueueOptions[request], name string, limiter workqueue.TypedRateLimiter[request], clock keyqueue.Clock) *queue[request] {
	if limiter == nil {
		limiter = workqueue.NewTypedItemExponentialFailureRateLimiter[request](5*time.Millisecond, 1000*time.Second)
	}
	if o.HeadStart == nil {
		o.HeadStart = defaultHeadStart
	}
	o.Set = cmp.Or(o.Set, kingletcache.Observed())
	q := &queue[request]{
		name:    name,
		workers: o.Workers,
		limiter: limiter,
		made:    time.Now(),
		stop:    make(chan struct{}),
		running: map[request]*processing[request]{},
	}
	options := keyqueue.Options[request]{Clock: clock, HeadStart: o.HeadStart}
	if name != "" {
		q.metrics = newQueueMetrics[request](o.Metrics, name)
		options.Observer = q.metrics
		q.measure.Go(q.countUnfinished)
	}
	q.keys = keyqueue.New(options)
	q.hide = o.Set.ObserveController(q)
	return q
}

func (q *queue[request]) Add(item request) { q.AddWithOpts(priorityqueue.AddOpts{}, item) }

func (q *queue[request]) AddAfter(item request, after time.Duration) {
	q.AddWithOpts(priorityqueue.AddOpts{After: after}, item)
}

func (q *queue[request]) AddRateLimited(item request) {
	q.AddWithOpts(priorityqueue.AddOpts{RateLimited: true}, item)
}

func (q *queue[request]) AddWithOpts(o priorityqueue.AddOpts, items ...request) {
	if q.keys.Closed() {
		return
	}
	var add keyqueue.AddOptions
	if o.Priority != nil {
		add.Priority = *o.Priority
	}
	for _, item := range items {
		add.After = o.After
		if o.RateLimited {
			add.Cause = causeRetry
			if limited := q.limiter.When(item); o.After == 0 || limited < o.After {
				add.After = limited
			}
			q.mark(item, func(p *processing[request]) { p.retried = true })
		}
		if q.keys.Add(item, add) && add.After > 0 && q.metrics != nil {
			q.metrics.retries.Inc()
		}
	}
}

func (q *queue[request]) Get() (item request, shutdown bool) {
	item, _, shutdown = q.GetWithPriority()
	return item, shutdown
}

func (q *queue[request]) GetWithPriority() (item request, priority int, shutdown bool) {
	q.opening.Do(func() {
		q.mu.Lock()
		defer q.mu.Unlock()
		q.opened = time.Now()
	})
	run, ok := q.keys.Take()
	if !ok {
		return item, 0, true
	}
	q.waited.Observe(run.Waited)
	if q.metrics != nil {
		q.metrics.latency.Observe(run.Waited.Seconds())
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	q.running[run.Key] = &processing[request]{run: run, began: time.Now()}
	return run.Key, run.Priority, false
}

// Done implements priorityqueue.PriorityQueue. It does nothing for an item that is not
// being processed.
func (q *queue[request]) Done(item request) {
	run, result, ok := q.processed(item)
	if !ok {
		return
	}
	took := q.keys.Finish(run, result)
	q.took.Observe(took)
	if q.metrics != nil {
		q.metrics.workDuration.Observe(took.Seconds())
	}
}

// processed counts the result of a run, and returns it. Every failure is terminal there: a
// request that is tried again was added during the run.
func (q *queue[request]) processed(item request) (run keyqueue.Run[request], result keyqueue.Result, ok bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	p, ok := q.running[item]
	if !ok {
		return run, result, false
	}
	delete(q.running, item)
	q.running, q.mostRunning = shrunk(q.running, q.mostRunning)
	if p.forgotten && !p.retried {
		q.counts.succeeded++
		return p.run, result, true
	}
	q.counts.failed++
	if !p.retried {
		q.counts.terminal++
	}
	return p.run, keyqueue.Result{Err: errLogged, Terminal: true}, true
}

// shrunk returns a copy of a map that has an eighth of its former entries or fewer, and
// m otherwise: a Go map keeps the memory of its largest size. most is the largest size
// so far.
func shrunk[K comparable, V any](m map[K]V, most int) (map[K]V, int) {
	const worthIt = 1024
	if most = max(most, len(m)); most < worthIt || len(m) > most/8 {
		return m, most
	}
	smaller := make(map[K]V, len(m))
	maps.Copy(smaller, m)
	return smaller, len(m)
}

// mark calls how with an item's run, if the item is being processed.
func (q *queue[request]) mark(item request, how func(*processing[request])) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if p := q.running[item]; p != nil {
		how(p)
	}
}

func (q *queue[request]) Forget(item request) {
	q.limiter.Forget(item)
	q.mark(item, func(p *processing[request]) { p.forgotten = true })
}

func (q *queue[request]) NumRequeues(item request) int { return q.limiter.NumRequeues(item) }

// Len returns how many requests could be processed at once, including those that were
// added again while they are being processed.
func (q *queue[request]) Len() int {
	n := q.keys.Counts()
	return n.Queued + n.Again
}

func (q *queue[request]) ShuttingDown() bool { return q.keys.Closed() }

// ShutDown refuses new requests and makes Get return true, even if requests are left.
// It may be called more than once.
func (q *queue[request]) ShutDown() {
	q.keys.Stop()
	q.end()
}

// ShutDownWithDrain refuses new requests, and waits until none is being processed, or
// until ShutDown is called.
func (q *queue[request]) ShutDownWithDrain() {
	q.keys.CloseAndDrain()
	q.end()
}

func (q *queue[request]) end() {
	q.ended.Do(func() {
		q.hide()
		close(q.stop)
	})
	q.measure.Wait()
}

// unfinishedEvery is how often unfinished work is counted, as in controller-runtime.
const unfinishedEvery = 500 * time.Millisecond

func (q *queue[request]) countUnfinished() {
	tick := time.Tick(unfinishedEvery)
	for {
		select {
		case <-tick:
			q.mu.Lock()
			all, oldest := q.unfinishedLocked()
			q.mu.Unlock()
			longest := time.Duration(0)
			if !oldest.IsZero() {
				longest = time.Since(oldest)
			}
			q.metrics.unfinished.Set(all.Seconds())
			q.metrics.longest.Set(longest.Seconds())
		case <-q.stop:
			return
		}
	}
}

// unfinishedLocked returns how long the requests being processed have taken so far, and
// when the oldest of them began.
func (q *queue[request]) unfinishedLocked() (all time.Duration, oldest time.Time) {
	for _, p := range q.running {
		all += time.Since(p.began)
		if oldest.IsZero() || p.began.Before(oldest) {
			oldest = p.began
		}
	}
	return all, oldest
}
