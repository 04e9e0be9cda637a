// Package testrepeat says how often random tests repeat what they do. Only tests
// import it.
package testrepeat

// Times returns n, or a quarter of n under the race detector. A repetition costs up
// to ten times as much there, and the first ones find the races. `make many` runs
// all n without it.
func Times(n int) int {
	if race {
		return max(1, n/4)
	}
	return n
}
