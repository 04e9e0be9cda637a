package prometheus

import (
	dto "github.com/prometheus/client_model/go"

	core "github.com/kinglet-go/kinglet/internal/histogram"
	"github.com/kinglet-go/kinglet/status"
)

// bounds are the upper bounds of all buckets but the last, in seconds.
var bounds = func() (out [core.Buckets - 1]float64) {
	for i := range out {
		bound, _ := core.Bound(i)
		out[i] = bound.Seconds()
	}
	return out
}()

// constHistogram has cumulative buckets, as Prometheus wants them. The bucket without a
// bound is the count.
func constHistogram(h *status.Histogram) *dto.Histogram {
	buckets := make([]dto.Bucket, len(bounds))
	pointers := make([]*dto.Bucket, len(bounds))
	counts := make([]uint64, len(bounds)+1)
	n := uint64(0)
	for i := range buckets {
		n += h.Counts[i]
		counts[i] = n
		buckets[i].CumulativeCount, buckets[i].UpperBound = &counts[i], &bounds[i]
		pointers[i] = &buckets[i]
	}
	n += h.Counts[core.Buckets-1]
	counts[len(bounds)] = n
	sum := h.Sum.Seconds()
	return &dto.Histogram{SampleCount: &counts[len(bounds)], SampleSum: &sum, Bucket: pointers}
}
