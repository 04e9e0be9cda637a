// Package testseed gives random tests their seed, and test binaries the flag -seed
// to give it again. Only tests import it.
package testseed

import (
	"flag"
	"math/rand/v2"
	"testing"
)

var seed = flag.Uint64("seed", 0, "of what is random in the tests; 0: another each time")

// Of returns the seed of t: that of the flag, or a new one. It is logged, so that
// a test that fails prints it.
func Of(t testing.TB) uint64 {
	t.Helper()
	s := *seed
	if s == 0 {
		s = rand.Uint64()
	}
	t.Logf("-seed %d", s)
	return s
}
