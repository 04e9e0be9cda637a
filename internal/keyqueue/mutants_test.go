//go:build mutants

package keyqueue

import (
	"testing"

	"github.com/kinglet-go/kinglet/internal/mutant"
	"github.com/kinglet-go/kinglet/internal/mutant/mutanttest"
)

func TestEveryMutationOfTheQueueIsCaught(t *testing.T) {
	trial := func(seed uint64) error {
		for _, prioritized := range []bool{false, true} {
			if err := twinTrial(seed, 3000, prioritized); err != nil {
				return err
			}
		}
		return nil
	}
	mutanttest.EachIsCaught(t, mutant.Queue(), 100, trial, nil)
}
