package testkit

import (
	"flag"
	"math/rand/v2"
	"testing"
)

var seed = flag.Uint64("seed", 0, "of what is random in the tests; 0: another each time")

// Given returns the flag -seed; 0 if it is not set.
func Given() uint64 { return *seed }

// Seed returns the seed of t: that of the flag -seed, or a new one. It is logged, so that
// a test that fails prints it.
func Seed(t testing.TB) uint64 {
	t.Helper()
	s := *seed
	if s == 0 {
		s = rand.Uint64()
	}
	t.Logf("-seed %d", s)
	return s
}
