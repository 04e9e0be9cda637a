//go:build mutants

package clone

import (
	"testing"

	"github.com/kinglet-go/kinglet/internal/mutant"
	"github.com/kinglet-go/kinglet/internal/mutant/mutanttest"
)

func TestEveryMutationOfCopiesIsCaught(t *testing.T) {
	mutanttest.EachIsCaught(t, mutant.Clone(), 500, trial, plans.Clear)
}
