package torture_test

import (
	"flag"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"
	"k8s.io/klog/v2"

	"github.com/kinglet-go/kinglet/kinglettest/torture"
)

var (
	firstSeed = flag.Uint64("seed", 1, "of the first trial")
	trials    = flag.Int("trials", 0, "how many; 0 for as many as a test needs")
	duration  = flag.Duration("for", 0, "run new trials for so long instead")
	client    = flag.Bool("clientgo", false, "run the trials over client-go as well, and count what fails")
)

func TestMain(m *testing.M) {
	// client-go tells of every fault.
	klog.SetSlogLogger(slog.New(slog.DiscardHandler))
	goleak.VerifyTestMain(m)
}

func TestNothingIsLostWhateverGoesWrong(t *testing.T) {
	for _, e := range []torture.Engine{torture.Kinglet(), torture.DropIn()} {
		t.Run(e.Name, func(t *testing.T) {
			sum := run(t, e, 150)
			for _, v := range sum.violations {
				t.Error(v)
			}
			t.Log(sum)
		})
	}
}

// The checker is of use only if it can find something, which client-go's known
// weaknesses show: an object that was deleted and created again out of sight is
// an Update there, for one (kubernetes#133565).
func TestClientGoFailsSomeOfTheSameTrials(t *testing.T) {
	if *duration > 0 && !*client {
		return
	}
	sum := run(t, torture.ClientGo(), 40)
	if sum.failed == 0 {
		t.Errorf("client-go passed all: %v", sum)
	}
	t.Log(sum)
	for _, kind := range slices.Sorted(maps.Keys(sum.kinds)) {
		t.Logf("  %d trials: %s", sum.kinds[kind], kind)
	}
}

// summary is what came of many trials.
type summary struct {
	engine                              string
	trials, failed, faults, quarantined int
	calls                               int
	took                                time.Duration
	violations                          []string
	kinds                               map[string]int // trials in which a guarantee was broken
}

func (s *summary) String() string {
	return fmt.Sprintf("%s: %d trials, %d faults, %d calls of handlers, %d objects quarantined in the end, %d trials failed, %v",
		s.engine, s.trials, s.faults, s.calls, s.quarantined, s.failed, s.took.Round(time.Millisecond))
}

func run(t *testing.T, e torture.Engine, usual int) *summary {
	began := time.Now()
	n := *trials
	if n == 0 {
		n = usual
	}
	sum := &summary{engine: e.Name, kinds: map[string]int{}}
	for seed := *firstSeed; ; seed++ {
		if over := time.Since(began) >= *duration; *duration > 0 && over || *duration == 0 && sum.trials == n {
			break
		}
		res := torture.Trial{Seed: seed}.Run(t, e)
		sum.trials++
		sum.faults += len(res.Played)
		sum.calls += res.Events
		sum.quarantined += res.Quarantined
		broken := map[string]bool{}
		for _, v := range res.Violations {
			sum.violations = append(sum.violations, fmt.Sprintf("seed %d: %s", seed, v))
			broken[v[:strings.Index(v, ":")]] = true
		}
		for kind := range broken {
			sum.kinds[kind]++
		}
		if len(broken) > 0 {
			sum.failed++
		}
	}
	sum.took = time.Since(began)
	return sum
}
