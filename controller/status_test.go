package controller_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"runtime/pprof"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kinglet-go/kinglet"
	"github.com/kinglet-go/kinglet/controller"
	"github.com/kinglet-go/kinglet/internal/tests/testbubble"
	"github.com/kinglet-go/kinglet/internal/tests/testkit"
	"github.com/kinglet-go/kinglet/status"
)

var _ kinglet.ObservableController = (*controller.Controller[string])(nil)

func TestTheStatusSaysSinceWhenTheOldestKeyIsQueuedAndHowLongKeysWaitedAndRan(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newController(t, func(_ context.Context, k kinglet.Key) (controller.Result, error) {
			testbubble.Pass(10 * time.Second)
			if k.Name == "b" {
				return controller.Result{}, controller.RetryAfter(time.Hour, errors.New("no"))
			}
			return controller.Result{}, nil
		}, controller.Options[kinglet.Key]{
			Name: "c", OnError: func(error) {},
		})
		before := c.Status()
		if before.GateOpen || before.GateReason == "" || !before.OldestQueued.IsZero() || before.Workers != 1 {
			t.Errorf("before Run: %+v", before)
		}
		began := time.Now()
		for _, name := range []string{"a", "b", "c"} { // they wait for 0, 10 and 20 s
			if err := c.Add(key(name)); err != nil {
				t.Fatal(err)
			}
		}
		if err := c.Add(kinglet.Key{Namespace: "other", Name: "d"}); err != nil {
			t.Fatal(err)
		}
		stop := start(t, c)
		testbubble.Pass(5 * time.Second)
		r := c.Status()
		if !r.GateOpen || !r.GateSince.Equal(began) || !r.OldestQueued.Equal(began) || !r.OldestRun.Equal(began) || r.Queued != 3 || r.Running != 1 || r.Adds != 4 {
			t.Errorf("in the first run: %+v", r)
		}
		testbubble.Pass(time.Minute)
		r = c.Status()
		if !r.OldestQueued.IsZero() || !r.OldestRun.IsZero() || r.Waiting != 1 || r.Failing != 1 || r.Succeeded != 3 || r.Failed != 1 || r.Retries != 0 {
			t.Errorf("after all runs: %+v", r)
		}
		if n, sum := r.Waits.Count(), r.Waits.Sum; n != 4 || sum.Round(time.Microsecond) != time.Minute {
			t.Errorf("%d waits of %v altogether, want 4 of 60 s", n, sum)
		}
		if n, sum := r.Runs.Count(), r.Runs.Sum; n != 4 || sum != 40*time.Second {
			t.Errorf("%d runs of %v altogether, want 4 of 40 s", n, sum)
		}
		testbubble.Pass(2 * time.Hour)
		if r = c.Status(); r.Retries != 2 || r.Adds != 6 {
			t.Errorf("%d retries in %d adds, want 2 in 6", r.Retries, r.Adds)
		}
		stop()
	})
}

func TestInspectNamesTheKeysThatRunLongestFirstAndThoseThatFailMostOften(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		end := make(chan struct{})
		began := time.Now()
		c := newController(t, func(_ context.Context, k kinglet.Key) (controller.Result, error) {
			switch k.Namespace {
			case "failing":
				return controller.Result{}, controller.RetryAfter(time.Hour, errors.New(k.Name+strings.Repeat("!", 2000)))
			case "panicking":
				panic("oh no")
			}
			<-end
			return controller.Result{}, nil
		}, controller.Options[kinglet.Key]{Workers: 40, OnError: func(error) {}})
		stop := start(t, c)
		for i := range 5 {
			for k := range i + 1 {
				_ = c.Add(kinglet.Key{Namespace: "failing", Name: fmt.Sprint(k)})
			}
			synctest.Wait()
		}
		for i := range 35 {
			_ = c.Add(key(fmt.Sprint("run-", i)))
			testbubble.Pass(time.Second)
		}
		_ = c.AddWith(controller.AddOptions{}, kinglet.Key{Namespace: "panicking", Name: "p"})
		synctest.Wait()
		_ = c.Add(key("run-0"))
		if r := c.Status(); r.Panicked != 1 || !r.LastPanic.Equal(time.Now()) || r.Running != 35 || r.Again != 1 || !r.OldestRun.Equal(began) || r.Unfinished != 630*time.Second { // 35 + 34 + … + 1
			t.Errorf("%d panics, the last at %v; %d run, %d again, the oldest since %v", r.Panicked, r.LastPanic, r.Running, r.Again, r.OldestRun)
		}
		d := c.Inspect()
		if len(d.Running) != 32 || d.Running[0].Key != "ns/run-0" || d.Running[31].Key != "ns/run-31" ||
			!d.Running[1].Since.Equal(began.Add(time.Second)) || d.Running[0].State != "running, and again" || d.Running[1].State != "running" || d.Running[0].Cause != "add" {
			t.Errorf("running: %+v", d.Running)
		}
		var failing []string
		for _, k := range d.Failing {
			failing = append(failing, fmt.Sprint(k.Key, " ", k.Failures))
			if len(k.Error) > 1100 {
				t.Errorf("%s: its error has %d bytes", k.Key, len(k.Error))
			}
		}
		if want := []string{"failing/0 5", "failing/1 4", "failing/2 3", "failing/3 2"}; len(failing) != 6 || !slices.Equal(failing[:4], want) {
			t.Errorf("failing: %q, want %q and two that failed once", failing, want)
		}
		if i := slices.IndexFunc(d.Failing, func(k status.KeyStatus) bool { return k.Key == "panicking/p" }); i < 0 || d.Failing[i].Error != "panic: oh no" {
			t.Errorf("failing: %+v", d.Failing)
		}
		close(end)
		stop()
		if d := c.Inspect(); len(d.Running) > 0 {
			t.Errorf("after the stop there run %+v", d.Running)
		}
	})
}

