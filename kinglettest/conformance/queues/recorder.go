package queues

import (
	"fmt"
	"slices"
	"strings"
	"sync"

	kw "k8s.io/client-go/util/workqueue"
)

// recorder is a provider of metrics that records their values.
type recorder struct {
	mu    sync.Mutex
	made  []string           // guarded by mu; "depth of name"
	lines []string           // guarded by mu; "depth +1", "latency 0.5"
	set   map[string]float64 // guarded by mu; gauges that are set, by what they show
	sets  int                // guarded by mu
}

func newRecorder() *recorder { return &recorder{set: map[string]float64{}} }

// take returns the lines since the last call.
func (r *recorder) take() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	lines := r.lines
	r.lines = nil
	return lines
}

// gauges returns the values of the gauges, and how often they were set.
func (r *recorder) gauges() (unfinished, longest float64, sets int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.set["unfinished"], r.set["longest"], r.sets
}

// of returns which metrics were made for a queue, in order of the names.
func (r *recorder) of(name string) []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	var list []string
	for _, m := range r.made {
		if what, ok := strings.CutSuffix(m, " of "+name); ok {
			list = append(list, what)
		}
	}
	slices.Sort(list)
	return list
}

func (r *recorder) metric(what, name string) recorded {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.made = append(r.made, what+" of "+name)
	return recorded{r, what}
}

func (r *recorder) NewDepthMetric(name string) kw.GaugeMetric       { return r.metric("depth", name) }
func (r *recorder) NewAddsMetric(name string) kw.CounterMetric      { return r.metric("adds", name) }
func (r *recorder) NewLatencyMetric(name string) kw.HistogramMetric { return r.metric("latency", name) }
func (r *recorder) NewRetriesMetric(name string) kw.CounterMetric   { return r.metric("retries", name) }

func (r *recorder) NewWorkDurationMetric(name string) kw.HistogramMetric {
	return r.metric("work", name)
}

func (r *recorder) NewUnfinishedWorkSecondsMetric(name string) kw.SettableGaugeMetric {
	return r.metric("unfinished", name)
}

func (r *recorder) NewLongestRunningProcessorSecondsMetric(name string) kw.SettableGaugeMetric {
	return r.metric("longest", name)
}

type recorded struct {
	r    *recorder
	what string
}

func (m recorded) note(text string) {
	m.r.mu.Lock()
	defer m.r.mu.Unlock()
	m.r.lines = append(m.r.lines, m.what+" "+text)
}

func (m recorded) Inc()              { m.note("+1") }
func (m recorded) Dec()              { m.note("-1") }
func (m recorded) Observe(f float64) { m.note(fmt.Sprint(f)) }

func (m recorded) Set(f float64) {
	m.r.mu.Lock()
	defer m.r.mu.Unlock()
	m.r.set[m.what] = f
	m.r.sets++
}
