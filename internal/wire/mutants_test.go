//go:build mutants

package wire

import (
	"testing"

	"github.com/kinglet-go/kinglet/internal/mutant"
	"github.com/kinglet-go/kinglet/internal/mutant/mutanttest"
)

func TestEveryMutationOfTheDecodersIsCaught(t *testing.T) {
	mutanttest.EachIsCaught(t, mutant.Wire(), 5_000, func(seed uint64) error {
		_, err := trial(seed)
		return err
	}, plans.Clear) // some mutations are compiled into plans
}
