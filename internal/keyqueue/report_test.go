package keyqueue

import (
	"cmp"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/kinglet-go/kinglet/internal/testseed"
)

func TestTheReportHasTheBusiestClassesInOrder(t *testing.T) {
	r := rand.New(rand.NewPCG(testseed.Of(t), 5))
	for range 200 {
		q := New[int](Options[int]{Workers: 3})
		want := map[string]*ClassCounts{}
		for key := range r.IntN(200) {
			class := fmt.Sprint(r.IntN(1 + r.IntN(60)))
			if want[class] == nil {
				want[class] = &ClassCounts{Name: class}
			}
			q.Add(key, AddOptions{Class: class})
			want[class].Queued++
		}
		for range min(r.IntN(4), q.Counts().Queued) {
			run, _ := q.Take()
			s, _ := q.Get(run.Key)
			want[s.Class].Queued--
			want[s.Class].Running++
		}
		limit := 1 + r.IntN(40)
		got := q.Report(limit).Classes
		if len(got) != min(limit, len(want)) {
			t.Fatalf("%d classes of %d, at most %d", len(got), len(want), limit)
		}
		busy := func(c ClassCounts) int { return c.Queued + c.Running }
		if !slices.IsSortedFunc(got, func(a, b ClassCounts) int { return cmp.Compare(busy(b), busy(a)) }) {
			t.Fatalf("not in order: %+v", got)
		}
		for _, c := range got {
			if c != *want[c.Name] {
				t.Fatalf("%+v, want %+v", c, *want[c.Name])
			}
			delete(want, c.Name)
		}
		for _, c := range want {
			if busy(*c) > busy(got[len(got)-1]) {
				t.Fatalf("%+v is left out, and busier than %+v", *c, got[len(got)-1])
			}
		}
		q.Stop()
	}
}

func TestMostFailuresHasThoseThatFailedMostOften(t *testing.T) {
	q := New[int](Options[int]{})
	for key := range 100 {
		for range 1 + key {
			q.Add(key, AddOptions{})
			run, _ := q.Take()
			q.Finish(run, Result{Err: errors.New("failed"), After: 1e18})
		}
	}
	keys, statuses := q.MostFailures(3)
	if !slices.Equal(keys, []int{99, 98, 97}) || statuses[0].Failure.Count != 100 {
		t.Errorf("%v %+v", keys, statuses)
	}
	if keys, _ := q.MostFailures(1000); len(keys) != 100 {
		t.Errorf("%d of 100 keys", len(keys))
	}
	q.Stop()
}
