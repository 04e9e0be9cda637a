// Package testallocs counts allocations in tests. Only tests import it.
package testallocs

import "testing"

// measurements is how often Least measures.
const measurements = 5

// Least returns the least of several results of [testing.AllocsPerRun] for f. Other
// activity, such as a collector that empties pools, only adds to a count.
func Least(runs int, f func()) float64 {
	n := testing.AllocsPerRun(runs, f)
	for range measurements - 1 {
		n = min(n, testing.AllocsPerRun(runs, f))
	}
	return n
}

// Calls is how often Least calls its function.
func Calls(runs int) int { return measurements * (runs + 1) }
