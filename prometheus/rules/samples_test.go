package rules

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"io"
	"math"
	"net/http/httptest"
	"slices"
	"strconv"
	"testing"
	"time"

	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/prometheus/model/histogram"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/model/value"
	"github.com/prometheus/prometheus/storage"
	"github.com/prometheus/prometheus/tsdb/chunkenc"
	"github.com/prometheus/prometheus/tsdb/chunks"
	"github.com/prometheus/prometheus/util/annotations"

	"github.com/kinglet-go/kinglet/prometheus"
)

// interval is how often the tests scrape.
const interval = 15 * time.Second

// samples is what was scraped: a storage for Prometheus' engine.
type samples struct {
	// instance is a label of all series.
	instance string
	series   map[uint64]*series
	// first and last are when it was scraped.
	first, last time.Time
}

type series struct {
	labels labels.Labels
	points []chunks.Sample
	seen   int64
}

type point struct {
	t int64
	v float64
}

func (p point) T() int64                    { return p.t }
func (p point) F() float64                  { return p.v }
func (point) H() *histogram.Histogram       { return nil }
func (point) FH() *histogram.FloatHistogram { return nil }
func (point) Type() chunkenc.ValueType      { return chunkenc.ValFloat }
func (p point) Copy() chunks.Sample         { return p }
func (p point) ST() int64                   { return 0 }

// scrape adds what c serves now.
func (s *samples) scrape(t *testing.T, c *prometheus.Collector) {
	t.Helper()
	w := httptest.NewRecorder()
	c.ServeHTTP(w, httptest.NewRequest("GET", "/metrics", nil))
	s.last = time.Now()
	if s.first.IsZero() {
		s.first = s.last
	}
	at := s.last.UnixMilli()
	decoder := expfmt.NewDecoder(bytes.NewReader(w.Body.Bytes()), expfmt.NewFormat(expfmt.TypeTextPlain))
	for {
		var f dto.MetricFamily
		if err := decoder.Decode(&f); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatal(err)
		}
		for _, m := range f.Metric {
			s.metric(&f, m, at)
		}
	}
	// As Prometheus does with what is no longer there.
	for _, one := range s.series {
		if one.seen != at && one.seen != 0 {
			one.points = append(one.points, point{at, math.Float64frombits(value.StaleNaN)})
			one.seen = 0
		}
	}
}

func (s *samples) metric(f *dto.MetricFamily, m *dto.Metric, at int64) {
	name := f.GetName()
	switch {
	case m.Gauge != nil:
		s.add(name, m, "", at, m.Gauge.GetValue())
	case m.Counter != nil:
		s.add(name, m, "", at, m.Counter.GetValue())
	case m.Histogram != nil:
		for _, b := range m.Histogram.Bucket {
			s.add(name+"_bucket", m, strconv.FormatFloat(b.GetUpperBound(), 'g', -1, 64), at, float64(b.GetCumulativeCount()))
		}
		s.add(name+"_sum", m, "", at, m.Histogram.GetSampleSum())
		s.add(name+"_count", m, "", at, float64(m.Histogram.GetSampleCount()))
	}
}

func (s *samples) add(name string, m *dto.Metric, le string, at int64, v float64) {
	b := labels.NewBuilder(labels.FromStrings(labels.MetricName, name, "job", "test", "instance", s.instance))
	for _, l := range m.Label {
		b.Set(l.GetName(), l.GetValue())
	}
	if le != "" {
		b.Set("le", le)
	}
	l := b.Labels()
	if s.series == nil {
		s.series = map[uint64]*series{}
	}
	one := s.series[l.Hash()]
	if one == nil {
		one = &series{labels: l}
		s.series[l.Hash()] = one
	}
	one.points = append(one.points, point{at, v})
	one.seen = at
}

// Querier implements storage.Queryable.
func (s *samples) Querier(mint, maxt int64) (storage.Querier, error) {
	return querier{s, mint, maxt}, nil
}

type querier struct {
	samples    *samples
	mint, maxt int64
}

func (q querier) Select(_ context.Context, _ bool, _ *storage.SelectHints, matchers ...*labels.Matcher) storage.SeriesSet {
	var found []storage.Series
	for _, one := range q.samples.series {
		if !slices.ContainsFunc(matchers, func(m *labels.Matcher) bool { return !m.Matches(one.labels.Get(m.Name)) }) {
			found = append(found, storage.NewListSeries(one.labels, one.points))
		}
	}
	slices.SortFunc(found, func(a, b storage.Series) int { return labels.Compare(a.Labels(), b.Labels()) })
	return &set{series: found, at: -1}
}

func (q querier) LabelValues(_ context.Context, name string, _ *storage.LabelHints, matchers ...*labels.Matcher) ([]string, annotations.Annotations, error) {
	seen := map[string]bool{}
	for _, one := range q.samples.series {
		if !slices.ContainsFunc(matchers, func(m *labels.Matcher) bool { return !m.Matches(one.labels.Get(m.Name)) }) {
			seen[one.labels.Get(name)] = true
		}
	}
	var out []string
	for v := range seen {
		out = append(out, v)
	}
	slices.SortFunc(out, cmp.Compare)
	return out, nil, nil
}

func (querier) LabelNames(context.Context, *storage.LabelHints, ...*labels.Matcher) ([]string, annotations.Annotations, error) {
	return nil, nil, errors.New("not asked by any test")
}

func (querier) Close() error { return nil }

// set iterates over series.
type set struct {
	series []storage.Series
	at     int
}

func (s *set) Next() bool                      { s.at++; return s.at < len(s.series) }
func (s *set) At() storage.Series              { return s.series[s.at] }
func (*set) Err() error                        { return nil }
func (*set) Warnings() annotations.Annotations { return nil }
