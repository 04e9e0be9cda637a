//go:build e2e

package main

import (
	"flag"
	"testing"
	"time"
)

var program = flag.String("cluster", "", "the kinglet-cluster program; built if empty")

// brief is a run that takes seconds. What is left of the heap counts for
// nothing in it.
func brief(t *testing.T) *options {
	o := &options{}
	set := flag.NewFlagSet("soak", flag.ContinueOnError)
	o.flags(set)
	o.program, o.stdout, o.brief = *program, t.Output(), true
	return o
}

// Whatever goes wrong in six seconds, the stores equal the server afterwards,
// handlers were told a legal history, and nothing is left when all has stopped.
func TestStoresEqualTheServerAfterABriefSoak(t *testing.T) {
	o := brief(t)
	o.duration, o.every, o.gap = 6*time.Second, 6*time.Second, 500*time.Millisecond
	o.rate, o.visitors, o.waves = 40, 20, 2*time.Second
	if err := run(t.Context(), o); err != nil {
		t.Fatalf("seed %d: %v", o.seed, err)
	}
}
