package torture

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

// Shrunk is the smallest part of a plan found that still breaks a guarantee.
type Shrunk struct {
	Result
	Guarantee string
	// Runs counts the trials that it took. Failed of the last Tries runs of the part
	// failed.
	Runs, Failed, Tries int
}

const (
	// tries is how often a part of a plan is run before it counts as passing.
	// Backoffs are random, and goroutines are scheduled in any order, so a trial may
	// fail once and pass the next time.
	tries = 6
	// mostRuns limits the trials of shrinking one plan. Each takes some milliseconds.
	mostRuns = 1500
)

// Shrink searches for the smallest part of a trial that still breaks the first guarantee
// that res has broken. It leaves out faults and steps, many at first and single ones in
// the end, as long as one of 6 runs still fails, and stops after 1,500 runs. The part
// that it returns has failed at least once.
func Shrink(t *testing.T, e Engine, res Result) Shrunk {
	t.Helper()
	best := Shrunk{Result: res, Guarantee: res.Guarantees()[0]}
	parts := partsOf(&res)
	fails := func(parts []int) bool {
		tr := trialOf(res.Seed, parts)
		for range tries {
			if best.Runs++; best.Runs > mostRuns {
				return false
			}
			if r := tr.Run(t, e); r.Breaks(best.Guarantee) {
				best.Result = r
				return true
			}
		}
		return false
	}
	reduce(parts, fails)
	last := best.Trial
	for range tries {
		best.Tries++
		if r := last.Run(t, e); r.Breaks(best.Guarantee) {
			best.Failed++
		}
	}
	return best
}

// partsOf returns a number for everything that can be left out of a trial: that of a
// step, or the negated number of a fault's request.
func partsOf(res *Result) []int {
	var parts []int
	for i := range res.Plan.Steps {
		if res.Steps == nil || res.Steps[i+1] {
			parts = append(parts, i+1)
		}
	}
	for n := range res.Played {
		parts = append(parts, -n)
	}
	slices.Sort(parts)
	return parts
}

// trialOf returns a trial of some parts.
func trialOf(seed uint64, parts []int) Trial {
	tr := Trial{Seed: seed, Faults: map[int]bool{}, Steps: map[int]bool{}}
	for _, p := range parts {
		if p < 0 {
			tr.Faults[-p] = true
		} else {
			tr.Steps[p] = true
		}
	}
	return tr
}

// reduce returns a small subset of the parts for which fails is still true. It leaves
// out halves, then quarters, down to single parts, while that helps (Zeller's delta
// debugging, without its tests of the parts alone, which seldom fail here).
func reduce(parts []int, fails func([]int) bool) []int {
	for size := (len(parts) + 1) / 2; size > 0; {
		smaller := false
		for from := 0; from < len(parts); {
			rest := slices.Concat(parts[:from], parts[min(from+size, len(parts)):])
			if fails(rest) {
				parts, smaller = rest, true
			} else {
				from += size
			}
		}
		switch {
		case size > 1:
			size = (size + 1) / 2
		case !smaller:
			return parts
		}
	}
	return parts
}

// String returns what a person needs to find the cause.
func (s *Shrunk) String() string {
	return fmt.Sprintf("%sfound in %d runs, %d of %d runs of it break guarantee %s; again with\n  %s",
		s.Result.String(), s.Runs, s.Failed, s.Tries, s.Guarantee, s.command())
}

// command returns the command that runs the trial again.
func (s *Shrunk) command() string {
	list := func(set map[int]bool) string {
		if set == nil {
			return "all"
		}
		if len(set) == 0 {
			return "none"
		}
		return strings.Trim(strings.Join(strings.Fields(fmt.Sprint(sorted(set))), ","), "[]")
	}
	return fmt.Sprintf("go test ./kinglettest/torture -run TestReplay -v -args -seed %d -steps %s -faults %s -times 20",
		s.Seed, list(s.Steps), list(s.Faults))
}
