package cache

import (
	"sync"
	"time"

	kc "k8s.io/client-go/tools/cache"
)

// informerMetrics holds the process-wide provider. It is a global because
// SetInformerMetricsProvider has no other place to put it.
var informerMetrics struct {
	once     sync.Once
	mu       sync.RWMutex
	provider InformerMetricsProvider // guarded by mu; nil until set
}

// SetInformerMetricsProvider sets the provider of metrics for all queues and
// stores that are made after it and name none of their own. Only the first call
// counts. Client-go's own informers, which another part of the program may
// still use, get the same provider. It does not block and is safe for
// concurrent use.
func SetInformerMetricsProvider(metricsProvider InformerMetricsProvider) {
	informerMetrics.once.Do(func() {
		kc.SetInformerMetricsProvider(metricsProvider)
		informerMetrics.mu.Lock()
		defer informerMetrics.mu.Unlock()
		informerMetrics.provider = metricsProvider
	})
}

// informerMetricsProvider returns the process-wide provider, or one that does
// nothing.
func informerMetricsProvider() InformerMetricsProvider {
	informerMetrics.mu.RLock()
	defer informerMetrics.mu.RUnlock()
	if informerMetrics.provider == nil {
		return noInformerMetrics{}
	}
	return informerMetrics.provider
}

// queueMetrics are the metrics of one queue; zero if there are none.
type queueMetrics struct {
	queued  GaugeMetric
	latency HistogramMetric
}

// waiting reports the length of a queue.
func (m queueMetrics) waiting(queue interface{ Len() int }) {
	if m.queued != nil {
		m.show(queue.Len())
	}
}

// show reports that n items are queued.
func (m queueMetrics) show(n int) {
	if m.queued != nil {
		m.queued.Set(float64(n))
	}
}

// processed starts a timer, and returns a function that is to be called when
// the processing that begins now has ended.
func (m queueMetrics) processed() func() {
	if m.latency == nil {
		return func() {}
	}
	began := time.Now()
	return func() { m.observe(began) }
}

// observe reports the time since processing began.
func (m queueMetrics) observe(began time.Time) {
	if m.latency != nil {
		m.latency.Observe(time.Since(began).Seconds())
	}
}

// newQueueMetrics asks provider, or the process-wide one if it is nil, for the
// metrics of a queue. A queue whose name is not reserved has none.
func newQueueMetrics(id InformerNameAndResource, provider InformerMetricsProvider) queueMetrics {
	if !id.Reserved() {
		return queueMetrics{}
	}
	if provider == nil {
		provider = informerMetricsProvider()
	}
	return queueMetrics{
		queued:  provider.NewQueuedItemMetric(id),
		latency: provider.NewProcessingLatencyMetric(id),
	}
}

// noopMetric implements every metric and does nothing.
type noopMetric struct{}

func (noopMetric) Inc()            {}
func (noopMetric) Set(float64)     {}
func (noopMetric) Observe(float64) {}

// noInformerMetrics provides noopMetric.
type noInformerMetrics struct{}

func (noInformerMetrics) NewQueuedItemMetric(InformerNameAndResource) GaugeMetric {
	return noopMetric{}
}

func (noInformerMetrics) NewProcessingLatencyMetric(InformerNameAndResource) HistogramMetric {
	return noopMetric{}
}

func (noInformerMetrics) NewStoreResourceVersionMetric(InformerNameAndResource) GaugeMetric {
	return noopMetric{}
}
