package workqueue

//lint:file-ignore SA1019 deprecated names are as much of the surface as others

import (
	"sync"
	"time"

	kw "k8s.io/client-go/util/workqueue"
	"k8s.io/utils/clock"

	"github.com/kinglet-go/kinglet/internal/keyqueue"
)

// Typed is a queue that holds each item once, however often it is added. One worker at
// a time processes an item; an item that is added meanwhile is queued again when that
// is done. Items are handed out in the order in which they were added, unless the
// configuration has another order.
//
// All methods are safe for concurrent use.
type Typed[T comparable] struct {
	queue   *keyqueue.Queue[T]
	metrics queueMetrics[T] // nil if there are none

	// stop ends the goroutine that counts unfinished work, which exists only with
	// metrics, and counting waits for its end.
	stop     chan struct{}
	stopOnce sync.Once
	counting sync.WaitGroup
}

// Deprecated: use Typed instead.
type Type = Typed[any]

// NewTyped returns a queue without metrics.
func NewTyped[T comparable]() *Typed[T] { return NewTypedWithConfig(TypedQueueConfig[T]{}) }

// NewTypedWithConfig returns a queue with a name, metrics, a clock or an order.
// With metrics it has a goroutine, which ends with ShutDown or
// ShutDownWithDrain.
func NewTypedWithConfig[T comparable](config TypedQueueConfig[T]) *Typed[T] {
	if config.Clock == nil {
		config.Clock = clock.RealClock{}
	}
	q := &Typed[T]{
		metrics: newQueueMetrics[T](config.MetricsProvider, config.Name, config.Clock),
		stop:    make(chan struct{}),
	}
	options := keyqueue.Options[T]{Clock: engineClock(config.Clock), AgainAtTheEnd: true}
	if config.Name == "" {
		options.Clock = noClock{}
	}
	if config.Queue != nil {
		options.Order = config.Queue
	}
	if q.metrics != nil {
		options.Observer = q.metrics
	}
	q.queue = keyqueue.New(options)
	if own, ok := q.metrics.(*ownMetrics[T]); ok {
		ticker := config.Clock.NewTicker(unfinishedEvery)
		q.counting.Go(func() { q.countUnfinished(ticker, own) })
	}
	return q
}

// New returns a queue of items of any type without metrics.
//
// Deprecated: use NewTyped instead.
func New() *Type { return NewWithConfig(QueueConfig{}) }

// Deprecated: use NewTypedWithConfig instead.
func NewWithConfig(config QueueConfig) *Type { return NewTypedWithConfig(config) }

// Deprecated: use NewTypedWithConfig instead.
func NewNamed(name string) *Type { return NewWithConfig(QueueConfig{Name: name}) }

// Add queues an item, unless it is queued already. An item that is being processed is
// queued when it is done. After ShutDown, Add does nothing. It does not block.
func (q *Typed[T]) Add(item T) { q.queue.Add(item, keyqueue.AddOptions{}) }

// Len returns how many items are queued, without those that are being processed or wait
// for a delay.
func (q *Typed[T]) Len() int { return q.queue.Counts().Queued }

// Get waits for an item, which is being processed from then on: call Done when that is
// over. It returns true if the queue is shut down and has no more items.
func (q *Typed[T]) Get() (item T, shutdown bool) {
	run, ok := q.queue.Take()
	if own, measured := q.metrics.(*ownMetrics[T]); ok && measured {
		own.waited(run.Waited)
	}
	return run.Key, !ok
}

// Done ends the processing of an item. The item is queued again if it was added
// meanwhile. Done does nothing for an item that is not being processed.
func (q *Typed[T]) Done(item T) { q.queue.Done(item) }

// ShutDown refuses new items. Queued items are still handed out, and Get returns true
// when there are none left. ShutDown ends the wait of ShutDownWithDrain.
func (q *Typed[T]) ShutDown() {
	q.queue.Close()
	q.end()
}

// ShutDownWithDrain is ShutDown, but waits until no item is being processed, or until
// ShutDown is called. As in client-go, it does not wait for queued items while none is
// being processed: the workers may be gone.
func (q *Typed[T]) ShutDownWithDrain() {
	q.stopCounting()
	q.queue.CloseAndDrain()
	q.end()
}

// ShuttingDown reports whether ShutDown or ShutDownWithDrain was called.
func (q *Typed[T]) ShuttingDown() bool { return q.queue.Closed() }

func (q *Typed[T]) stopCounting() { q.stopOnce.Do(func() { close(q.stop) }) }

// end waits for the goroutine that counts.
func (q *Typed[T]) end() {
	q.stopCounting()
	if q.metrics != nil {
		q.metrics.shutDown()
	}
	q.counting.Wait()
}

// unfinishedEvery is how often unfinished work is counted, as in client-go.
const unfinishedEvery = 500 * time.Millisecond

func (q *Typed[T]) countUnfinished(ticker clock.Ticker, m *ownMetrics[T]) {
	defer ticker.Stop()
	for {
		select {
		case <-ticker.C():
			if !q.queue.Closed() {
				m.countUnfinished()
			}
		case <-q.stop:
			return
		}
	}
}

// DefaultQueue returns an order that is first in, first out.
func DefaultQueue[T comparable]() Queue[T] { return kw.DefaultQueue[T]() }
