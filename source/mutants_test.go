//go:build mutants

package source

import (
	"fmt"
	"strings"
	"testing"

	"github.com/kinglet-go/kinglet/internal/mutant"
)

// enoughTrials is within how many a mutation has to be found.
const enoughTrials = 1_000

// TestEveryMutationOfTheSourceIsCaught breaks the decoders in one way after the
// other. The trials have to notice, and to pass the very seed without it.
func TestEveryMutationOfTheSourceIsCaught(t *testing.T) {
	var table strings.Builder
	for _, m := range mutant.Source() {
		t.Run(strings.ReplaceAll(m.String(), " ", "-"), func(t *testing.T) {
			seed, found := uint64(1), error(nil)
			for ; seed <= enoughTrials && found == nil; seed++ {
				found = mutated(m, seed)
			}
			if found == nil {
				t.Fatalf("not caught in %d trials", enoughTrials)
			}
			seed--
			_, what, _ := strings.Cut(found.Error(), ": ")
			what, _, _ = strings.Cut(what, "\n")
			fmt.Fprintf(&table, "%-20s trial %-5d %.100s\n", m, seed, what)
			if err := mutated(mutant.None, seed); err != nil {
				t.Errorf("trial %d fails without it: %v", seed, err)
			}
		})
	}
	t.Logf("mutation             caught by\n%s", table.String())
}

func mutated(m mutant.Mutation, seed uint64) (err error) {
	mutant.Set(m)
	defer mutant.Set(mutant.None)
	defer func() {
		if v := recover(); v != nil {
			err = fmt.Errorf("a panic: %v", v)
		}
	}()
	return rigTrial(seed)
}
