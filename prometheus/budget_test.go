//go:build !race

package prometheus

import (
	"testing"
	"time"
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
	best := time.Hour
	for range 50 {
		before := used(t)
		collector.ServeHTTP(&discard{}, nil)
		best = min(best, used(t)-before)
	}
	t.Logf("%v", best)
	if best > 20*time.Millisecond {
		t.Errorf("%v of CPU", best)
	}
}
