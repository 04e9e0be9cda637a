//go:build unix && !race

package page_test

import (
	"runtime"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kinglet-go/kinglet/internal/testclock"
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

func TestAPageThatIsOpenOn1000InformersForTenMinutesDoesNotGrow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		look := thousand()
		heap := func() int64 {
			for range 3 { // what a pool keeps outlives one
				runtime.GC()
			}
			var m runtime.MemStats
			runtime.ReadMemStats(&m)
			return int64(m.HeapAlloc)
		}
		look(t, "/")
		before := heap()
		for range 300 {
			testclock.Elapse(2 * time.Second)
			look(t, "/?open=widgets-0003")
		}
		if grown := heap() - before; grown > 1<<20 {
			t.Errorf("by %d bytes", grown)
		}
		look(t, "/") // and it is still of use
		testclock.Elapse(time.Hour)
	})
}