func TestAKeyOfAnyTypeIsShownAsText(t *testing.T) {
	type pair struct{ A, B int }
	check := func(r controller.Options[any], want string, k any) {
		synctest.Test(t, func(t *testing.T) {
			c, err := controller.New(controller.ReconcilerFunc[any](func(context.Context, any) (controller.Result, error) {
				return controller.Result{}, controller.RetryAfter(time.Hour, errors.New("no"))
			}), r)
			if err != nil {
				t.Fatal(err)
			}
			stop := start(t, c)
			_ = c.Add(k)
			synctest.Wait()
			if d := c.Inspect(); len(d.Failing) != 1 || d.Failing[0].Key != want {
				t.Errorf("%+v, want %s", d.Failing, want)
			}
			stop()
		})
	}
	o := controller.Options[any]{OnError: func(error) {}}
	check(o, "text", "text")
	check(o, "{1 2}", pair{1, 2})
	check(o, "ns/a", key("a"))
}

// The allocations of a status do not grow with the keys.
func TestAStatusCostsTheSameForManyKeys(t *testing.T) {
	cost := func(keys int) (report, details float64) {
		c := newController(t, func(context.Context, kinglet.Key) (controller.Result, error) {
			return controller.Result{}, nil
		}, controller.Options[kinglet.Key]{})
		for i := range keys {
			_ = c.Add(key(fmt.Sprint(i)))
		}
		return testkit.Allocs(10, func() { c.Status() }), testkit.Allocs(10, func() { c.Inspect() })
	}
	report, details := cost(10)
	many, manyDetails := cost(100_000)
	if many > report || manyDetails > details {
		t.Errorf("a status of 100,000 keys allocates %v and %v times, one of 10 %v and %v", many, manyDetails, report, details)
	}
}

func TestTheGoroutinesOfARunAreLabelledWithTheController(t *testing.T) {
	var profile bytes.Buffer
	ran := make(chan struct{})
	c := newController(t, func(ctx context.Context, _ kinglet.Key) (controller.Result, error) {
		if name, ok := pprof.Label(ctx, "kinglet.controller"); !ok || name != "rollouts" {
			t.Errorf("the context is labelled %q", name)
		}
		defer close(ran)
		return controller.Result{}, pprof.Lookup("goroutine").WriteTo(&profile, 1)
	}, controller.Options[kinglet.Key]{Name: "rollouts"})
	_ = c.Add(key("a"))
	stop := start(t, c)
	<-ran
	stop()
	if !strings.Contains(profile.String(), `{"kinglet.controller":"rollouts"}`) {
		t.Errorf("no goroutine is labelled:\n%s", profile.String())
	}
}

// nilError is the error of a function that declares its result as a pointer.
type nilError struct{ text string }

func (e *nilError) Error() string { return e.text }

type nilWrapper struct{ nilError }

func (e *nilWrapper) Unwrap() error { return errors.New(e.text) }

func TestAnErrorWhoseTextOrUnwrapPanicsEndsNeitherTheControllerNorItsStatus(t *testing.T) {
	for err, panics := range map[error]uint64{(*nilError)(nil): 0, (*nilWrapper)(nil): 1} {
		synctest.Test(t, func(t *testing.T) {
			r := &runs{}
			c := newController(t, func(context.Context, kinglet.Key) (controller.Result, error) {
				return controller.Result{}, err
			}, controller.Options[kinglet.Key]{OnError: r.report, Backoff: controller.Backoff{Base: time.Hour}})
			stop := start(t, c)
			_ = c.Add(key("a"))
			synctest.Wait()
			if d := c.Inspect(); len(d.Failing) != 1 || d.Failing[0].Error == "" {
				t.Errorf("failing: %+v", d.Failing)
			}
			var panicked *controller.PanicError
			if errs := r.errors(); len(errs) != 1 || errors.As(errs[0], &panicked) != (panics > 0) || c.Status().Panicked != panics {
				t.Errorf("reported %v", errs)
			}
			stop()
		})
	}
}
