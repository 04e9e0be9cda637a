package prometheus

import (
	"io"
	"net/http"
	"syscall"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/common/expfmt"

	"github.com/kinglet-go/kinglet/internal/testallocs"
)

func TestAScrapeAllocatesFewTimes(t *testing.T) {
	const informers = 100
	for _, tt := range []struct {
		name   string
		most   float64
		scrape func(c *Collector)
	}{
		{"handler", 40, func(c *Collector) { c.ServeHTTP(&discard{}, nil) }},
		{"collect", 12, func(c *Collector) { collectAll(c) }},
	} {
		c := NewCollector(setOf(many(informers)...), Options{})
		if got := testallocs.Least(10, func() { tt.scrape(c) }) / informers; got > tt.most {
			t.Errorf("%s: %v allocations an informer, want at most %v", tt.name, got, tt.most)
		}
	}
}

// BenchmarkScrapeOfThousandInformers measures Collect, ServeHTTP, With, and a scrape
// through a registry up to the text.
func BenchmarkScrapeOfThousandInformers(b *testing.B) {
	set, end := run(b, 1000)
	defer end()
	for name, opts := range map[string]Options{"base": {}, "detailed": {Detailed: true}} {
		collector := NewCollector(set, opts)
		b.Run(name+"/collect", func(b *testing.B) {
			series := 0
			defer cpu(b)()
			for b.Loop() {
				series = collectAll(collector)
			}
			b.ReportMetric(float64(series)/1000, "series/informer")
		})
		b.Run(name+"/handler", func(b *testing.B) {
			defer cpu(b)()
			for b.Loop() {
				collector.ServeHTTP(&discard{}, nil)
			}
		})
		b.Run(name+"/with-registry", func(b *testing.B) {
			registry := prometheus.NewRegistry()
			registry.MustRegister(collectors.NewGoCollector())
			handler := collector.With(registry)
			defer cpu(b)()
			for b.Loop() {
				handler.ServeHTTP(&discard{}, nil)
			}
		})
		b.Run(name+"/registry", func(b *testing.B) {
			registry := prometheus.NewRegistry()
			registry.MustRegister(collector)
			defer cpu(b)()
			for b.Loop() {
				families, err := registry.Gather()
				if err != nil {
					b.Fatal(err)
				}
				enc := expfmt.NewEncoder(io.Discard, expfmt.NewFormat(expfmt.TypeTextPlain))
				for _, f := range families {
					if err := enc.Encode(f); err != nil {
						b.Fatal(err)
					}
				}
			}
		})
	}
}

// discard is a ResponseWriter that forgets what is written.
type discard struct{ header http.Header }

func (d *discard) Header() http.Header {
	if d.header == nil {
		d.header = http.Header{}
	}
	return d.header
}
func (d *discard) Write(b []byte) (int, error) { return len(b), nil }
func (d *discard) WriteHeader(int)             {}

// used is the CPU that the process has used, of all cores: other processes on the machine
// do not count.
func used(t testing.TB) time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		t.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// cpu returns a function that reports the CPU of each iteration since.
func cpu(b *testing.B) func() {
	before := used(b)
	return func() { b.ReportMetric(float64((used(b)-before).Microseconds())/1000/float64(b.N), "cpu-ms/op") }
}

// collectAll returns how many metrics Collect serves.
func collectAll(c prometheus.Collector) (n int) {
	out := make(chan prometheus.Metric, 1024)
	go func() { defer close(out); c.Collect(out) }()
	for range out {
		n++
	}
	return n
}
