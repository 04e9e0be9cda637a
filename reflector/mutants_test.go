//go:build mutants

package reflector

import (
	"testing"

	"github.com/kinglet-go/kinglet/internal/mutant"
)

// TestVersionsThatDecideWithinAWatchAreCaught breaks the order of arrival. The
// trials have to notice, and to pass the very one without it.
func TestVersionsThatDecideWithinAWatchAreCaught(t *testing.T) {
	const seed = 1
	mutant.Set(mutant.VersionsDecide)
	defer mutant.Set(mutant.None)
	for i := range uint64(200) {
		err := orderTrial(t, seed, i)
		if err == nil {
			continue
		}
		t.Logf("%v: caught by trial %d: %v", mutant.VersionsDecide, i+1, err)
		mutant.Set(mutant.None)
		if err := orderTrial(t, seed, i); err != nil {
			t.Errorf("trial %d fails without it: %v", i+1, err)
		}
		return
	}
	t.Error("not caught in 200 trials")
}
