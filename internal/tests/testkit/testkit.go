// Package testkit has what many tests need: seeds, trials, allocations, logs. Only tests
// import it: it gives a test binary the flag -seed.
package testkit

import "testing"

// Trials returns n, or n/8 (at least 1) under the race detector, where a random trial costs
// several times as much. `make many` runs all n without the race detector.
func Trials(n int) int {
	if race {
		return max(1, n/8)
	}
	return n
}

// measurements is how often Allocs measures.
const measurements = 5

// Allocs returns the least of several results of [testing.AllocsPerRun] for f. Other
// activity, such as a collector that empties pools, only adds to a count.
func Allocs(runs int, f func()) float64 {
	n := testing.AllocsPerRun(runs, f)
	for range measurements - 1 {
		n = min(n, testing.AllocsPerRun(runs, f))
	}
	return n
}

// AllocsCalls is how often Allocs calls its function.
func AllocsCalls(runs int) int { return measurements * (runs + 1) }
