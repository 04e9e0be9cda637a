package controller_test

import (
	"context"
	"errors"
	"iter"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kinglet-go/kinglet"
	"github.com/kinglet-go/kinglet/controller"
	"github.com/kinglet-go/kinglet/internal/testclock"
)

// TestTheGateStaysShutWhenAnInputEndsThatTheProgramDidNotRemove stops one informer
// before it has synced, stops another later, and has a function of the program end the
// goroutine of its handler.
func TestTheGateStaysShutWhenAnInputEndsThatTheProgramDidNotRemove(t *testing.T) {
	for _, test := range []struct {
		name         string
		sync, exit   bool
		runs         int
		wantInReason string
	}{
		{"before it has synced", false, false, 0, "stopped"},
		{"later", true, false, 1, "stopped"},
		{"by a function that ends its goroutine", true, true, 0, "goroutine"},
	} {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				src, inf := informerOf(t, newPod("a"))
				if !test.sync {
					src.FailLists(-1, errors.New("unreachable"))
					src.FailWatches(-1, errors.New("unreachable"))
				}
				r := &runs{}
				c := newController(t, func(_ context.Context, k kinglet.Key) (controller.Result, error) {
					r.note(k)
					return controller.Result{}, nil
				}, controller.Options[kinglet.Key]{})
				mustWatch(t, c, inf, controller.WatchOptions[pod]{If: func(controller.Change[pod]) bool {
					if test.exit {
						runtime.Goexit()
					}
					return true
				}})
				stop := start(t, c)
				ctx, cancel := context.WithCancel(context.Background())
				ended := make(chan error, 1)
				go func() { ended <- inf.Run(ctx) }()
				testclock.Pass(10 * time.Second)
				if !test.exit {
					cancel()
					<-ended
				}
				testclock.Pass(10 * time.Second)
				_ = c.Add(key("b"))
				testclock.Pass(10 * time.Second)
				if got := r.list(); len(got) != test.runs {
					t.Errorf("ran %v", got)
				}
				if gate := c.Status().Gate; !strings.Contains(gate.Reason, "pods") || !strings.Contains(gate.Reason, test.wantInReason) {
					t.Errorf("the gate says %q", gate.Reason)
				}
				cancel()
				if err := stop(); err != nil {
					t.Error(err)
				}
			})
		})
	}
}

func TestTheGateOpensWhenTheProgramRemovesAnInput(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, inf := informerOf(t, newPod("a"))
		r := &runs{}
		c := newController(t, func(_ context.Context, k kinglet.Key) (controller.Result, error) {
			r.note(k)
			return controller.Result{}, nil
		}, controller.Options[kinglet.Key]{})
		registration, err := controller.Watch(c, inf, controller.Self)
		if err != nil {
			t.Fatal(err)
		}
		stop := start(t, c)
		_ = c.Add(key("b"))
		testclock.Pass(10 * time.Second)
		if got := r.list(); len(got) != 0 {
			t.Errorf("ran %v", got)
		}
		registration.Remove()
		testclock.Pass(time.Second)
		if got := r.list(); len(got) != 1 {
			t.Errorf("ran %v", got)
		}
		if err := stop(); err != nil {
			t.Error(err)
		}
	})
}

func TestAFunctionThatReturnsNoSequenceMapsToNoKeys(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, inf := informerOf(t, newPod("a"))
		r := &runs{}
		c := newController(t, func(_ context.Context, k kinglet.Key) (controller.Result, error) {
			r.note(k)
			return controller.Result{}, nil
		}, controller.Options[kinglet.Key]{OnError: r.report})
		if _, err := controller.Watch(c, inf, func(controller.Change[pod]) iter.Seq[kinglet.Key] { return nil }); err != nil {
			t.Fatal(err)
		}
		stop := start(t, c, inf)
		synctest.Wait()
		if got, errs := r.list(), r.errors(); len(got) != 0 || len(errs) != 0 {
			t.Errorf("ran %v, reported %v", got, errs)
		}
		if err := stop(); err != nil {
			t.Error(err)
		}
	})
}
