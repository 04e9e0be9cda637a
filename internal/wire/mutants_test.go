//go:build mutants

package wire

import (
	"fmt"
	"strings"
	"testing"

	"github.com/kinglet-go/kinglet/internal/mutant"
)

// enoughTrials is within how many a mutation has to be found.
const enoughTrials = 5_000

// TestEveryMutationOfTheDecodersIsCaught breaks the decoders in one way after
// the other. The rig has to notice, and to pass the very trial without it.
func TestEveryMutationOfTheDecodersIsCaught(t *testing.T) {
	var table strings.Builder
	for _, m := range mutant.Wire() {
		t.Run(strings.ReplaceAll(m.String(), " ", "-"), func(t *testing.T) {
			seed, found := uint64(1), error(nil)
			for ; seed <= enoughTrials && found == nil; seed++ {
				found = mutated(m, seed)
			}
			if found == nil {
				t.Fatalf("not caught in %d trials", enoughTrials)
			}
			seed--
			what, _, _ := strings.Cut(found.Error(), "\n")
			fmt.Fprintf(&table, "%-20s trial %-5d %.100s\n", m, seed, what)
			if err := mutated(mutant.None, seed); err != nil {
				t.Errorf("trial %d fails without it: %v", seed, err)
			}
		})
	}
	t.Logf("mutation             caught by\n%s", table.String())
}

// mutated makes a trial of decoders that were compiled with a mutation.
func mutated(m mutant.Mutation, seed uint64) (err error) {
	if m != active {
		plans.Clear()
		active = m
	}
	mutant.Set(m)
	defer mutant.Set(mutant.None)
	defer func() {
		if v := recover(); v != nil {
			err = fmt.Errorf("a panic: %v", v)
		}
	}()
	_, err = trial(seed)
	return err
}

// active is what the plans that are kept were compiled with.
var active mutant.Mutation
