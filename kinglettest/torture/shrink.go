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
	// Runs is how many trials it took to find, and Failed how many of the
	// last Tries of it failed.
	Runs, Failed, Tries int
}

const (
	// tries is how often a part of a plan is run before it is taken to pass.
	// Backoffs are random, and goroutines run in any order, so that a trial
	// may fail one time and pass the next.
	tries = 6
	// mostRuns bounds the trials that shrinking one plan may take: some
	// milliseconds each.
	mostRuns = 1500
)

// Shrink looks for the smallest part of a trial that still breaks the first
// guarantee that res has broken. It leaves out faults and steps, many at first
// and one by one in the end, keeps what is then still broken in one of 6 runs,
// and stops after 1,500 runs. What it returns has failed at least once.
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

// partsOf numbers all that can be left out of a trial: steps as they are,
// faults below 0.
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

// trialOf is a trial of some parts.
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

// reduce returns as few of the parts as it finds for which fails is still
// true. It leaves out halves, then quarters, and so on to single parts, as
// long as that leads anywhere (Zeller's delta debugging, without its tests of
// the parts alone, which seldom fail here).
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

// String is what to tell somebody who has to find out.
func (s *Shrunk) String() string {
	return fmt.Sprintf("%sfound in %d runs, %d of %d runs of it break guarantee %s; again with\n  %s",
		s.Result.String(), s.Runs, s.Failed, s.Tries, s.Guarantee, s.command())
}

// command runs the trial again.
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
