package torture

import (
	"context"
	"slices"
	"testing"

	"k8s.io/client-go/rest"

	"github.com/kinglet-go/kinglet"
)

func TestWhatIsLeftOfAPlanIsWhatItTakesToFail(t *testing.T) {
	var parts []int
	for i := range 60 {
		parts = append(parts, i-20)
	}
	for _, needed := range [][]int{{}, {-3}, {-20, 39}, {1, 2, 3}, {-7, 0, 11, 30}} {
		runs := 0
		got := reduce(parts, func(some []int) bool {
			runs++
			return !slices.ContainsFunc(needed, func(n int) bool { return !slices.Contains(some, n) })
		})
		if !slices.Equal(got, needed) || runs > 300 {
			t.Errorf("%v is needed, %v was left after %d runs", needed, got, runs)
		}
	}
}

// deaf is an informer whose handlers are not told of deletes.
type deaf struct{ *kingletInformer }

func (d deaf) AddHandler(r *Recorder) (Registration, error) {
	reg, err := d.Informer.AddHandler(kinglet.HandlerFuncs[Object]{
		OnAdd:    func(_ context.Context, o Object, initial bool) { r.Add(o, initial) },
		OnUpdate: func(_ context.Context, old, o Object) { r.Update(old, o) },
	}, kinglet.HandlerOptions{})
	if err != nil {
		return Registration{}, err
	}
	return Registration{Synced: reg.HasSynced}, nil
}

func TestATrialThatFailsIsShrunkToTheStepsThatMatter(t *testing.T) {
	e := Engine{Name: "deaf", Snapshots: true, Start: func(cfg *rest.Config) (Informer, error) {
		inf, err := Kinglet().Start(cfg)
		if err != nil {
			return nil, err
		}
		return deaf{inf.(*kingletInformer)}, nil
	}}
	res := Trial{Seed: 1}.Run(t, e)
	if len(res.Violations) == 0 {
		t.Fatal("an informer that does not tell of deletes passes")
	}
	s := Shrink(t, e, res)
	t.Log(s.String())
	if len(s.Steps) > 4 || len(s.Faults) > 0 || s.Failed == 0 || !s.Breaks(s.Guarantee) {
		t.Errorf("of %d steps and %d faults %v and %v are left, and %d of %d runs fail",
			len(res.Plan.Steps), len(res.Played), s.Steps, s.Faults, s.Failed, s.Tries)
	}
}
