package controller_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kinglet-go/kinglet"
	"github.com/kinglet-go/kinglet/controller"
	"github.com/kinglet-go/kinglet/internal/tests/testbubble"
)

func TestAnErrorSaysWhetherTheKeyIsTriedAgain(t *testing.T) {
	errBad := errors.New("bad")
	for _, test := range []struct {
		name string
		err  error
		want string
	}{
		{"at once", controller.RetryAfter(0, errBad), "tried again at once"},
		{"a negative time", controller.RetryAfter(-time.Hour, errBad), "tried again at once"},
		{"later", controller.RetryAfter(time.Minute, errBad), "tried again in 1m0s"},
		{"never", controller.Terminal(errBad), "not tried again until it changes"},
	} {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := &runs{}
				first := true
				c := newController(t, func(_ context.Context, k kinglet.Key) (controller.Result, error) {
					r.note(k)
					if !first {
						return controller.Result{}, nil
					}
					first = false
					return controller.Result{}, test.err
				}, controller.Options[kinglet.Key]{OnError: r.report})
				stop := start(t, c)
				_ = c.Add(key("a"))
				testbubble.Pass(time.Hour)
				errs := r.errors()
				if len(errs) != 1 || !strings.Contains(errs[0].Error(), ", "+test.want+": ") {
					t.Errorf("after %v: %v", r.list(), errs)
				}
				stop()
			})
		})
	}
}

func TestAZeroBackoffHasItsDefaults(t *testing.T) {
	for failures := range 100 {
		for _, b := range []controller.Backoff{{}, {Base: time.Hour}, {Max: time.Millisecond}} {
			if d := b.Delay(failures); d <= 0 || d > time.Hour {
				t.Errorf("%+v after %d failures: %v", b, failures, d)
			}
		}
	}
}

// TestARunThatTakesTooLongIsEndedWithItsCauseAndCountedAsOne runs keys that return the cause, the
// context's error, and an error of their own.
func TestARunThatTakesTooLongIsEndedWithItsCauseAndCountedAsOne(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := &runs{}
		c := newController(t, func(ctx context.Context, k kinglet.Key) (controller.Result, error) {
			<-ctx.Done()
			if !errors.Is(context.Cause(ctx), controller.ErrTimeout) {
				t.Errorf("the cause is %v", context.Cause(ctx))
			}
			return controller.Result{}, controller.Terminal(map[string]error{
				"cause": context.Cause(ctx), "context": ctx.Err(), "own": errors.New("half done"),
			}[k.Name])
		}, controller.Options[kinglet.Key]{Timeout: time.Second, OnError: r.report})
		stop := start(t, c)
		_ = c.Add(key("cause"), key("context"), key("own"))
		testbubble.Pass(time.Minute)
		if s := c.Status(); s.TimedOut != 3 || s.Terminal != 3 || s.Failing != 3 {
			t.Errorf("%+v", s)
		}
		errs := r.errors()
		if len(errs) != 3 {
			t.Errorf("reported %v", errs)
		}
		for _, err := range errs {
			if !errors.Is(err, controller.ErrTimeout) || strings.Count(err.Error(), controller.ErrTimeout.Error()) != 1 {
				t.Errorf("reported %v", err)
			}
		}
		stop()
	})
}

// TestOnlyRunsThatWereCancelledToStopGoUnreported has a run that fails with a
// cancellation of its own while its context lives, and one that is cancelled.
func TestOnlyRunsThatWereCancelledToStopGoUnreported(t *testing.T) {
	for _, test := range []struct {
		name     string
		run      func(ctx context.Context) error
		reported int
	}{
		{"its own", func(context.Context) error { testbubble.Pass(2 * time.Second); return context.Canceled }, 1},
		{"the context's error", func(ctx context.Context) error { <-ctx.Done(); return ctx.Err() }, 0},
		{"the context's cause", func(ctx context.Context) error { <-ctx.Done(); return context.Cause(ctx) }, 0},
	} {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := &runs{}
				c := newController(t, func(ctx context.Context, _ kinglet.Key) (controller.Result, error) {
					return controller.Result{}, test.run(ctx)
				}, controller.Options[kinglet.Key]{OnError: r.report})
				stop := run(t, c)
				_ = c.Add(key("a"))
				testbubble.Pass(time.Second)
				if err := stop(); err != nil && !errors.As(err, new(*controller.DrainError)) {
					t.Error(err)
				}
				if errs := r.errors(); len(errs) != test.reported {
					t.Errorf("reported %v", errs)
				}
			})
		})
	}
}

// TestAKeyThatFailedForGoodIsShownAsFailingUntilItSucceeds has two keys with terminal
// errors, of which one is added again and succeeds, and the other is cancelled.
func TestAKeyThatFailedForGoodIsShownAsFailingUntilItSucceeds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		mended := false
		c := newController(t, func(context.Context, kinglet.Key) (controller.Result, error) {
			if mended {
				return controller.Result{}, nil
			}
			return controller.Result{}, controller.Terminal(errors.New("no such class"))
		}, controller.Options[kinglet.Key]{OnError: func(error) {}})
		stop := start(t, c)
		failing := func(want int) {
			t.Helper()
			testbubble.Pass(time.Hour)
			s, d := c.Status(), c.Inspect()
			if s.Failing != want || s.FailedForGood != want || len(d.Failing) != want {
				t.Errorf("%+v\n%+v, want %d that failed for good", s, d, want)
			}
			if problems := s.Problems(time.Now()); want > 0 && (len(problems) != 1 || !strings.Contains(problems[0].What, "not tried again")) || want == 0 && len(problems) > 0 {
				t.Errorf("problems: %+v", problems)
			}
			for _, k := range d.Failing {
				if !strings.Contains(k.Error, "no such class") || k.State != "failed for good" || k.Failures != 1 {
					t.Errorf("%+v", k)
				}
			}
		}
		_ = c.Add(key("a"), key("b"))
		failing(2)
		if c.Cancel(key("b")) {
			t.Error("a run was cancelled of a key that has none")
		}
		failing(1)
		mended = true
		_ = c.Add(key("a"))
		failing(0)
		stop()
	})
}
