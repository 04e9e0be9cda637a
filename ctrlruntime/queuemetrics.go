package ctrlruntime

import (
	"errors"
	"strconv"
	"sync"

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

// queueMetrics measure a queue. Its methods are those of keyqueue.Observer.
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

func (m *queueMetrics[request]) Added(_ request, priority int) {
	m.adds.Inc()
	m.depth.Inc(priority)
}

func (m *queueMetrics[request]) Raised(_ request, from, to int) {
	m.depth.Dec(from)
	m.depth.Inc(to)
}

func (m *queueMetrics[request]) Taken(_ request, priority int) { m.depth.Dec(priority) }
func (*queueMetrics[request]) Finished(request)                {}

// registry is a DepthByPriority over the collectors that controller-runtime has
// registered for its own queues, so that dashboards and alerts for these cover ours. Methods
// without a comment are those of workqueue.MetricsProvider.
type registry struct {
	depth, unfinished, longest *prometheus.GaugeVec
	adds, retries              *prometheus.CounterVec
	latency, workDuration      *prometheus.HistogramVec
}

// registered returns the process's registry. controller-runtime does not export its
// collectors, but its registry returns them when others of the same name, labels and
// help are registered: the help texts are its own, from 0.24 on.
var registered = sync.OnceValue(func() *registry {
	var errs []error
	gauge := func(key, help string, labels ...string) *prometheus.GaugeVec {
		return register(&errs, prometheus.NewGaugeVec(prometheus.GaugeOpts(queueOpts(key, help)), queueLabels(labels...)))
	}
	counter := func(key, help string) *prometheus.CounterVec {
		return register(&errs, prometheus.NewCounterVec(prometheus.CounterOpts(queueOpts(key, help)), queueLabels()))
	}
	histogram := func(key, help string) *prometheus.HistogramVec {
		return register(&errs, prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Subsystem: metrics.WorkQueueSubsystem, Name: key, Help: help,
			Buckets: prometheus.ExponentialBuckets(1e-8, 10, 12), // up to 1000 s
		}, queueLabels()))
	}
	all := &registry{
		depth: gauge(metrics.DepthKey, "Current depth of workqueue by workqueue and priority", "priority"),
		unfinished: gauge(metrics.UnfinishedWorkKey, "How many seconds of work has been done that is in progress and hasn't been observed by work_duration. "+
			"Large values indicate stuck threads. One can deduce the number of stuck threads by observing the rate at which this increases."),
		longest:      gauge(metrics.LongestRunningProcessorKey, "How many seconds has the longest running processor for workqueue been running."),
		adds:         counter(metrics.AddsKey, "Total number of adds handled by workqueue"),
		retries:      counter(metrics.RetriesKey, "Total number of items added to the workqueue with a non-zero delay (rate-limited requeues, explicit RequeueAfter or AddAfter calls)"),
		latency:      histogram(metrics.QueueLatencyKey, "How long in seconds an item stays in workqueue before being requested"),
		workDuration: histogram(metrics.WorkDurationKey, "How long in seconds processing an item from workqueue takes."),
	}
	if err := errors.Join(errs...); err != nil {
		logf.Log.WithName("kinglet").Error(err, "Some metrics of queues are not in controller-runtime's registry")
	}
	return all
})

func queueOpts(key, help string) prometheus.Opts {
	return prometheus.Opts{Subsystem: metrics.WorkQueueSubsystem, Name: key, Help: help}
}

func queueLabels(more ...string) []string { return append([]string{"name", "controller"}, more...) }

// register registers c. It returns the collector that the registry has already, or c.
func register[C prometheus.Collector](errs *[]error, c C) C {
	err := metrics.Registry.Register(c)
	if already, ok := errors.AsType[prometheus.AlreadyRegisteredError](err); ok {
		if had, ok := already.ExistingCollector.(C); ok {
			return had
		}
	}
	*errs = append(*errs, err)
	return c
}

func (r *registry) NewDepthMetric(name string) workqueue.GaugeMetric {
	return r.depth.WithLabelValues(name, name, "")
}

func (r *registry) NewDepthByPriority(name string) PriorityDepth {
	return &labelledDepth{vec: r.depth, name: name, gauges: map[int]prometheus.Gauge{}}
}

func (r *registry) NewAddsMetric(name string) workqueue.CounterMetric {
	return r.adds.WithLabelValues(name, name)
}

func (r *registry) NewLatencyMetric(name string) workqueue.HistogramMetric {
	return r.latency.WithLabelValues(name, name)
}

func (r *registry) NewWorkDurationMetric(name string) workqueue.HistogramMetric {
	return r.workDuration.WithLabelValues(name, name)
}

func (r *registry) NewUnfinishedWorkSecondsMetric(name string) workqueue.SettableGaugeMetric {
	return r.unfinished.WithLabelValues(name, name)
}

func (r *registry) NewLongestRunningProcessorSecondsMetric(name string) workqueue.SettableGaugeMetric {
	return r.longest.WithLabelValues(name, name)
}

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
