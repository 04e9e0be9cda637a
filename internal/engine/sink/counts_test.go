package sink_test

import (
	"errors"
	"testing"

	"github.com/kinglet-go/kinglet/internal/engine/sink"
	"github.com/kinglet-go/kinglet/source"
	"github.com/kinglet-go/kinglet/status"
	"github.com/kinglet-go/kinglet/store"
)

func TestAnEventThatChangesNothingIsADuplicate(t *testing.T) {
	s := newStages(t, func(o *sink.Options[*object]) { o.Version = func(o *object) string { return o.version } })
	s.list("1", good("a", "u", "1"), good("b", "v", "1"))
	gone := good("c", "w", "3")
	check := func(what string, want uint64) {
		t.Helper()
		if got := s.Duplicates(); got != want {
			t.Errorf("%s: %d duplicates, want %d", what, got, want)
		}
	}
	s.apply("2", modified(good("a", "u", "2")), source.Event[*object]{Type: source.Added, Item: good("d", "x", "2")})
	check("changes", 0)
	s.apply("2", modified(good("a", "u", "2")))
	check("the version that is held", 1)
	s.apply("3", source.Event[*object]{Type: source.Deleted, Item: gone})
	check("the delete of nothing", 2)
	s.apply("4", modified(broken("a", "u", "4")), modified(good("b", "v", "4")))
	check("one that does not decode", 2)
	misplaced := good("a", "u", "5")
	misplaced.Key = store.Key{Name: "elsewhere"}
	s.apply("5", modified(misplaced))
	check("one that the store refuses", 2)
	s.apply("6", source.Event[*object]{Type: source.Deleted, Item: good("b", "v", "6")}, modified(good("b", "y", "7")), modified(good("b", "y", "7")))
	check("the same twice in one batch", 3)
	// Without versions, a watch that begins anew sends all that there is as added.
	s2 := newStages(t, nil)
	s2.list("1", good("a", "u", "1"))
	s2.apply("2", modified(good("a", "u", "1")))
	if n := s2.Duplicates(); n != 0 {
		t.Errorf("without Version: %d", n)
	}
}

func TestFailuresAreCountedByTheStageThatRefused(t *testing.T) {
	s := newStages(t, nil)
	at := func(stage source.Stage) source.Event[*object] {
		it := broken("a", "u", "2")
		it.Err = &source.ItemError{Stage: stage, Key: it.Key, Err: errBroken}
		return modified(it)
	}
	s.list("1", good("a", "u", "1"), broken("b", "v", "1"))
	s.apply("2", at(source.StageDecode), at(source.StageTransform), at(source.StageTransform), at(source.StageKey), at("made up"))
	kind := broken("a", "other", "3")
	kind.Err = &source.ItemError{Stage: source.StageDecode, Key: kind.Key, Err: &source.KindError{}}
	s.apply("3", modified(kind))
	misplaced := good("a", "u", "4")
	misplaced.Key = store.Key{Name: "elsewhere"}
	s.apply("4", modified(misplaced), modified(good("c", "w", "unindexed")))
	want := status.StageCounts{status.StageDecode: 3, status.StageTransform: 2, status.StageKey: 2, status.StageIndex: 1, status.StageOther: 1}
	var got status.Informer
	s.Quarantine.AddTo(&got)
	if got.FailuresByStage != want {
		t.Errorf("%v, want %v", got, want)
	}
	if failures := got.Failures; failures != 8 {
		t.Errorf("%d versions were not stored", failures)
	}
	if !errors.Is(s.Quarantine.List()[0].Err, errBroken) {
		t.Error("the error is not kept")
	}
}
