package prometheus

import (
	"slices"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/kinglet-go/kinglet/internal/histogram"
	"github.com/kinglet-go/kinglet/internal/uniquename"
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

// list has families in the order in which they were defined. A detailed family that is not
// asked for is nil, and nothing is served under it.
type list struct {
	prefix   string
	detailed bool
	served   []*family
}

const (
	gauge   = "gauge"
	counter = "counter"
	histo   = "histogram"
	// base and detailed say when a family is served.
	base     = false
	detailed = true
)

func (l *list) define(detailed bool, kind, name, help string, labels ...string) *family {
	if detailed && !l.detailed {
		return nil
	}
	name = l.prefix + name
	f := &family{prometheus.NewDesc(name, help, labels, nil), kind, detailed, name, help, labels}
	l.served = append(l.served, f)
	return f
}

// describe implements the method of a collector.
func (l *list) describe(out chan<- *prometheus.Desc) {
	for _, f := range l.served {
		out <- f.desc
	}
}

// scrape is one reading of everything, which is sent as it goes.
type scrape struct {
	now time.Time
	out chan<- prometheus.Metric
}

// labels are the values of a family's labels, in its order.
type labels []string

func (l labels) and(more ...string) labels { return slices.Concat(l, more) }

// valid returns text as labels have to be: UTF-8.
func valid(text string) string { return strings.ToValidUTF8(text, "\uFFFD") }

// names makes names unique with a number, since a registry refuses two series of one name.
type names struct{ given uniquename.Names }

func (n *names) unique(name string) string { return n.given.Of(valid(name)) }

// gauge and the methods below serve one series, or none if f is nil.
func (s *scrape) gauge(f *family, l labels, value float64, more ...string) {
	s.value(f, prometheus.GaugeValue, l, value, more)
}

func (s *scrape) counter(f *family, l labels, value uint64, more ...string) {
	s.value(f, prometheus.CounterValue, l, float64(value), more)
}

func (s *scrape) value(f *family, kind prometheus.ValueType, l labels, value float64, more []string) {
	if f != nil {
		s.out <- prometheus.MustNewConstMetric(f.desc, kind, value, l.and(more...)...)
	}
}

func (s *scrape) bool(f *family, l labels, value bool) {
	if value {
		s.gauge(f, l, 1)
		return
	}
	s.gauge(f, l, 0)
}

// time serves a timestamp; there is no series where t is zero.
func (s *scrape) time(f *family, l labels, t time.Time, more ...string) {
	if !t.IsZero() {
		s.gauge(f, l, seconds(t), more...)
	}
}

// seconds since the epoch.
func seconds(t time.Time) float64 { return float64(t.UnixNano()) / 1e9 }

// each serves the counts that are not zero, each with the name of its index. A process
// with a thousand informers would have a hundred thousand series of zero otherwise.
func each[T ~uint8](s *scrape, f *family, l labels, counts []uint64, name func(T) string) {
	for i, n := range counts {
		if n > 0 {
			s.counter(f, l, n, name(T(i)))
		}
	}
}

func (s *scrape) histogram(f *family, l labels, h *status.Histogram) {
	if f == nil {
		return
	}
	buckets := make(map[float64]uint64, histogram.Buckets-1)
	n := uint64(0)
	for i, count := range h.Counts {
		n += count
		if bound, ok := histogram.Bound(i); ok {
			buckets[bound.Seconds()] = n
		}
	}
	s.out <- prometheus.MustNewConstHistogram(f.desc, n, h.Sum.Seconds(), buckets, l...)
}
