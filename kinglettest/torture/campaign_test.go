package torture_test

import (
	"fmt"
	"maps"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/kinglet-go/kinglet/kinglettest/torture"
)

// campaign is many trials of one engine, several at a time, each in a bubble
// of its own.
type campaign struct {
	engine torture.Engine
	first  uint64
	// trials is how many, or span for how long.
	trials int
	span   time.Duration
	// workers is how many run at a time, shrink how many failures are shrunk.
	workers, shrink int
	// enough ends it with the first failure.
	enough bool

	mu sync.Mutex
	// next is the seed of the next trial; guarded by mu, as is sum.
	next  uint64
	sum   summary
	began time.Time
}

// workers is how many trials run at a time: a trial has many goroutines, of
// which seldom more than one has something to do.
func workers() int { return runtime.GOMAXPROCS(0) }

// summary is what came of many trials.
type summary struct {
	engine                 string
	trials, failed, faults int
	calls, broken          int
	took                   time.Duration
	violations             []string
	kinds                  map[string]int // trials in which a guarantee was broken
	// first is the lowest seed that failed.
	first torture.Result
}

// mostViolations is how many are printed of one engine.
const mostViolations = 100

func (s *summary) String() string {
	return fmt.Sprintf("%s: %d plans, %d faults, %d calls of handlers, %d plans failed, %v",
		s.engine, s.trials, s.faults, s.calls, s.failed, s.took.Round(time.Millisecond))
}

// inOneLine is what came of the campaigns of all engines, client-go's last.
func inOneLine(sums []*summary) string {
	var b strings.Builder
	b.WriteString("torture:")
	for i, s := range sums {
		switch {
		case i > 0 && i == len(sums)-1:
			fmt.Fprintf(&b, "; of the first %d of these plans %s fails %d", s.trials, s.engine, s.failed)
		default:
			if i > 0 {
				b.WriteString(";")
			}
			fmt.Fprintf(&b, " %s: %d plans, %d faults, %d violations", s.engine, s.trials, s.faults, s.broken)
		}
	}
	b.WriteString("\n")
	return b.String()
}

func (s *summary) sortedKinds() []string { return slices.Sorted(maps.Keys(s.kinds)) }

// run runs it.
func (c *campaign) run(t *testing.T) *summary {
	c.began, c.next = time.Now(), c.first
	c.sum = summary{engine: c.engine.Name, kinds: map[string]int{}}
	t.Run("trials", func(t *testing.T) {
		for i := range c.workers {
			t.Run(fmt.Sprint(i+1), func(t *testing.T) {
				t.Parallel()
				for seed, ok := c.seed(); ok; seed, ok = c.seed() {
					c.add(t, torture.Trial{Seed: seed}.Run(t, c.engine))
				}
			})
		}
	})
	c.sum.took = time.Since(c.began)
	return &c.sum
}

// seed is that of the next trial, unless there is none.
func (c *campaign) seed() (uint64, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case c.enough && c.sum.failed > 0,
		c.span > 0 && time.Since(c.began) >= c.span,
		c.span == 0 && c.next-c.first >= uint64(c.trials):
		return 0, false
	}
	c.next++
	return c.next - 1, true
}

// add counts a trial, and shrinks it if it failed and is among the first.
func (c *campaign) add(t *testing.T, res torture.Result) {
	if c.count(&res) {
		shrunk := torture.Shrink(t, c.engine, res)
		t.Log("failed:\n" + res.String())
		t.Logf("shrunk:\n%s -engine %q", shrunk.String(), c.engine.Name)
	}
}

// count reports whether the trial is to be shrunk.
func (c *campaign) count(res *torture.Result) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	s := &c.sum
	s.trials++
	s.faults += len(res.Played)
	s.calls += res.Events
	if len(res.Violations) == 0 {
		return false
	}
	if s.failed++; s.failed == 1 || res.Seed < s.first.Seed {
		s.first = *res
	}
	s.broken += len(res.Violations)
	broken := map[string]bool{}
	for _, v := range res.Violations {
		if len(s.violations) < mostViolations {
			s.violations = append(s.violations, fmt.Sprintf("seed %d: %s", res.Seed, v))
		}
		broken[v[:strings.Index(v, ":")]] = true
	}
	for kind := range broken {
		s.kinds[kind]++
	}
	return s.failed <= c.shrink
}
