package main

import (
	"maps"
	"testing"
)

func TestARaceThatIsLostIsRunAgainAndNothingElseIs(t *testing.T) {
	e := expect(t, "suite | s | 3 | 0\nraces | s | TestA | because\ndiffers | s | TestB | because | nobody is told\n")
	outcomes := map[testName]outcome{
		named("TestA"): failing, named("TestA/one"): failing, named("TestB"): failing, named("TestC"): failing,
	}
	lost := e.lost(outcomes)
	if len(lost) != 1 || lost[0] != named("TestA") {
		t.Fatalf("%v is run again", lost)
	}
	for _, skipped := range []bool{true, false} {
		again := maps.Clone(outcomes)
		again[named("TestA")], again[named("TestA/one")] = outcome{passed: true, skipped: skipped}, passing
		again[named("TestC")] = passing // it ran beside it
		won(outcomes, again, lost)
		if outcomes[named("TestA")].passed == skipped || outcomes[named("TestA/one")].passed == skipped || outcomes[named("TestC")].passed {
			t.Errorf("skipped %v: %v", skipped, outcomes)
		}
	}
}
