package cache

import (
	"strconv"
	"sync/atomic"
	"time"

	kc "k8s.io/client-go/tools/cache"
)

// informerMetrics is the process-wide provider, nil until it is set. It is a
// global because SetInformerMetricsProvider has no other place to put it.
var informerMetrics atomic.Pointer[InformerMetricsProvider]

// SetInformerMetricsProvider sets the provider of metrics for all queues and
// stores that are made after it and name none of their own. Only the first call
// counts. Client-go's own informers, which another part of the program may
// still use, get the same provider. It does not block and is safe for
// concurrent use.
func SetInformerMetricsProvider(metricsProvider InformerMetricsProvider) {
	if informerMetrics.CompareAndSwap(nil, &metricsProvider) {
		kc.SetInformerMetricsProvider(metricsProvider)
	}
}

// providerFor returns the provider of metrics under a name: own or, if it is nil, the
// process-wide one; nil if there is none, or the name is not reserved.
func providerFor(id InformerNameAndResource, own InformerMetricsProvider) InformerMetricsProvider {
	switch {
	case !id.Reserved():
		return nil
	case own != nil:
		return own
	}
	if p := informerMetrics.Load(); p != nil {
		return *p
	}
	return nil
}

// queueMetrics are the metrics of one queue; zero if there are none.
type queueMetrics struct {
	queued  GaugeMetric
	latency HistogramMetric
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

// newQueueMetrics returns the metrics of a queue: see providerFor.
func newQueueMetrics(id InformerNameAndResource, own InformerMetricsProvider) queueMetrics {
	p := providerFor(id, own)
	if p == nil {
		return queueMetrics{}
	}
	return queueMetrics{queued: p.NewQueuedItemMetric(id), latency: p.NewProcessingLatencyMetric(id)}
}

// meter reports what an informer does in metrics. There is no queue between
// its source and its store that could be measured as client-go's is. Instead a
// list, or a batch of events, counts as queued from its arrival until its
// items are in the store and in the queues of the handlers. The time in
// between is the processing latency.
type meter struct {
	queue queueMetrics
	// version returns the store's version. moved is called with it when it has
	// changed.
	version func() string
	moved   func(version string)
	// reported is the resource version that moved was last called with.
	reported string

	// listed is when the list that is not in the store yet was complete.
	listed time.Time
}

// If m is nil, the methods only call what they wrap.

// complete reports a list whose pages have all arrived.
func (m *meter) complete(items int) {
	if m != nil {
		m.listed = time.Now()
		m.queue.show(items)
	}
}

// process reports n items as queued while do runs.
func (m *meter) process(n int, do func() error) error {
	if m == nil {
		return do()
	}
	m.queue.show(n)
	defer m.processed(time.Now())
	return do()
}

// processed reports that the queued items have been processed, since began.
func (m *meter) processed(began time.Time) {
	m.queue.observe(began)
	m.queue.show(0)
	if v := m.version(); v != m.reported {
		m.reported = v
		m.moved(v)
	}
}

// settle reports that the last list is in the store.
func (m *meter) settle() {
	if m != nil && !m.listed.IsZero() {
		m.processed(m.listed)
		m.listed = time.Time{}
	}
}

// Names of informers are client-go's, so that they are unique in a process
// that runs informers of both.

// NewInformerName reserves a name for a factory of informers, under which
// their metrics appear. The error reports that the name is empty, or in use. It
// is in use until Release is called on it.
func NewInformerName(name string) (*InformerName, error) { return kc.NewInformerName(name) }

// ResetInformerNamesForTesting releases every name of the process.
func ResetInformerNamesForTesting() { kc.ResetInformerNamesForTesting() }

// reflectorMetricsProvider is process-wide because SetReflectorMetricsProvider
// is; nil until it is set.
var reflectorMetricsProvider atomic.Pointer[MetricsProvider]

// SetReflectorMetricsProvider sets the provider of metrics for all reflectors
// and controllers that start after it. Only the first call counts. It does not
// block and is safe for concurrent use.
//
// Each reflector asks for one set of metrics, by its name, and keeps them for
// its lifetime. A watch-list counts as a list up to the end of its initial
// events, and as a watch from there.
func SetReflectorMetricsProvider(metricsProvider MetricsProvider) {
	if reflectorMetricsProvider.CompareAndSwap(nil, &metricsProvider) {
		kc.SetReflectorMetricsProvider(metricsProvider)
	}
}

// reflectorMetrics are the metrics of one reflector; nil if there are none.
type reflectorMetrics struct {
	lists, watches, shortWatches                           CounterMetric
	listDuration, itemsInList, watchDuration, itemsInWatch SummaryMetric
	lastVersion                                            GaugeMetric
}

func newReflectorMetrics(name string) *reflectorMetrics {
	set := reflectorMetricsProvider.Load()
	if set == nil || *set == nil {
		return nil
	}
	p := *set
	return &reflectorMetrics{
		lists:         p.NewListsMetric(name),
		listDuration:  p.NewListDurationMetric(name),
		itemsInList:   p.NewItemsInListMetric(name),
		watches:       p.NewWatchesMetric(name),
		shortWatches:  p.NewShortWatchesMetric(name),
		watchDuration: p.NewWatchDurationMetric(name),
		itemsInWatch:  p.NewItemsInWatchMetric(name),
		lastVersion:   p.NewLastResourceVersionMetric(name),
	}
}

// All methods do nothing if m is nil.

// moved reports the version that the store has reached. A version that is not
// a number, as aggregated servers may have, is not reported.
func (m *reflectorMetrics) moved(version string) {
	if m == nil {
		return
	}
	if v, err := strconv.ParseFloat(version, 64); err == nil {
		m.lastVersion.Set(v)
	}
}

func (m *reflectorMetrics) listing() {
	if m != nil {
		m.lists.Inc()
	}
}

func (m *reflectorMetrics) listed(since time.Time, items int) {
	if m != nil {
		m.listDuration.Observe(time.Since(since).Seconds())
		m.itemsInList.Observe(float64(items))
	}
}

func (m *reflectorMetrics) watching() {
	if m != nil {
		m.watches.Inc()
	}
}

// shortWatch is the least duration of a watch that is not counted as short.
const shortWatch = time.Second

func (m *reflectorMetrics) watched(since time.Time, items int) {
	if m == nil {
		return
	}
	lasted := time.Since(since)
	m.watchDuration.Observe(lasted.Seconds())
	m.itemsInWatch.Observe(float64(items))
	if lasted < shortWatch && items == 0 {
		m.shortWatches.Inc()
	}
}
