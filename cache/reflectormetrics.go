package cache

import (
	"strconv"
	"sync"
	"time"

	kc "k8s.io/client-go/tools/cache"
)

// reflectorMetricsProvider is process-wide because SetReflectorMetricsProvider
// is.
var reflectorMetricsProvider struct {
	once     sync.Once
	mu       sync.RWMutex
	provider MetricsProvider // guarded by mu; nil until set
}

// SetReflectorMetricsProvider sets the provider of metrics for all reflectors
// and controllers that start after it. Only the first call counts. It does not
// block and is safe for concurrent use.
//
// Each reflector asks for one set of metrics, by its name, and keeps them for
// its lifetime. A watch-list counts as a list up to the end of its initial
// events, and as a watch from there.
func SetReflectorMetricsProvider(metricsProvider MetricsProvider) {
	reflectorMetricsProvider.once.Do(func() {
		kc.SetReflectorMetricsProvider(metricsProvider)
		reflectorMetricsProvider.mu.Lock()
		defer reflectorMetricsProvider.mu.Unlock()
		reflectorMetricsProvider.provider = metricsProvider
	})
}

// reflectorMetrics are the metrics of one reflector; nil if there are none.
type reflectorMetrics struct {
	lists, watches, shortWatches                           CounterMetric
	listDuration, itemsInList, watchDuration, itemsInWatch SummaryMetric
	lastVersion                                            GaugeMetric
}

func newReflectorMetrics(name string) *reflectorMetrics {
	reflectorMetricsProvider.mu.RLock()
	p := reflectorMetricsProvider.provider
	reflectorMetricsProvider.mu.RUnlock()
	if p == nil {
		return nil
	}
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
