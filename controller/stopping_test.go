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
)

// TestLostLeadershipEndsRunsAtOnceWhileAChangeIsBeingMapped uses a function from
// changes to keys that takes a minute.
func TestLostLeadershipEndsRunsAtOnceWhileAChangeIsBeingMapped(t *testing.T) {
	for name, stopFirst := range map[string]bool{"while it runs": false, "while it stops": true} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				src, inf := informerOf(t)
				l := newLeader()
				var over time.Time
				c := newController(t, func(ctx context.Context, _ kinglet.Key) (controller.Result, error) {
					<-ctx.Done()
					over = time.Now()
					if !errors.Is(context.Cause(ctx), controller.ErrLeadershipLost) {
						t.Errorf("the cause is %v", context.Cause(ctx))
					}
					return controller.Result{}, ctx.Err()
				}, controller.Options[kinglet.Key]{Elector: l, OnError: func(err error) { t.Error(err) }})
				mustWatch(t, c, inf, controller.WatchOptions[pod]{If: func(controller.Change[pod]) bool {
					testbubble.Pass(time.Minute)
					return true
				}})
				informers, stopInformers := context.WithCancel(context.Background())
				stopped := make(chan error, 1)
				go func() { stopped <- inf.Run(informers) }()
				ctx, cancel := context.WithCancel(context.Background())
				defer cancel()
				ended := make(chan error, 1)
				go func() { ended <- c.Run(ctx) }()
				_ = c.Add(key("a"))
				testbubble.Pass(time.Second)
				put(t, src, newPod("b"))
				testbubble.Pass(time.Second)
				if stopFirst {
					cancel()
					testbubble.Pass(time.Second)
				}
				began := time.Now()
				close(l.lost)
				if err := <-ended; !errors.Is(err, controller.ErrLeadershipLost) || over.Sub(began) != 0 {
					t.Errorf("the run ended after %v: %v", over.Sub(began), err)
				}
				stopInformers()
				<-stopped
			})
		})
	}
}

// TestNoRunBeginsIfTheContextHasEndedOrLeadershipIsLostBefore tries it often, because
// only a fast worker could begin a run.
func TestNoRunBeginsIfTheContextHasEndedOrLeadershipIsLostBefore(t *testing.T) {
	for i := range 300 {
		l := newLeader()
		ctx, cancel := context.WithCancel(context.Background())
		if i%2 == 0 {
			cancel()
		} else {
			close(l.lost)
		}
		c := newController(t, func(context.Context, kinglet.Key) (controller.Result, error) {
			t.Errorf("trial %d: ran", i)
			return controller.Result{}, nil
		}, controller.Options[kinglet.Key]{Workers: 8, Elector: l})
		_ = c.Add(key("a"))
		if err := c.Run(ctx); i%2 == 0 && err != nil || i%2 == 1 && !errors.Is(err, controller.ErrLeadershipLost) {
			t.Error(err)
		}
		cancel()
	}
}
