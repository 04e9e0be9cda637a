package workqueue

//lint:file-ignore SA1019 deprecated names are as much of the surface as others

import (
	"sync"
	"time"

	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/klog/v2"
	"k8s.io/utils/clock"
	"k8s.io/utils/ptr"

	"github.com/kinglet-go/kinglet/internal/keyqueue"
)

// NewTypedDelayingQueue returns a queue to which items can be added later,
// without metrics.
func NewTypedDelayingQueue[T comparable]() TypedDelayingInterface[T] {
	return NewTypedDelayingQueueWithConfig(TypedDelayingQueueConfig[T]{})
}

// NewTypedDelayingQueueWithConfig is [NewTypedDelayingQueue] with a name, metrics, a
// clock, or a queue below it.
//
// Delays are separate from the queue: an item may wait for its delay while it is queued
// or processed, and an Add does not end a delay. Of two delays of an item, the earlier
// counts. AddAfter never blocks.
//
// The queue has a goroutine, which ends with ShutDown or ShutDownWithDrain. If it was
// given a clock or a queue below it, it has a second one: if the queue below is shut
// down directly, that one ends both within 10 s of the clock.
func NewTypedDelayingQueueWithConfig[T comparable](config TypedDelayingQueueConfig[T]) TypedDelayingInterface[T] {
	if config.Clock == nil {
		config.Clock = clock.RealClock{}
	}
	own := config.Queue == nil
	if own {
		config.Queue = NewTypedWithConfig(TypedQueueConfig[T]{
			Name:            config.Name,
			MetricsProvider: config.MetricsProvider,
			Clock:           config.Clock,
		})
	}
	q := &delayingQueue[T]{
		TypedInterface: config.Queue,
		waiting:        keyqueue.New(keyqueue.Options[T]{Clock: engineClock(config.Clock)}),
		retries:        newRetries(config.MetricsProvider, config.Name),
		stop:           make(chan struct{}),
	}
	if !own || !isReal(config.Clock) {
		timer := config.Clock.NewTimer(heartbeat)
		go q.watchBelow(timer)
	}
	go q.move(ptr.Deref(config.Logger, klog.Background()))
	return q
}

// Deprecated: use NewTypedDelayingQueue instead.
func TypedNewDelayingQueue[T comparable]() TypedDelayingInterface[T] {
	return NewTypedDelayingQueue[T]()
}

// Deprecated: use NewTypedDelayingQueue instead.
func NewDelayingQueue() DelayingInterface { return NewDelayingQueueWithConfig(DelayingQueueConfig{}) }

// Deprecated: use NewTypedDelayingQueueWithConfig instead.
func NewDelayingQueueWithConfig(config DelayingQueueConfig) DelayingInterface {
	return NewTypedDelayingQueueWithConfig[any](config)
}

// Deprecated: use NewTypedDelayingQueueWithConfig instead.
func NewDelayingQueueWithCustomQueue(q Interface, name string) DelayingInterface {
	return NewDelayingQueueWithConfig(DelayingQueueConfig{Name: name, Queue: q})
}

// Deprecated: use NewTypedDelayingQueueWithConfig instead.
func NewNamedDelayingQueue(name string) DelayingInterface {
	return NewDelayingQueueWithConfig(DelayingQueueConfig{Name: name})
}

// Deprecated: use NewTypedDelayingQueueWithConfig instead.
func NewDelayingQueueWithCustomClock(clock clock.WithTicker, name string) DelayingInterface {
	return NewDelayingQueueWithConfig(DelayingQueueConfig{Name: name, Clock: clock})
}

// delayingQueue is a queue with items beside it that wait for their delays.
type delayingQueue[T comparable] struct {
	TypedInterface[T]
	// waiting holds the items with a delay. It is a queue whose one worker adds due
	// items to the queue below.
	waiting *keyqueue.Queue[T]
	retries CounterMetric // nil if there is none

	stop     chan struct{} // closed when the delays are over
	stopOnce sync.Once
}

// AddAfter adds an item when the delay is over, or at once if there is none.
func (q *delayingQueue[T]) AddAfter(item T, duration time.Duration) {
	if q.ShuttingDown() {
		return
	}
	if q.retries != nil {
		q.retries.Inc()
	}
	if duration <= 0 {
		q.Add(item)
		return
	}
	q.waiting.Add(item, keyqueue.AddOptions{After: duration})
}

