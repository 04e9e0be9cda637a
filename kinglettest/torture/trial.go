package torture

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// Trial is one run of an engine through a plan, whole or in part. The zero
// value of all but Seed is fit for use.
type Trial struct {
	Seed uint64
	// Faults, if not nil, are the numbers of the requests that may have a
	// fault, and Steps those of the steps that are made, both from 1.
	Faults, Steps map[int]bool
}

// settle is how long the informer has once the faults are over: more than the
// longest watch lasts, since a connection that is half open ends with that.
const settle = 15 * time.Minute

// Result is what came of a Trial.
type Result struct {
	Trial
	Plan Plan
	// Played are the faults, by the number of the request, and their names.
	Played map[int]string
	// Violations are the guarantees that were broken, each with what shows it:
	// their number, a comma, and words.
	Violations []string
	// Quarantined is how many objects the informer knew, in the end, not to have
	// the latest version of, because that could not be decoded.
	Quarantined int
	// Events is how many calls handlers had.
	Events int
}

// Run runs an engine through the trial, in a bubble of its own.
func (tr Trial) Run(t *testing.T, e Engine) Result {
	t.Helper()
	res := Result{Trial: tr, Plan: PlanOf(tr.Seed), Played: map[int]string{}}
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(e, &res)
		defer w.close()
		if err := w.run(t.Context()); err != nil {
			t.Fatal(err)
		}
		res.Violations = w.check()
		res.Quarantined = w.quarantined
		for _, h := range w.handlers {
			told, _ := h.told()
			res.Events += len(told)
		}
	})
	return res
}

// Guarantees are the numbers of those that were broken, without repetition.
func (r *Result) Guarantees() []string {
	var numbers []string
	seen := map[string]bool{}
	for _, v := range r.Violations {
		n, _, _ := strings.Cut(v, ",")
		if !seen[n] {
			seen[n] = true
			numbers = append(numbers, n)
		}
	}
	return numbers
}

// Breaks reports whether a guarantee was broken.
func (r *Result) Breaks(guarantee string) bool {
	for _, v := range r.Violations {
		if strings.HasPrefix(v, guarantee+",") {
			return true
		}
	}
	return false
}

// String is the plan, as far as it was followed, and what was wrong.
func (r *Result) String() string {
	var b strings.Builder
	b.WriteString(r.Plan.describe(r.Steps))
	for _, n := range sorted(r.Played) {
		fmt.Fprintf(&b, "  request %d: %s\n", n, r.Played[n])
	}
	for _, v := range r.Violations {
		fmt.Fprintf(&b, "  broken: %s\n", v)
	}
	return b.String()
}
