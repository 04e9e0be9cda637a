package workqueue

import (
	"runtime"
	"testing"
	"time"
)

// TestAMeasuredQueueGivesTheMemoryOfAPeakBack has many items that wait for a delay, are
// queued and processed, and counts what the queue and its metrics hold after the last.
func TestAMeasuredQueueGivesTheMemoryOfAPeakBack(t *testing.T) {
	heap := func() int64 {
		runtime.GC()
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return int64(m.HeapAlloc)
	}
	const items = 100_000
	before := heap()
	q := NewTypedRateLimitingQueueWithConfig(DefaultTypedItemBasedRateLimiter[int](), TypedRateLimitingQueueConfig[int]{
		Name: "peak", MetricsProvider: discard{},
	})
	for i := range items {
		q.AddAfter(i, time.Nanosecond)
	}
	full := heap() - before
	for range items {
		item, _ := q.Get()
		q.Done(item)
	}
	if left := heap() - before; left > full/8 {
		t.Errorf("of %d KB the queue holds %d KB without an item", full>>10, left>>10)
	}
	q.ShutDown()
}

// discard is a provider of metrics that nobody reads.
type discard struct{}

func (discard) NewDepthMetric(string) GaugeMetric                                  { return discard{} }
func (discard) NewAddsMetric(string) CounterMetric                                 { return discard{} }
func (discard) NewLatencyMetric(string) HistogramMetric                            { return discard{} }
func (discard) NewWorkDurationMetric(string) HistogramMetric                       { return discard{} }
func (discard) NewUnfinishedWorkSecondsMetric(string) SettableGaugeMetric          { return discard{} }
func (discard) NewLongestRunningProcessorSecondsMetric(string) SettableGaugeMetric { return discard{} }
func (discard) NewRetriesMetric(string) CounterMetric                              { return discard{} }
func (discard) Inc()                                                               {}
func (discard) Dec()                                                               {}
func (discard) Set(float64)                                                        {}
func (discard) Observe(float64)                                                    {}
