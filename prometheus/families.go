package prometheus

import (
	"slices"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/kinglet-go/kinglet/internal/diagnostics/uniquename"
	"github.com/kinglet-go/kinglet/internal/histogram"
	"github.com/kinglet-go/kinglet/status"
)

// family is all series of one name.
type family struct {
	desc     *prometheus.Desc
	kind     string // as the text format names it
	detailed bool   // served with Options.Detailed only
	name     string
	help     string
	labels   []string
}

const (
	gauge   = "gauge"
	counter = "counter"
	histo   = "histogram"
	// base and detailed say when a family is served.
	base     = false
	detailed = true
)

// list has the families of a collector in the order in which they were defined, without
// detailed ones that are not asked for.
type list struct {
	prefix   string
	detailed bool
	served   []*family
}

// describe implements the method of a collector.
func (l *list) describe(out chan<- *prometheus.Desc) {
	for _, f := range l.served {
		out <- f.desc
	}
}

// metrics are families whose values are read from a T, and how.
type metrics[T any] struct {
	list   *list
	prefix string   // of names, behind the list's
	labels []string // of all of them, before their own
	all    []metric[T]
}

type metric[T any] struct {
	*family
	read func(s series, of *T)
}

// add defines a family: its name, its help, and how its series are read.
func (m *metrics[T]) add(detailed bool, kind, name, help string, read func(s series, of *T), more ...string) {
	if detailed && !m.list.detailed {
		return
	}
	name, labels := m.list.prefix+m.prefix+name, slices.Concat(m.labels, more)
	f := &family{prometheus.NewDesc(name, help, labels, nil), kind, detailed, name, help, labels}
	m.list.served = append(m.list.served, f)
	m.all = append(m.all, metric[T]{f, read})
}

// serve serves all series of one T, whose labels are l.
func (m *metrics[T]) serve(s *scrape, l labels, of *T) {
	for _, one := range m.all {
		one.read(series{s, one.family, l}, of)
	}
}

// scrape is one reading of everything, which is sent as it goes.
type scrape struct {
	now time.Time
	out chan<- prometheus.Metric
}

// series serves series of one family.
type series struct {
	*scrape
	family *family
	labels labels
}

// labels are the values of a family's labels, in its order.
type labels []string

func (l labels) and(more ...string) labels { return slices.Concat(l, more) }

// valid returns text as labels have to be: UTF-8.
func valid(text string) string { return strings.ToValidUTF8(text, "\uFFFD") }

// names makes names unique with a number, since a registry refuses two series of one name.
type names struct{ given uniquename.Names }

func (n *names) unique(name string) string { return n.given.Of(valid(name)) }

// with returns series with one more label.
func (s series) with(label string) series {
	s.labels = s.labels.and(label)
	return s
}

// gauge and the methods below serve one series, with the values of further labels.
func (s series) gauge(value float64, more ...string) {
	s.out <- prometheus.MustNewConstMetric(s.family.desc, prometheus.GaugeValue, value, s.labels.and(more...)...)
}

func (s series) counter(value uint64, more ...string) {
	s.out <- prometheus.MustNewConstMetric(s.family.desc, prometheus.CounterValue, float64(value), s.labels.and(more...)...)
}

func (s series) bool(value bool) {
	if value {
		s.gauge(1)
		return
	}
	s.gauge(0)
}

// time serves a timestamp; there is no series where t is zero.
func (s series) time(t time.Time, more ...string) {
	if !t.IsZero() {
		s.gauge(seconds(t), more...)
	}
}

// seconds since the epoch.
func seconds(t time.Time) float64 { return float64(t.UnixNano()) / 1e9 }

// result is a count and what it is of.
type result struct {
	value string
	count uint64
}

func (s series) results(results ...result) {
	for _, r := range results {
		s.counter(r.count, r.value)
	}
}

// each serves the counts that are not zero, each with the name of its index. A process
// with a thousand informers would have a hundred thousand series of zero otherwise.
func each[T ~uint8](s series, counts []uint64, name func(T) string) {
	for i, n := range counts {
		if n > 0 {
			s.counter(n, name(T(i)))
		}
	}
}

func (s series) histogram(h *status.Histogram) {
	buckets := make(map[float64]uint64, histogram.Buckets-1)
	n := uint64(0)
	for i, count := range h.Counts {
		n += count
		if bound, ok := histogram.Bound(i); ok {
			buckets[bound.Seconds()] = n
		}
	}
	s.out <- prometheus.MustNewConstHistogram(s.family.desc, n, h.Sum.Seconds(), buckets, s.labels...)
}

// problems serves the problems of an informer or a controller. Those with one cause and
// severity, as of two handlers that stand still, are one series: the one that began first.
func (s series) problems(problems []status.Problem) {
	for i := range problems {
		p := &problems[i]
		same := func(q status.Problem) bool { return q.Cause == p.Cause && q.Severity == p.Severity }
		if slices.ContainsFunc(problems[:i], same) {
			continue
		}
		since := p.Since
		for _, q := range problems[i+1:] {
			if same(q) && q.Since.Before(since) {
				since = q.Since
			}
		}
		value := 0.0
		if !since.IsZero() {
			value = seconds(since)
		}
		s.gauge(value, string(p.Cause), p.Severity.String())
	}
}
