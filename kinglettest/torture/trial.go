package torture

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// Trial is one run of an engine through a plan or a part of it. All fields except Seed
// may be zero.
type Trial struct {
	Seed uint64
	// Faults, if not nil, has the numbers of the requests that may have a fault, and
	// Steps those of the steps to perform. Both count from 1.
	Faults, Steps map[int]bool
}

// settle is the time that the informer has after the last fault. It is longer than the
// longest watch, which is how long a half-open connection may go unnoticed.
const settle = 15 * time.Minute

// Result is the outcome of a Trial.
type Result struct {
	Trial
	Plan Plan
	// Played has the names of the faults by the number of the request.
	Played map[int]string
	// Violations are the broken guarantees, each with its evidence: a number, a comma,
	// and a text.
	Violations []string
	// Quarantined counts the objects whose latest version, as the informer knew at the
	// end, could not be decoded.
	Quarantined int
	// Events counts the calls of handlers.
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

// Guarantees returns the numbers of the broken guarantees, each once.
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

// String describes the plan, as far as it was followed, and the violations.
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
