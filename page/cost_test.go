//go:build unix && !race

package page_test

import (
	"testing"
	"time"
)

// most is how much CPU a look at 1,000 informers may cost.
const most = 50 * time.Millisecond

// Of a machine that does other things as well, the cheapest of some looks counts.
func TestALookAt1000InformersCostsAtMost50Milliseconds(t *testing.T) {
	for _, l := range looks {
		look, best := thousand(), time.Hour
		for range 20 {
			began := cpu(t)
			look(t, l.target)
			best = min(best, cpu(t)-began)
		}
		t.Logf("%s: %v", l.name, best)
		if best > most {
			t.Errorf("%s: %v of CPU, more than %v", l.name, best, most)
		}
	}
}
