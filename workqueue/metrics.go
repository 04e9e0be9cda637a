package workqueue

import (
	"reflect"
	"sync"
	"sync/atomic"
	"time"

	kw "k8s.io/client-go/util/workqueue"
	"k8s.io/utils/clock"

	"github.com/kinglet-go/kinglet/internal/keyqueue"
)

// provider is process-wide because SetProvider is; nil until it is set.
var provider atomic.Pointer[MetricsProvider]

// SetProvider sets the provider of metrics for all queues with a name that are made
// later, here and in client-go. Only the first call counts. It does not block and is
// safe for concurrent use.
//
// Queues of this package that are made before it, or in a program that never calls it,
// use the provider that client-go's package was given: importing
// k8s.io/component-base/metrics/prometheus/workqueue or controller-runtime sets that.
func SetProvider(metricsProvider MetricsProvider) {
	if provider.CompareAndSwap(nil, &metricsProvider) {
		kw.SetProvider(metricsProvider)
	}
}

// providerFor returns the provider of a queue that was given own; nil for client-go's.
func providerFor(own MetricsProvider) MetricsProvider {
	if own != nil {
		return own
	}
	if p := provider.Load(); p != nil {
		return *p
	}
	return nil
}

// queueMetrics are called with a queue's items, under its lock.
type queueMetrics[T comparable] interface {
	keyqueue.Observer[T]
	shutDown()
}

// newQueueMetrics returns nil if the queue has no metrics.
func newQueueMetrics[T comparable](own MetricsProvider, name string, c clock.WithTicker) queueMetrics[T] {
	if name == "" {
		return nil
	}
	p := providerFor(own)
	if p == nil {
		if m := newClientGoMetrics[T](name, c); m != nil {
			return m
		}
		return nil
	}
	return &ownMetrics[T]{
		clock:        c,
		depth:        p.NewDepthMetric(name),
		adds:         p.NewAddsMetric(name),
		latency:      p.NewLatencyMetric(name),
		workDuration: p.NewWorkDurationMetric(name),
		unfinished:   p.NewUnfinishedWorkSecondsMetric(name),
		longest:      p.NewLongestRunningProcessorSecondsMetric(name),
		begun:        map[T]time.Time{},
	}
}

// newRetries returns the counter of a delaying queue's retries, nil if there is none.
func newRetries(own MetricsProvider, name string) CounterMetric {
	if name == "" {
		return nil
	}
	if p := providerFor(own); p != nil {
		return p.NewRetriesMetric(name)
	}
	return newClientGoRetries(name)
}

// ownMetrics measure a queue for a provider.
type ownMetrics[T comparable] struct {
	clock clock.PassiveClock

	depth        GaugeMetric
	adds         CounterMetric
	latency      HistogramMetric
	workDuration HistogramMetric
	unfinished   SettableGaugeMetric
	longest      SettableGaugeMetric

	// mu is locked under the queue's lock, and without that lock to count unfinished
	// work.
	mu    sync.Mutex
	begun map[T]time.Time // guarded by mu; of items that are processed
}

// Added implements keyqueue.Observer.
func (m *ownMetrics[T]) Added(T, int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.adds.Inc()
	m.depth.Inc()
}

// Raised implements keyqueue.Observer: there are no priorities.
func (*ownMetrics[T]) Raised(T, int, int) {}

// Taken implements keyqueue.Observer.
func (m *ownMetrics[T]) Taken(item T, _ int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.depth.Dec()
	m.begun[item] = m.clock.Now()
}

// waited records how long an item was queued.
func (m *ownMetrics[T]) waited(d time.Duration) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.latency.Observe(d.Seconds())
}

// Finished implements keyqueue.Observer.
func (m *ownMetrics[T]) Finished(item T) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if at, ok := m.begun[item]; ok {
		m.workDuration.Observe(m.clock.Since(at).Seconds())
		delete(m.begun, item)
	}
}

func (m *ownMetrics[T]) shutDown() {}

func (m *ownMetrics[T]) countUnfinished() {
	m.mu.Lock()
	defer m.mu.Unlock()
	var total, longest float64
	for _, at := range m.begun {
		age := m.clock.Since(at).Seconds()
		total, longest = total+age, max(longest, age)
	}
	m.unfinished.Set(total)
	m.longest.Set(longest)
}

