package controller_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kinglet-go/kinglet"
	"github.com/kinglet-go/kinglet/controller"
	"github.com/kinglet-go/kinglet/internal/tests/testbubble"
	"github.com/kinglet-go/kinglet/reflector"
)

// runSet runs a set until the function that it returns is called, which returns its
// error.
func runSet(set *kinglet.Set) (stop func() error) {
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- set.Run(ctx) }()
	return func() error {
		cancel()
		return <-ended
	}
}

// observedLeader calls a function when it is released.
type observedLeader struct {
	*leader
	onRelease func()
}

func (l *observedLeader) Acquire(context.Context) (controller.Leadership, error) { return l, nil }

func (l *observedLeader) Release() {
	l.onRelease()
	l.leader.Release()
}

// TestASetStopsItsInformersAfterTheLastRunAndTheReleaseOfLeadership has a run under way
// at the stop that reads what changes after it.
func TestASetStopsItsInformersAfterTheLastRunAndTheReleaseOfLeadership(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		src, inf := informerOf(t, newPod("a"))
		l := &observedLeader{leader: newLeader()}
		seen := false
		c := newController(t, func(ctx context.Context, _ kinglet.Key) (controller.Result, error) {
			testbubble.Pass(10 * time.Second)
			_, seen = inf.Store().Get(key("late"))
			return controller.Result{}, nil
		}, controller.Options[kinglet.Key]{Elector: l})
		mustWatch(t, c, inf)
		set := kinglet.NewSet(inf)
		if err := set.AddController(c, c); err != nil { // which adds it once
			t.Fatal(err)
		}
		l.onRelease = func() {
			if phase := inf.Status().Phase; phase != reflector.Watching {
				t.Errorf("the informer was %v when leadership was released", phase)
			}
		}
		stop := runSet(set)
		testbubble.Pass(time.Second)
		if shown, _ := set.Controllers(); len(shown) != 1 || shown[0].Status().Running != 1 {
			t.Errorf("the set shows %d controllers", len(shown))
		}
		go func() {
			testbubble.Pass(time.Second)
			put(t, src, newPod("late"))
		}()
		if err := stop(); err != nil {
			t.Error(err)
		}
		if !seen {
			t.Error("the run under way did not read what came after the stop")
		}
		if phase := inf.Status().Phase; !l.isReleased() || phase != reflector.Stopped {
			t.Errorf("leadership was released: %v, the informer is %v", l.isReleased(), phase)
		}
	})
}

func TestASetEndsWhenAControllerFailsAndRefusesMore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, inf := informerOf(t)
		set := kinglet.NewSet(inf)
		idle := func(context.Context, kinglet.Key) (controller.Result, error) { return controller.Result{}, nil }
		ended := make(chan error, 1)
		go func() { ended <- set.Run(t.Context()) }()
		synctest.Wait()
		// Both are added to the set while it runs.
		l := newLeader()
		failing := newController(t, idle, controller.Options[kinglet.Key]{Name: "failing", Elector: l})
		other := newController(t, idle, controller.Options[kinglet.Key]{Name: "other"})
		mustWatch(t, failing, inf)
		if err := set.AddController(failing, other); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		if gate := failing.Status().GateReason + other.Status().GateReason; gate != "" {
			t.Errorf("they do not run: %s", gate)
		}
		close(l.lost)
		if err := <-ended; !errors.Is(err, controller.ErrLeadershipLost) {
			t.Errorf("got %v", err)
		}
		if reason := other.Status().GateReason; reason != "stopped" {
			t.Errorf("the other controller: %s", reason)
		}
		if err := set.AddController(failing); !errors.Is(err, kinglet.ErrStopped) {
			t.Errorf("a controller is added to a set that has ended: %v", err)
		}
	})
}
