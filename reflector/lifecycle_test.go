package reflector

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kinglet-go/kinglet/internal/tests/testbubble"
	"github.com/kinglet-go/kinglet/source"
)

func TestStatusIsReadableWhateverTheReflectorIsDoing(t *testing.T) {
	play(t, Options{DisableWatchList: true}, []answer{
		after(time.Second, func(ctx context.Context, y yield) error {
			return pages(source.Page[*thing]{ResourceVersion: "5"})(ctx, y)
		}),
	}, func(t *testing.T, p *playing) {
		if s := p.Status(); s.Phase != Listing || !s.Since.Equal(time.Now()) {
			t.Errorf("during a request: %+v", s)
		}
		inside := Status{}
		p.sink.mu.Lock()
		p.sink.during = func() { inside = p.Status() }
		p.sink.mu.Unlock()
		p.pass(time.Second)
		if inside.Phase != Listing || inside.Synced {
			t.Errorf("while the sink takes the list: %+v", inside)
		}
		if s := p.Status(); s.Phase != Watching || !s.Synced || !s.Since.Equal(time.Now()) {
			t.Errorf("afterwards: %+v", s)
		}
	})
}

func TestOnStatusTellsEveryPhase(t *testing.T) {
	var told []Status
	play(t, Options{DisableWatchList: true, Rand: lowest, OnStatus: func(s Status) { told = append(told, s) }}, []answer{
		fails(errReset),
		lists("5"),
	}, func(t *testing.T, p *playing) {
		p.pass(time.Second)
		want := []Phase{Listing, BackingOff, Listing, Watching}
		if len(told) != len(want) {
			t.Fatalf("told %d times: %+v", len(told), told)
		}
		for i, s := range told {
			if s.Phase != want[i] || s.Synced != (i == 3) || (s.LastError != nil) != (i == 1 || i == 2) {
				t.Errorf("told %d: %+v", i, s)
			}
		}
	})
}

func TestAnIdleReflectorHasNoGoroutineButItsOwn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		before := testbubble.Goroutines()
		ctx, cancel := context.WithCancel(t.Context())
		const many = 20
		done := make(chan error)
		for range many {
			r, err := New[*thing](newScript(sends(silence, initialEventsEnd("5"))), newRecorder(), Options{})
			if err != nil {
				t.Fatal(err)
			}
			go func() { done <- r.Run(ctx) }()
		}
		synctest.Wait()
		if n := testbubble.Goroutines() - before; n != many {
			t.Errorf("%d reflectors have %d goroutines", many, n)
		}
		cancel()
		for range many {
			if err := <-done; err != nil {
				t.Error(err)
			}
		}
	})
}

func TestRunReturnsWhateverItIsDoing(t *testing.T) {
	busy := func(ctx context.Context, y yield) error {
		for {
			if err := after(time.Millisecond, sends(ends, bookmark("9")))(ctx, y); err != nil {
				return err
			}
		}
	}
	for name, answers := range map[string][]answer{
		"streaming":        {silence},
		"backing off":      {fails(errReset)},
		"watching":         {sends(silence, initialEventsEnd("5"))},
		"receiving events": {sends(busy, initialEventsEnd("5"))},
	} {
		t.Run(name, func(t *testing.T) {
			play(t, Options{}, answers, func(t *testing.T, p *playing) {})
		})
	}
	t.Run("before it began", func(t *testing.T) {
		s := newScript()
		r, err := New[*thing](s, newRecorder(), Options{})
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if err := r.Run(ctx); err != nil || s.heard() != "" {
			t.Errorf("Run returned %v, and asked %q", err, s.heard())
		}
		if err := r.Run(ctx); err != nil {
			t.Errorf("the second Run returned %v", err)
		}
	})
}

func TestRunIsRefusedWhileAnotherIsUnderWay(t *testing.T) {
	play(t, Options{DisableWatchList: true}, []answer{lists("5")}, func(t *testing.T, p *playing) {
		if err := p.Run(t.Context()); !errors.Is(err, ErrRunning) {
			t.Errorf("a second Run returned %v", err)
		}
	})
}

func TestRunGoesOnWhereTheLastOneWas(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newScript(fails(errReset), lists("5"))
		s.noStream = true
		r, err := New[*thing](s, newRecorder(), Options{})
		if err != nil {
			t.Fatal(err)
		}
		run := func(want ...string) {
			t.Helper()
			ctx, cancel := context.WithCancel(t.Context())
			done := make(chan error)
			go func() { done <- r.Run(ctx) }()
			synctest.Wait()
			cancel()
			if err := <-done; err != nil {
				t.Errorf("Run returned %v", err)
			}
			expect(t, "asked", s.heard(), want...)
		}
		list := `0s list "0" limit=500 continue=""`
		run(list)                 // fails, and is stopped in the wait
		run(list, `0s watch "5"`) // lists at once, and is stopped while it watches
		if at := r.Status(); at.ResourceVersion != "5" || at.Phase != Stopped {
			t.Errorf("%+v", at)
		}
		run(`0s watch "5"`)
	})
}
