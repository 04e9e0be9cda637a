package ctrlruntime

import (
	"errors"
	"regexp"
	"strconv"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/client-go/util/workqueue"
	logf "sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/metrics"
)

// PriorityDepth counts queued requests by priority.
type PriorityDepth interface {
	Inc(priority int)
	Dec(priority int)
}

// DepthByPriority is a workqueue.MetricsProvider that counts the depth of a queue by
// priority, and whose NewDepthMetric is not called.
type DepthByPriority interface {
	workqueue.MetricsProvider
	NewDepthByPriority(name string) PriorityDepth
}

// queueMetrics measure a queue.
type queueMetrics[request comparable] struct {
	depth                 PriorityDepth
	adds, retries         workqueue.CounterMetric
	latency, workDuration workqueue.HistogramMetric
	unfinished, longest   workqueue.SettableGaugeMetric
}

// newQueueMetrics uses controller-runtime's metrics if provider is nil.
func newQueueMetrics[request comparable](provider workqueue.MetricsProvider, name string) *queueMetrics[request] {
	if provider == nil {
		provider = registered()
	}
	m := &queueMetrics[request]{
		adds:         provider.NewAddsMetric(name),
		retries:      provider.NewRetriesMetric(name),
		latency:      provider.NewLatencyMetric(name),
		workDuration: provider.NewWorkDurationMetric(name),
		unfinished:   provider.NewUnfinishedWorkSecondsMetric(name),
		longest:      provider.NewLongestRunningProcessorSecondsMetric(name),
	}
	if by, ok := provider.(DepthByPriority); ok {
		m.depth = by.NewDepthByPriority(name)
	} else {
		m.depth = plainDepth{provider.NewDepthMetric(name)}
	}
	return m
}

// plainDepth is a depth without priorities.
type plainDepth struct{ gauge workqueue.GaugeMetric }

func (d plainDepth) Inc(int) { d.gauge.Inc() }
func (d plainDepth) Dec(int) { d.gauge.Dec() }

// Added implements keyqueue.Observer.
func (m *queueMetrics[request]) Added(_ request, priority int) {
	m.adds.Inc()
	m.depth.Inc(priority)
}

// Raised implements keyqueue.Observer.
func (m *queueMetrics[request]) Raised(_ request, from, to int) {
	m.depth.Dec(from)
	m.depth.Inc(to)
}

// Taken implements keyqueue.Observer.
func (m *queueMetrics[request]) Taken(_ request, priority int) { m.depth.Dec(priority) }

// Finished implements keyqueue.Observer.
func (*queueMetrics[request]) Finished(request) {}

func (m *queueMetrics[request]) setUnfinished(all, longest time.Duration) {
	m.unfinished.Set(all.Seconds())
	m.longest.Set(longest.Seconds())
}

// registry is a DepthByPriority over the collectors that controller-runtime has
// registered for its own queues, so that dashboards and alerts for these cover ours.
type registry struct {
	depth, unfinished, longest *prometheus.GaugeVec
	adds, retries              *prometheus.CounterVec
	latency, workDuration      *prometheus.HistogramVec
}

// registered returns the process's registry. controller-runtime does not export its
// collectors, but its registry returns them when others of the same name, labels and
// help are registered.
var registered = sync.OnceValue(func() *registry {
	r := registrations{help: helpTexts(metrics.Registry)}
	gauge := func(key string, labels ...string) *prometheus.GaugeVec {
		return register(&r, prometheus.NewGaugeVec(prometheus.GaugeOpts(r.opts(key)), queueLabels(labels)))
	}
	counter := func(key string) *prometheus.CounterVec {
		return register(&r, prometheus.NewCounterVec(prometheus.CounterOpts(r.opts(key)), queueLabels(nil)))
	}
	histogram := func(key string) *prometheus.HistogramVec {
		o := r.opts(key)
		return register(&r, prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Subsystem: o.Subsystem, Name: o.Name, Help: o.Help,
			Buckets: prometheus.ExponentialBuckets(1e-8, 10, 12), // up to 1000 s
		}, queueLabels(nil)))
	}
	all := &registry{
		depth:        gauge(metrics.DepthKey, "priority"),
		unfinished:   gauge(metrics.UnfinishedWorkKey),
		longest:      gauge(metrics.LongestRunningProcessorKey),
		adds:         counter(metrics.AddsKey),
		retries:      counter(metrics.RetriesKey),
		latency:      histogram(metrics.QueueLatencyKey),
		workDuration: histogram(metrics.WorkDurationKey),
	}
	if err := errors.Join(r.errs...); err != nil {
		logf.Log.WithName("kinglet").Error(err, "Some metrics of queues are not in controller-runtime's registry")
	}
	return all
})