// ShutDown drops waiting items and shuts down the queue below.
func (q *delayingQueue[T]) ShutDown() {
	q.TypedInterface.ShutDown()
	q.end()
}

// ShutDownWithDrain drops waiting items and drains the queue below.
func (q *delayingQueue[T]) ShutDownWithDrain() {
	q.end()
	q.TypedInterface.ShutDownWithDrain()
}

func (q *delayingQueue[T]) end() {
	q.stopOnce.Do(func() {
		close(q.stop)
		q.waiting.Stop()
	})
}

// move adds due items to the queue below.
func (q *delayingQueue[T]) move(logger klog.Logger) {
	defer utilruntime.HandleCrashWithLogger(logger)
	for {
		run, ok := q.waiting.Take()
		if !ok {
			return
		}
		if q.TypedInterface.ShuttingDown() {
			q.end()
			return
		}
		// Before the Add, which may block: an AddAfter from now on is another delay.
		q.waiting.Finish(run, keyqueue.Result{})
		q.Add(run.Key)
	}
}

// heartbeat is how often the queue below is checked for a shutdown, as in client-go.
const heartbeat = 10 * time.Second

func (q *delayingQueue[T]) watchBelow(timer clock.Timer) {
	defer timer.Stop()
	for {
		select {
		case <-timer.C():
			if q.TypedInterface.ShuttingDown() {
				q.end()
				return
			}
			timer.Reset(heartbeat)
		case <-q.stop:
			return
		}
	}
}

// NewTypedRateLimitingQueue returns a delaying queue without metrics whose
// AddRateLimited takes the delay from the limiter. Call Forget when an item needs no
// more retries: until then its next delay is longer.
func NewTypedRateLimitingQueue[T comparable](rateLimiter TypedRateLimiter[T]) TypedRateLimitingInterface[T] {
	return NewTypedRateLimitingQueueWithConfig(rateLimiter, TypedRateLimitingQueueConfig[T]{})
}

// NewTypedRateLimitingQueueWithConfig is [NewTypedRateLimitingQueue] with a name,
// metrics, a clock, or a delaying queue below it.
func NewTypedRateLimitingQueueWithConfig[T comparable](rateLimiter TypedRateLimiter[T], config TypedRateLimitingQueueConfig[T]) TypedRateLimitingInterface[T] {
	if config.DelayingQueue == nil {
		config.DelayingQueue = NewTypedDelayingQueueWithConfig(TypedDelayingQueueConfig[T]{
			Name:            config.Name,
			MetricsProvider: config.MetricsProvider,
			Clock:           config.Clock,
		})
	}
	return &rateLimitingQueue[T]{config.DelayingQueue, rateLimiter}
}

// Deprecated: use NewTypedRateLimitingQueue instead.
func NewRateLimitingQueue(rateLimiter RateLimiter) RateLimitingInterface {
	return NewRateLimitingQueueWithConfig(rateLimiter, RateLimitingQueueConfig{})
}

// Deprecated: use NewTypedRateLimitingQueueWithConfig instead.
func NewRateLimitingQueueWithConfig(rateLimiter RateLimiter, config RateLimitingQueueConfig) RateLimitingInterface {
	return NewTypedRateLimitingQueueWithConfig[any](rateLimiter, config)
}

// Deprecated: use NewTypedRateLimitingQueueWithConfig instead.
func NewNamedRateLimitingQueue(rateLimiter RateLimiter, name string) RateLimitingInterface {
	return NewRateLimitingQueueWithConfig(rateLimiter, RateLimitingQueueConfig{Name: name})
}

// Deprecated: use NewTypedRateLimitingQueueWithConfig instead.
func NewRateLimitingQueueWithDelayingInterface(di DelayingInterface, rateLimiter RateLimiter) RateLimitingInterface {
	return NewRateLimitingQueueWithConfig(rateLimiter, RateLimitingQueueConfig{DelayingQueue: di})
}

// rateLimitingQueue is a delaying queue with a limiter.
type rateLimitingQueue[T comparable] struct {
	TypedDelayingInterface[T]
	rateLimiter TypedRateLimiter[T]
}

// AddRateLimited adds an item after the delay that the limiter returns.
func (q *rateLimitingQueue[T]) AddRateLimited(item T) { q.AddAfter(item, q.rateLimiter.When(item)) }

func (q *rateLimitingQueue[T]) NumRequeues(item T) int { return q.rateLimiter.NumRequeues(item) }

func (q *rateLimitingQueue[T]) Forget(item T) { q.rateLimiter.Forget(item) }
