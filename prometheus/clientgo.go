package prometheus

import (
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/util/workqueue"

	"github.com/kinglet-go/kinglet"
	"github.com/kinglet-go/kinglet/status"
)

// ClientGo serves metrics under the names that client-go's packages, k8s.io/component-base
// and controller-runtime use, so that dashboards made for them go on working. It is
//
//   - a provider, to which client-go's and kinglet's work queues, reflectors and informers
//     report:
//     workqueue.SetProvider(c), cache.SetReflectorMetricsProvider(c), [InformerMetrics];
//   - a collector of what was reported, and of the controllers and informers of a Set,
//     whose numbers it reads when it is scraped.
//
// A series lives as long as the queue, reflector or informer that reports it, and ends
// when the garbage collector has freed that. If several have the same name, the series is
// their sum; for versions and longest runs it is their maximum.
//
// controller-runtime has a work queue provider with the same names: do not register both
// with one registry.
//
// All methods are safe for concurrent use. Reporting costs a few nanoseconds.
type ClientGo struct {
	set      *kinglet.Set
	families clientGoFamilies

	queueDepth, queueAdds, queueRetries, queueUnfinished, queueLongest live[value]
	queueWaits, queueRuns                                              live[durations]

	lists, watches, shortWatches, lastVersion                live[value]
	listDuration, itemsInList, watchDuration, itemsInWatches live[sum]

	queuedItems, storeVersion live[value]
	latency                   live[durations]
}

// NewClientGo returns a ClientGo. It also serves the controllers and informers of set,
// which may be nil.
func NewClientGo(set *kinglet.Set) *ClientGo {
	return &ClientGo{set: set, families: newClientGoFamilies()}
}

var (
	_ prometheus.Collector      = (*ClientGo)(nil)
	_ workqueue.MetricsProvider = (*ClientGo)(nil)
	_ cache.MetricsProvider     = (*ClientGo)(nil)
)

// NewDepthMetric and the methods that follow implement workqueue.MetricsProvider.
func (c *ClientGo) NewDepthMetric(name string) workqueue.GaugeMetric {
	return c.queueDepth.add(seriesKey{name}, nil)
}

func (c *ClientGo) NewAddsMetric(name string) workqueue.CounterMetric {
	return c.queueAdds.add(seriesKey{name}, nil)
}

func (c *ClientGo) NewLatencyMetric(name string) workqueue.HistogramMetric {
	return c.queueWaits.add(seriesKey{name}, nil)
}

func (c *ClientGo) NewWorkDurationMetric(name string) workqueue.HistogramMetric {
	return c.queueRuns.add(seriesKey{name}, nil)
}

func (c *ClientGo) NewUnfinishedWorkSecondsMetric(name string) workqueue.SettableGaugeMetric {
	return c.queueUnfinished.add(seriesKey{name}, nil)
}

func (c *ClientGo) NewLongestRunningProcessorSecondsMetric(name string) workqueue.SettableGaugeMetric {
	return c.queueLongest.add(seriesKey{name}, nil)
}

func (c *ClientGo) NewRetriesMetric(name string) workqueue.CounterMetric {
	return c.queueRetries.add(seriesKey{name}, nil)
}

// NewListsMetric and the methods that follow implement cache.MetricsProvider, which is
// that of reflectors.
func (c *ClientGo) NewListsMetric(name string) cache.CounterMetric {
	return c.lists.add(seriesKey{name}, nil)
}

func (c *ClientGo) NewListDurationMetric(name string) cache.SummaryMetric {
	return c.listDuration.add(seriesKey{name}, nil)
}

func (c *ClientGo) NewItemsInListMetric(name string) cache.SummaryMetric {
	return c.itemsInList.add(seriesKey{name}, nil)
}

func (c *ClientGo) NewWatchesMetric(name string) cache.CounterMetric {
	return c.watches.add(seriesKey{name}, nil)
}

func (c *ClientGo) NewShortWatchesMetric(name string) cache.CounterMetric {
	return c.shortWatches.add(seriesKey{name}, nil)
}

func (c *ClientGo) NewWatchDurationMetric(name string) cache.SummaryMetric {
	return c.watchDuration.add(seriesKey{name}, nil)
}

func (c *ClientGo) NewItemsInWatchMetric(name string) cache.SummaryMetric {
	return c.itemsInWatches.add(seriesKey{name}, nil)
}

func (c *ClientGo) NewLastResourceVersionMetric(name string) cache.GaugeMetric {
	return c.lastVersion.add(seriesKey{name}, nil)
}

// Describe implements prometheus.Collector.
func (c *ClientGo) Describe(out chan<- *prometheus.Desc) {
	for _, f := range c.families.served {
		out <- f.desc
	}
}