// clientGoMetrics measure a queue for the provider that client-go's package was given.
// Only a queue of client-go's can reach that provider: one of the same name, without a
// worker, goes through the same steps as ours. It counts unfinished work in a goroutine
// of its own.
type clientGoMetrics[T comparable] struct {
	shadow *kw.Typed[T]
	order  *shadowOrder[T]
}

// newClientGoMetrics returns nil if client-go's package has no provider.
func newClientGoMetrics[T comparable](name string, c clock.WithTicker) *clientGoMetrics[T] {
	m := &clientGoMetrics[T]{order: &shadowOrder[T]{}}
	m.shadow = kw.NewTypedWithConfig(kw.TypedQueueConfig[T]{Name: name, Clock: c, Queue: m.order})
	// These are client-go's own names for a queue without metrics. If it changes them,
	// the shadow measures for nobody.
	if kind := typeWithin(m.shadow, "metrics"); kind != nil && kind == typeWithin(kw.NewTyped[T](), "metrics") {
		m.shadow.ShutDown()
		return nil
	}
	return m
}

// typeWithin returns the dynamic type of an interface in a field of a struct
// behind a pointer, nil if there is none.
func typeWithin(p any, field string) reflect.Type {
	v := reflect.ValueOf(p)
	for v.Kind() == reflect.Pointer || v.Kind() == reflect.Interface {
		v = v.Elem()
	}
	if v.Kind() != reflect.Struct {
		return nil
	}
	if v = v.FieldByName(field); v.Kind() != reflect.Interface || v.IsNil() {
		return nil
	}
	return v.Elem().Type()
}

// Added implements keyqueue.Observer.
func (m *clientGoMetrics[T]) Added(item T, _ int) { m.shadow.Add(item) }

// Raised implements keyqueue.Observer: there are no priorities.
func (*clientGoMetrics[T]) Raised(T, int, int) {}

// Taken implements keyqueue.Observer.
func (m *clientGoMetrics[T]) Taken(item T, _ int) {
	m.order.next = item
	m.shadow.Get()
}

// Finished implements keyqueue.Observer.
func (m *clientGoMetrics[T]) Finished(item T) { m.shadow.Done(item) }

func (m *clientGoMetrics[T]) shutDown() { m.shadow.ShutDown() }

// shadowOrder hands out the item that our queue has handed out. It is never empty, so
// that Get does not wait.
type shadowOrder[T comparable] struct{ next T }

func (*shadowOrder[T]) Touch(T)  {}
func (*shadowOrder[T]) Push(T)   {}
func (*shadowOrder[T]) Len() int { return 1 }

func (o *shadowOrder[T]) Pop() T {
	item := o.next
	o.next = *new(T)
	return item
}

// clientGoRetries counts retries for the provider that client-go's package was given,
// with an empty delaying queue of that name.
type clientGoRetries struct {
	shadow kw.TypedDelayingInterface[int]
}

func newClientGoRetries(name string) CounterMetric {
	below := &shadowBelow{ended: make(chan struct{})}
	r := clientGoRetries{kw.NewTypedDelayingQueueWithConfig(kw.TypedDelayingQueueConfig[int]{
		Name: name, Clock: shadowClock{}, Queue: below,
	})}
	<-below.ended
	return r
}

// Inc implements CounterMetric.
func (r clientGoRetries) Inc() { r.shadow.AddAfter(0, 0) }

// shadowBelow is the queue below the delaying queue. It reports that it is shutting
// down only to its first caller, the goroutine of the delaying queue, which ends then.
type shadowBelow struct {
	kw.TypedInterface[int]
	ended chan struct{}
}

func (*shadowBelow) Add(int) {}

func (s *shadowBelow) ShuttingDown() bool {
	select {
	case <-s.ended:
		return false
	default:
		close(s.ended)
		return true
	}
}

// shadowClock makes tickers that never tick.
type shadowClock struct{ clock.RealClock }

func (shadowClock) NewTicker(time.Duration) clock.Ticker { return shadowTicker{} }

type shadowTicker struct{}

func (shadowTicker) C() <-chan time.Time { return nil }
func (shadowTicker) Stop()               {}
