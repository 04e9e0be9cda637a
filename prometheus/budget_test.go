//go:build !race

package prometheus

import (
	"net/http"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
)

// The race detector costs several times as much: make many runs this without it.
//
// The budget is for all that the process does, collection of garbage included. What other
// processes do to the caches of the machine is in the figure as well, so the best of some
// tries counts.
func TestAScrapeOfThousandInformersTakesLessThanTwentyMilliseconds(t *testing.T) {
	set, end := run(t, 1000)
	defer end()
	collector := NewCollector(set, Options{})
	registry := prometheus.NewRegistry()
	registry.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	for name, handler := range map[string]http.Handler{"alone": collector, "with a registry": collector.With(registry)} {
		best := time.Hour
		for range 50 {
			before := used(t)
			handler.ServeHTTP(&discard{}, nil)
			best = min(best, used(t)-before)
		}
		t.Logf("%s: %v", name, best)
		if best > 20*time.Millisecond {
			t.Errorf("%s: %v of CPU", name, best)
		}
	}
}
