package workqueue

import (
	"reflect"
	"time"

	kw "k8s.io/client-go/util/workqueue"
	"k8s.io/utils/clock"
)

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
