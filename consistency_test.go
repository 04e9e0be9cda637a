package kinglet_test

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kinglet-go/kinglet"
	"github.com/kinglet-go/kinglet/internal/tests/testbubble"
)

func TestNothingIsCheckedUnlessTheInformerIsWatching(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, kinglet.Options[pod]{}, newPod("a", "n1"))
		refused := func(when string) {
			t.Helper()
			if _, err := r.informer.CheckConsistency(t.Context()); !errors.Is(err, kinglet.ErrNotWatching) {
				t.Errorf("%s: %v", when, err)
			}
		}
		refused("before Run")
		r.src.FailLists(-1, errors.New("no"))
		r.src.RefuseWatchList(errors.New("no"))
		r.run()
		refused("without a list")
		r.src.FailLists(0, nil)
		testbubble.Pass(time.Minute)
		if report, err := r.informer.CheckConsistency(t.Context()); err != nil || report.Compared != 1 {
			t.Errorf("while watching: %+v, %v", report, err)
		}
		r.end()
		for range 100 {
			refused("after Run")
		}
	})
}
