//go:build mutants

package torture_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/kinglet-go/kinglet/internal/mutant"
	"github.com/kinglet-go/kinglet/kinglettest/torture"
)

// enoughSeeds is within how many a mutation has to be found.
const enoughSeeds = 1000

// TestEveryMutationIsCaught breaks the engine in one way after the other. The
// table that it prints says how many trials that took.
func TestEveryMutationIsCaught(t *testing.T) {
	defer mutant.Set(mutant.None)
	var table strings.Builder
	for _, m := range mutant.All() {
		t.Run(strings.ReplaceAll(m.String(), " ", "-"), func(t *testing.T) {
			mutant.Set(m)
			c := campaign{engine: torture.Kinglet(), first: *firstSeed, trials: enoughSeeds, workers: workers(), enough: true}
			sum := c.run(t)
			mutant.Set(mutant.None)
			if sum.failed == 0 {
				fmt.Fprintf(&table, "%-20s not in %d seeds\n", m, sum.trials)
				t.Errorf("%v: not caught in %d seeds", m, sum.trials)
				return
			}
			fmt.Fprintf(&table, "%-20s seed %-4d %s\n", m, sum.first.Seed-c.first+1, sum.first.Violations[0])
			// The engine as it is passes the very plan.
			if res := (torture.Trial{Seed: sum.first.Seed}).Run(t, torture.Kinglet()); len(res.Violations) > 0 {
				t.Errorf("%v: the engine fails seed %d without it:\n%v", m, res.Seed, res.String())
			}
		})
	}
	t.Logf("mutation             caught by\n%s", table.String())
}
