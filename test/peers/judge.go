package main

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// A verdict is what a suite has come to.
type verdict struct {
	run, passed, differing int
	skipped                int // by themselves; they do not count as run
	failed                 []failure
	// problems are failures of the suite as a whole.
	problems []string
}

type failure struct {
	name testName
	outcome
}

// judge compares outcomes with what is expected. With whole, every test of the
// suite was to run.
func judge(e *expectation, outcomes map[testName]outcome, cut int, whole bool) verdict {
	var v verdict
	names := slices.SortedFunc(maps.Keys(outcomes), func(a, b testName) int {
		return strings.Compare(a.pkg+" "+a.test, b.pkg+" "+b.test)
	})
	// A test with failing subtests fails by them alone.
	bySubtest := map[testName]bool{}
	for _, n := range names {
		if !outcomes[n].passed && !n.spec {
			for parent := n; ; {
				i := strings.LastIndexByte(parent.test, '/')
				if i < 0 {
					break
				}
				parent.test = parent.test[:i]
				bySubtest[parent] = true
			}
		}
	}
	unexplained := map[testName]bool{}
	explained := map[testName]bool{}
	for _, n := range names {
		if outcomes[n].passed || bySubtest[n] {
			continue
		}
		if d := e.differs(n.test); d != nil && !d.race {
			d.seen = true
			explained[n.top()] = true
			continue
		}
		unexplained[n.top()] = true
		v.failed = append(v.failed, failure{n, outcomes[n]})
	}
	for _, n := range names {
		if n != n.top() {
			continue
		}
		if outcomes[n].skipped {
			v.skipped++
			continue
		}
		v.run++
		switch {
		case unexplained[n]:
		case explained[n]:
			v.differing++
		default:
			v.passed++
		}
	}
	for _, d := range e.differences {
		// Of a test that was not asked for nothing is known.
		ran := slices.ContainsFunc(names, func(n testName) bool { return n.test == d.test && !outcomes[n].skipped })
		switch {
		case d.seen || !whole && !ran || d.race && ran:
		case ran:
			v.problems = append(v.problems, fmt.Sprintf("%s passes, and is on the list of differences: delete line %d of expected.txt", d.test, d.line))
		default:
			v.problems = append(v.problems, fmt.Sprintf("%s is on the list (line %d of expected.txt) and did not run", d.test, d.line))
		}
	}
	if whole && (v.run != e.tests || cut != e.cut) {
		v.problems = append(v.problems, fmt.Sprintf("%d tests ran and %d were cut; expected.txt says %d and %d", v.run, cut, e.tests, e.cut))
	}
	return v
}
