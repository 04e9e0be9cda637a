package prometheus

import (
	"fmt"
	"net/http"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/common/expfmt"
)

// With returns a handler that answers with the metrics of a registry and those of c
// together, for processes with hundreds of informers that serve one path:
//
//	mux.Handle("/metrics", collector.With(registry))
//
// c must not be registered with that registry: only what the registry gathers itself is
// checked and sorted by it, which is what makes this cheap. If the registry has a metric
// of c's, or gathers with an error, the answer is a 500 that says so.
//
// The answer is in Prometheus' text format, whatever the request accepts, and is not
// compressed: use promhttp for OpenMetrics and exemplars.
func (c *Collector) With(registry prometheus.Gatherer) http.Handler {
	own := make(map[string]bool, len(c.families.served))
	for _, f := range c.families.served {
		own[f.name] = true
	}
	return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		others, err := registry.Gather()
		for _, f := range others {
			if err == nil && own[f.GetName()] {
				err = fmt.Errorf("the registry has %s, too: register the Collector, or serve it with With, not both", f.GetName())
			}
		}
		if err != nil {
			http.Error(w, "gathering metrics: "+err.Error(), http.StatusInternalServerError)
			return
		}
		w.Header().Set("Content-Type", contentType)
		for _, f := range others {
			if _, err := expfmt.MetricFamilyToText(w, f); err != nil {
				return // the client has gone
			}
		}
		c.writeText(w)
	})
}
