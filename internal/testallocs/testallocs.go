// Package testallocs counts allocations in tests. Only tests import it.
package testallocs

import "testing"

// measurements is how often Least measures.
const measurements = 5

// Least is [testing.AllocsPerRun] of f, the least of several. What else runs, a
// collector that empties pools among it, only adds to the count of one.
func Least(runs int, f func()) float64 {
	n := testing.AllocsPerRun(runs, f)
	for range measurements - 1 {
		n = min(n, testing.AllocsPerRun(runs, f))
	}
	return n
}

// Calls is how often Least calls its function.
func Calls(runs int) int { return measurements * (runs + 1) }
