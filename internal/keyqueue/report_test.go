package keyqueue

import (
	"errors"
	"slices"
	"testing"
)

func TestMostFailuresHasThoseThatFailedMostOften(t *testing.T) {
	q := New[int](Options[int]{})
	for key := range 100 {
		for range 1 + key {
			q.Add(key, AddOptions{})
			run, _ := q.Take()
			q.Finish(run, Result{Err: errors.New("failed"), After: 1e18})
		}
	}
	var keys []int
	for _, k := range q.Report(3).MostFailures {
		keys = append(keys, k.Key)
	}
	if !slices.Equal(keys, []int{99, 98, 97}) {
		t.Errorf("%v", keys)
	}
	if most := q.Report(1000).MostFailures; len(most) != 100 || most[0].Failure.Count != 100 || most[0].State != Waiting {
		t.Errorf("%d of 100 keys, %+v", len(most), most[0])
	}
	q.Stop()
}
