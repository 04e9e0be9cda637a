//go:build mutants

// Package mutanttest runs random trials of code that is broken on purpose, to
// show that they notice. Only tests import it.
package mutanttest

import (
	"fmt"
	"strings"
	"testing"

	"github.com/kinglet-go/kinglet/internal/mutant"
)

// EachIsCaught breaks the code under test in one way after the other. For each
// mutation one of trial(1) to trial(most) has to return an error or to panic, and
// the very same trial has to pass without the mutation.
//
// changed is called whenever another mutation is about to be on, and may be nil:
// it is for what the code under test keeps from one trial to the next.
func EachIsCaught(t *testing.T, mutations []mutant.Mutation, most uint64, trial func(seed uint64) error, changed func()) {
	on := func(m mutant.Mutation) {
		mutant.Set(m)
		if changed != nil {
			changed()
		}
	}
	defer on(mutant.None)
	var table strings.Builder
	for _, m := range mutations {
		t.Run(strings.ReplaceAll(m.String(), " ", "-"), func(t *testing.T) {
			on(m)
			seed, found := uint64(0), error(nil)
			for seed < most && found == nil {
				seed++
				found = recovered(trial, seed)
			}
			if found == nil {
				t.Fatalf("not caught in %d trials", most)
			}
			fmt.Fprintf(&table, "%-20s trial %-5d %.100s\n", m, seed, firstLine(found))
			on(mutant.None)
			if err := recovered(trial, seed); err != nil {
				t.Errorf("trial %d fails without it: %v", seed, err)
			}
		})
	}
	t.Logf("mutation             caught by\n%s", table.String())
}

// recovered is the error of a trial; a panic is one.
func recovered(trial func(seed uint64) error, seed uint64) (err error) {
	defer func() {
		if v := recover(); v != nil {
			err = fmt.Errorf("a panic: %v", v)
		}
	}()
	return trial(seed)
}

func firstLine(err error) string {
	line, _, _ := strings.Cut(err.Error(), "\n")
	return line
}
