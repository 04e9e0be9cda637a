package prometheus

import (
	"io"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/common/expfmt"
)

// BenchmarkScrapeOfThousandInformers measures a scrape through a registry up to the text.
func BenchmarkScrapeOfThousandInformers(b *testing.B) {
	set, end := run(b, 1000)
	defer end()
	for name, opts := range map[string]Options{"base": {}, "detailed": {Detailed: true}} {
		b.Run(name, func(b *testing.B) {
			registry := prometheus.NewRegistry()
			registry.MustRegister(NewCollector(set, opts))
			for b.Loop() {
				families, err := registry.Gather()
				if err != nil {
					b.Fatal(err)
				}
				for _, f := range families {
					if _, err := expfmt.MetricFamilyToText(io.Discard, f); err != nil {
						b.Fatal(err)
					}
				}
			}
		})
	}
}
