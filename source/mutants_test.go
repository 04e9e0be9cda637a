//go:build mutants

package source

import (
	"testing"

	"github.com/kinglet-go/kinglet/internal/mutant"
	"github.com/kinglet-go/kinglet/internal/mutant/mutanttest"
)

func TestEveryMutationOfTheSourceIsCaught(t *testing.T) {
	mutanttest.EachIsCaught(t, mutant.Source(), 1_000, rigTrial, nil)
}