func queueLabels(more []string) []string { return append([]string{"name", "controller"}, more...) }

// registrations are attempts to register collectors.
type registrations struct {
	help map[string]string // by full name
	errs []error
}

func (r *registrations) opts(key string) prometheus.Opts {
	name := prometheus.BuildFQName("", metrics.WorkQueueSubsystem, key)
	help := r.help[name]
	if help == "" {
		help = "Of the queues of controllers: " + key
	}
	return prometheus.Opts{Subsystem: metrics.WorkQueueSubsystem, Name: key, Help: help}
}

// register registers c. It returns the collector that the registry has already, or c.
func register[C prometheus.Collector](r *registrations, c C) C {
	err := metrics.Registry.Register(c)
	if already, ok := errors.AsType[prometheus.AlreadyRegisteredError](err); ok {
		if had, ok := already.ExistingCollector.(C); ok {
			return had
		}
	}
	if err != nil {
		r.errs = append(r.errs, err)
	}
	return c
}

var descPattern = regexp.MustCompile(`fqName: ("(?:[^"\\]|\\.)*"), help: ("(?:[^"\\]|\\.)*")`)

// helpTexts returns the help of each metric in a registry that can describe itself.
func helpTexts(registry any) map[string]string {
	collector, ok := registry.(prometheus.Collector)
	if !ok {
		return nil
	}
	descs := make(chan *prometheus.Desc)
	go func() {
		defer close(descs)
		collector.Describe(descs)
	}()
	texts := map[string]string{}
	for d := range descs {
		found := descPattern.FindStringSubmatch(d.String())
		if found == nil {
			continue
		}
		name, nameErr := strconv.Unquote(found[1])
		help, helpErr := strconv.Unquote(found[2])
		if nameErr == nil && helpErr == nil {
			texts[name] = help
		}
	}
	return texts
}

// NewDepthMetric implements workqueue.MetricsProvider.
func (r *registry) NewDepthMetric(name string) workqueue.GaugeMetric {
	return r.depth.WithLabelValues(name, name, "")
}

// NewDepthByPriority implements DepthByPriority.
func (r *registry) NewDepthByPriority(name string) PriorityDepth {
	return &labelledDepth{vec: r.depth, name: name, gauges: map[int]prometheus.Gauge{}}
}

// NewAddsMetric implements workqueue.MetricsProvider.
func (r *registry) NewAddsMetric(name string) workqueue.CounterMetric {
	return r.adds.WithLabelValues(name, name)
}

// NewLatencyMetric implements workqueue.MetricsProvider.
func (r *registry) NewLatencyMetric(name string) workqueue.HistogramMetric {
	return r.latency.WithLabelValues(name, name)
}

// NewWorkDurationMetric implements workqueue.MetricsProvider.
func (r *registry) NewWorkDurationMetric(name string) workqueue.HistogramMetric {
	return r.workDuration.WithLabelValues(name, name)
}

// NewUnfinishedWorkSecondsMetric implements workqueue.MetricsProvider.
func (r *registry) NewUnfinishedWorkSecondsMetric(name string) workqueue.SettableGaugeMetric {
	return r.unfinished.WithLabelValues(name, name)
}

// NewLongestRunningProcessorSecondsMetric implements workqueue.MetricsProvider.
func (r *registry) NewLongestRunningProcessorSecondsMetric(name string) workqueue.SettableGaugeMetric {
	return r.longest.WithLabelValues(name, name)
}

// NewRetriesMetric implements workqueue.MetricsProvider.
func (r *registry) NewRetriesMetric(name string) workqueue.CounterMetric {
	return r.retries.WithLabelValues(name, name)
}

// A metric has at most mostPriorities series per queue, and one more, labelled
// otherPriorities, for later priorities: controller-runtime's bound and label.
const (
	mostPriorities  = 25
	otherPriorities = "exceeded_cardinality_limit"
)

// labelledDepth is called under the queue's lock.
type labelledDepth struct {
	vec    *prometheus.GaugeVec
	name   string
	gauges map[int]prometheus.Gauge
	others prometheus.Gauge // nil until there is one
}

func (d *labelledDepth) gauge(priority int) prometheus.Gauge {
	if g, ok := d.gauges[priority]; ok {
		return g
	}
	if len(d.gauges) == mostPriorities {
		if d.others == nil {
			d.others = d.vec.WithLabelValues(d.name, d.name, otherPriorities)
		}
		return d.others
	}
	g := d.vec.WithLabelValues(d.name, d.name, strconv.Itoa(priority))
	d.gauges[priority] = g
	return g
}

func (d *labelledDepth) Inc(priority int) { d.gauge(priority).Inc() }
func (d *labelledDepth) Dec(priority int) { d.gauge(priority).Dec() }
