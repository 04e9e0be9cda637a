package prometheus

import (
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/kinglet-go/kinglet"
)

// Options of a Collector. The zero value serves the base metrics.
type Options struct {
	// Detailed adds the metrics that are marked as detailed in the table of
	// docs/observability.md: histograms of handlers' calls, bytes and sizes of
	// stores and indexes, and counts that help developers rather than operators. It
	// costs about three times as many series, and a scrape inspects each informer:
	// see [kinglet.Inspectable].
	Detailed bool
}

// Collector is a [prometheus.Collector] of the informers and controllers of a Set, those
// that it observes included.
type Collector struct {
	set      *kinglet.Set
	opts     Options
	families families
	now      func() time.Time
	writers  sync.Pool // of *textWriter
	// collected is how many metrics the last Collect had.
	collected atomic.Int64
}

// NewCollector returns a Collector of what is in set whenever it is scraped, before Run,
// during it and after it. All its methods are safe for concurrent use. Collect neither
// blocks nor calls the API server; its cost grows with the number of informers, and not
// with the number of objects.
//
// Programs with several sets register each collector with a label of its own:
//
//	prometheus.WrapRegistererWith(prometheus.Labels{"set": "edge"}, registry).MustRegister(collector)
func NewCollector(set *kinglet.Set, opts Options) *Collector {
	c := &Collector{set: set, opts: opts, families: newFamilies(opts), now: time.Now}
	c.writers.New = func() any { return &textWriter{series: make([][]byte, len(c.families.served))} }
	return c
}

// Describe implements prometheus.Collector.
func (c *Collector) Describe(out chan<- *prometheus.Desc) {
	for _, f := range c.families.served {
		out <- f.desc
	}
}

// Collect implements prometheus.Collector.
func (c *Collector) Collect(out chan<- prometheus.Metric) {
	s := &scrape{now: c.now(), metrics: make([]prometheus.Metric, 0, c.collected.Load())}
	c.collect(s)
	c.collected.Store(int64(len(s.metrics)))
	s.send(out)
}

func (c *Collector) collect(s *scrape) {
	c.informers(s)
	c.controllers(s)
}
