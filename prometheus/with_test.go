package prometheus

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	dto "github.com/prometheus/client_model/go"
)

// answer is what a handler says.
func answer(h http.Handler) *httptest.ResponseRecorder {
	w := httptest.NewRecorder()
	h.ServeHTTP(w, httptest.NewRequest("GET", "/metrics", nil))
	return w
}

func TestACollectorIsServedWithTheMetricsOfARegistry(t *testing.T) {
	c := NewCollector(fullSet(), everything)
	registry := prometheus.NewRegistry()
	registry.MustRegister(collectors.NewGoCollector())
	w := answer(c.With(registry))
	if w.Code != http.StatusOK || w.Header().Get("Content-Type") != contentType {
		t.Fatalf("%d %q", w.Code, w.Header())
	}
	got, own := read(t, w.Body.Bytes()), read(t, served(c))
	for name, f := range own {
		if got[name].String() != f.String() {
			t.Errorf("%s: %v, want %v", name, got[name], f)
		}
	}
	if got["go_goroutines"] == nil || len(got) <= len(own) {
		t.Errorf("%d families, %d of them the collector's", len(got), len(own))
	}
}

func TestMetricsThatARegistryHasTooAreRefused(t *testing.T) {
	c := NewCollector(fullSet(), Options{})
	registry := prometheus.NewRegistry()
	registry.MustRegister(c)
	if w := answer(c.With(registry)); w.Code != http.StatusInternalServerError || !strings.Contains(w.Body.String(), "not both") {
		t.Errorf("%d %s", w.Code, w.Body)
	}
}

func TestAnErrorOfTheRegistryIsAnswered(t *testing.T) {
	broken := prometheus.GathererFunc(func() ([]*dto.MetricFamily, error) { return nil, errors.New("out of order") })
	if w := answer(NewCollector(fullSet(), Options{}).With(broken)); w.Code != http.StatusInternalServerError || !strings.Contains(w.Body.String(), "out of order") {
		t.Errorf("%d %s", w.Code, w.Body)
	}
}
