package torture_test

import (
	"flag"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/kinglet-go/kinglet/kinglettest/torture"
)

var (
	firstSeed = flag.Uint64("seed", 1, "of the first trial")
	trials    = flag.Int("trials", 100, "how many")
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestNothingIsLostWhateverGoesWrong(t *testing.T) {
	run(t, torture.Kinglet())
}

func TestClientGo(t *testing.T) {
	run(t, torture.ClientGo())
}

func run(t *testing.T, e torture.Engine) {
	began := time.Now()
	faults, events, quarantined := 0, 0, 0
	for seed := *firstSeed; seed < *firstSeed+uint64(*trials); seed++ {
		res := torture.Trial{Seed: seed}.Run(t, e)
		faults += len(res.Played)
		events += res.Events
		quarantined += res.Quarantined
		for _, v := range res.Violations {
			t.Errorf("seed %d: %s", seed, v)
		}
	}
	t.Logf("%d trials, %d faults, %d calls of handlers, %d objects quarantined in the end, %v",
		*trials, faults, events, quarantined, time.Since(began).Round(time.Millisecond))
}
