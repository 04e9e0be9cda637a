package prometheus

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/kinglet-go/kinglet"
	"github.com/kinglet-go/kinglet/status"
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
	set *kinglet.Set
	now func() time.Time
	list
	informer   *metrics[status.Informer]
	details    *metrics[status.Details]
	handler    *metrics[status.Handler]
	sharing    *metrics[status.Sharing]
	controller *metrics[status.Controller]
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
	c := &Collector{set: set, now: time.Now, list: list{prefix: "kinglet_", detailed: opts.Detailed}}
	c.informer, c.details = informerMetrics(&c.list), detailMetrics(&c.list)
	c.handler, c.sharing = handlerMetrics(&c.list), sharingMetrics(&c.list)
	c.controller = controllerMetrics(&c.list)
	return c
}

// Describe implements prometheus.Collector.
func (c *Collector) Describe(out chan<- *prometheus.Desc) { c.describe(out) }

// Collect implements prometheus.Collector.
func (c *Collector) Collect(out chan<- prometheus.Metric) {
	s := &scrape{now: c.now(), out: out}
	c.informers(s)
	c.controllers(s)
}
