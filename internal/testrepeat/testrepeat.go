// Package testrepeat sets the number of trials of random tests. Only tests import it.
package testrepeat

// Times returns n, or n/8 (at least 1) under the race detector, where a trial costs
// several times as much. `make many` runs all n without the race detector.
func Times(n int) int {
	if race {
		return max(1, n/8)
	}
	return n
}
