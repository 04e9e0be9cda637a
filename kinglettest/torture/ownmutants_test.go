//go:build mutants

package torture_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/kinglet-go/kinglet/internal/mutant"
)

// TestEveryMutationOfOwnWritesIsCaught breaks reads that include own writes in
// one way after the other. The trials have to notice, and to pass the very seed
// without it.
func TestEveryMutationOfOwnWritesIsCaught(t *testing.T) {
	defer mutant.Set(mutant.None)
	var table strings.Builder
	for _, m := range mutant.Own() {
		t.Run(strings.ReplaceAll(m.String(), " ", "-"), func(t *testing.T) {
			for seed := *firstSeed; seed < *firstSeed+30; seed++ {
				// EndEarly sleeps under the hub's lock. Another source would wait for that,
				// and the bubble's time would stand still.
				tr := ownTrial{seed: seed, writes: 600, selects: seed%2 == 0, scoped: seed%4 < 2 && m != mutant.EndEarly}
				mutant.Set(m)
				wrong := tr.run(t)
				mutant.Set(mutant.None)
				if len(wrong) == 0 {
					continue
				}
				fmt.Fprintf(&table, "%-20s seed %-4d %.150s\n", m, seed-*firstSeed+1, wrong[0])
				if wrong := tr.run(t); len(wrong) > 0 {
					t.Errorf("seed %d fails without it: %v", seed, wrong)
				}
				return
			}
			fmt.Fprintf(&table, "%-20s not in 30 seeds\n", m)
			t.Errorf("%v: not caught in 30 seeds", m)
		})
	}
	t.Logf("mutation             caught by\n%s", table.String())
}
