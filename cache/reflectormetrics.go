package cache

import (
	"context"
	"strconv"
	"sync"
	"time"

	kc "k8s.io/client-go/tools/cache"

	"github.com/kinglet-go/kinglet/source"
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
// as long as it lives. A watch-list counts as a list up to the end of its
// initial events, and as a watch from there.
func SetReflectorMetricsProvider(metricsProvider MetricsProvider) {
	reflectorMetricsProvider.once.Do(func() {
		kc.SetReflectorMetricsProvider(metricsProvider)
		reflectorMetricsProvider.mu.Lock()
		defer reflectorMetricsProvider.mu.Unlock()
		reflectorMetricsProvider.provider = metricsProvider
	})
}

// reflectorMetrics are the metrics of one reflector; nil if nobody wants any.
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

// moved takes that the store has come to version. One that is no number, as
// aggregated servers may have, is not shown.
func (m *reflectorMetrics) moved(version string) {
	if m == nil {
		return
	}
	if v, err := strconv.ParseFloat(version, 64); err == nil {
		m.lastVersion.Set(v)
	}
}

func (m *reflectorMetrics) listed(since time.Time, items int) {
	m.listDuration.Observe(time.Since(since).Seconds())
	m.itemsInList.Observe(float64(items))
}

// shortWatch is how long a watch lasts at least that is not counted as short.
const shortWatch = time.Second

func (m *reflectorMetrics) watched(since time.Time, items int) {
	lasted := time.Since(since)
	m.watchDuration.Observe(lasted.Seconds())
	m.itemsInWatch.Observe(float64(items))
	if lasted < shortWatch && items == 0 {
		m.shortWatches.Inc()
	}
}

// metered returns src with what it does counted in m, or src if m is nil.
func metered(src source.Source[any], m *reflectorMetrics) source.Source[any] {
	if m == nil {
		return src
	}
	return &meteredSource{Source: src, metrics: m}
}

type meteredSource struct {
	source.Source[any]
	metrics *reflectorMetrics

	// began and items are of the list whose pages are being fetched.
	began time.Time
	items int
}

// WatchListUnsupported passes on what the source says.
func (s *meteredSource) WatchListUnsupported() bool {
	asked, ok := s.Source.(source.WatchListUnsupported)
	return ok && asked.WatchListUnsupported()
}

// Sample implements source.Sampler. It is no list, and not counted as one.
func (s *meteredSource) Sample(ctx context.Context, req source.SampleRequest, yield func(source.Page[any]) error) error {
	return source.Sample(ctx, s.Source, req, yield)
}

// List implements source.Source.
func (s *meteredSource) List(ctx context.Context, req source.ListRequest[any], yield func(source.Page[any]) error) error {
	if req.Continue == "" {
		s.metrics.lists.Inc()
		s.began, s.items = time.Now(), 0
	}
	last := false
	err := s.Source.List(ctx, req, func(page source.Page[any]) error {
		s.items += len(page.Items)
		last = !page.More && page.Continue == ""
		return yield(page)
	})
	if err == nil && last {
		s.metrics.listed(s.began, s.items)
	}
	return err
}

// Watch implements source.Source.
func (s *meteredSource) Watch(ctx context.Context, req source.WatchRequest[any], yield func([]source.Event[any]) error) error {
	began, items, initial := time.Now(), 0, req.SendInitialEvents
	if initial {
		s.metrics.lists.Inc()
	} else {
		s.metrics.watches.Inc()
	}
	err := s.Source.Watch(ctx, req, func(events []source.Event[any]) error {
		for i := range events {
			items++
			if initial && events[i].InitialEventsEnd {
				s.metrics.listed(began, items-1) // without the bookmark
				s.metrics.watches.Inc()
				began, items, initial = time.Now(), 0, false
			}
		}
		return yield(events)
	})
	if !initial {
		s.metrics.watched(began, items)
	}
	return err
}