// Collect implements prometheus.Collector.
func (c *ClientGo) Collect(out chan<- prometheus.Metric) {
	s := scrape{now: time.Now()}
	defer func() { s.send(out) }()
	f := &c.families
	queues := c.queueDepth.collect(func(l labels, of []*value) { s.gauge(f.depth, l, total(of)) }, &s, f.depth)
	c.queueAdds.collect(func(l labels, of []*value) { s.counterValue(f.adds, l, total(of)) }, &s, f.adds)
	c.queueRetries.collect(func(l labels, of []*value) { s.counterValue(f.retries, l, total(of)) }, &s, f.retries)
	c.queueUnfinished.collect(func(l labels, of []*value) { s.gauge(f.unfinished, l, total(of)) }, &s, f.unfinished)
	c.queueLongest.collect(func(l labels, of []*value) { s.gauge(f.longest, l, most(of)) }, &s, f.longest)
	c.queueWaits.collect(func(l labels, of []*durations) { s.histogram(f.waits, l, merged(of)) }, &s, f.waits)
	c.queueRuns.collect(func(l labels, of []*durations) { s.histogram(f.runs, l, merged(of)) }, &s, f.runs)

	c.lists.collect(func(l labels, of []*value) { s.counterValue(f.lists, l, total(of)) }, &s, f.lists)
	c.watches.collect(func(l labels, of []*value) { s.counterValue(f.watches, l, total(of)) }, &s, f.watches)
	c.shortWatches.collect(func(l labels, of []*value) { s.counterValue(f.shortWatches, l, total(of)) }, &s, f.shortWatches)
	c.lastVersion.collect(func(l labels, of []*value) { s.gauge(f.lastVersion, l, most(of)) }, &s, f.lastVersion)
	c.listDuration.collect(func(l labels, of []*sum) { s.sums(f.listDuration, l, of) }, &s, f.listDuration)
	c.itemsInList.collect(func(l labels, of []*sum) { s.sums(f.itemsInList, l, of) }, &s, f.itemsInList)
	c.watchDuration.collect(func(l labels, of []*sum) { s.sums(f.watchDuration, l, of) }, &s, f.watchDuration)
	c.itemsInWatches.collect(func(l labels, of []*sum) { s.sums(f.itemsInWatch, l, of) }, &s, f.itemsInWatch)

	c.queuedItems.collect(func(l labels, of []*value) { s.gauge(f.queuedItems, l, total(of)) }, &s, f.queuedItems)
	c.latency.collect(func(l labels, of []*durations) { s.histogram(f.latency, l, merged(of)) }, &s, f.latency)
	informers := c.storeVersion.collect(func(l labels, of []*value) { s.gauge(f.storeVersion, l, most(of)) }, &s, f.storeVersion)
	if c.set != nil {
		c.controllers(&s, queues)
		c.informers(&s, informers)
	}
}

// controllers serves the set's controllers as work queues, except those whose names
// queues report under.
func (c *ClientGo) controllers(s *scrape, reported map[seriesKey]bool) {
	var used names
	for _, ctrl := range c.set.Controllers() {
		st := ctrl.Report()
		key := seriesKey{used.unique(st.Name)}
		if reported[key] {
			continue
		}
		f, l := &c.families, key.labels(s, c.families.depth)
		s.gauge(f.depth, l, float64(st.Queued))
		s.counter(f.adds, l, st.Adds)
		s.counter(f.retries, l, st.Retries)
		s.histogram(f.waits, l, &st.Waits)
		s.histogram(f.runs, l, &st.Runs)
		unfinished, longest := running(s.now, ctrl.ReportDetails())
		s.gauge(f.unfinished, l, unfinished)
		s.gauge(f.longest, l, longest)
	}
}

// running returns how long the keys under way have been running, in seconds: the sum
// and the maximum.
func running(now time.Time, d status.ControllerDetails) (all, longest float64) {
	for _, key := range d.Running {
		took := max(now.Sub(key.Since).Seconds(), 0)
		all += took
		longest = max(longest, took)
	}
	return all, longest
}

// informers serves the versions of the set's informers, except those that report them.
func (c *ClientGo) informers(s *scrape, reported map[seriesKey]bool) {
	var used names
	for _, inf := range c.set.Observed() {
		st := inf.Status()
		key := seriesKey{used.unique(st.Name), st.Resource.Group, st.Resource.Version, st.Resource.Resource}
		if v, err := strconv.ParseUint(st.ResourceVersion, 10, 64); err == nil && !reported[key] {
			// The last 15 digits, as client-go has it: a float64 has no more.
			s.gauge(c.families.storeVersion, key.labels(s, c.families.storeVersion), float64(v%1e15))
		}
	}
}
