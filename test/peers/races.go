package main

import (
	"regexp"
	"slices"
	"strings"
)

// attempts is how often a test is run, at most, that races with what it tests. One
// that is lost once in 240 times is lost three times in a row once in 14 million.
const attempts = 3

// lost returns the tests that have failed and are races.
func (e *expectation) lost(outcomes map[testName]outcome) (tests []testName) {
	for n, o := range outcomes {
		if d := e.differs(n.test); d != nil && d.race && !o.passed && !slices.Contains(tests, n.top()) {
			tests = append(tests, n.top())
		}
	}
	return tests
}

// won puts the outcomes of those tests in the place of earlier ones that have
// passed in another attempt.
func won(outcomes, again map[testName]outcome, tests []testName) {
	for _, n := range tests {
		if o, ran := again[n]; !ran || !o.passed || o.skipped {
			continue
		}
		for m, o := range again {
			if m.top() == n {
				outcomes[m] = o
			}
		}
	}
}

// focusOn returns what Ginkgo is to look for to run the specs among the tests. A
// spec's text follows that of its suite.
func focusOn(tests []testName) string {
	var specs []string
	for _, n := range tests {
		if n.spec {
			specs = append(specs, regexp.QuoteMeta(n.test))
		}
	}
	if len(specs) == 0 {
		return "a^" // none
	}
	return "(" + strings.Join(specs, "|") + ")$"
}
