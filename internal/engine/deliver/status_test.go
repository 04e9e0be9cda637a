package deliver

import (
	"context"
	"fmt"
	"math"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kinglet-go/kinglet/internal/tests/testkit"
	"github.com/kinglet-go/kinglet/store"
)

func statusOf(r *Registration[*object]) (s Status) {
	r.report(&s)
	return s
}

func TestAStatusShowsWhatAStalledHandlerIsInAndWhatWaitsForIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, Options[*object]{})
		w.putAll(10)
		l := newListener(w, HandlerOptions{Name: "slow", MaxBatch: 1})
		release := make(chan struct{})
		l.during = func(context.Context, changes) { <-release }
		r := w.add(t, l)
		stop := running(t, w)
		pause(time.Second)
		if s := statusOf(r); s.Pending != 0 || !s.OldestPending.IsZero() || !s.CallSince.IsZero() {
			t.Errorf("before it is synced: %+v", s)
		}
		begin := time.Now()
		w.hub.Synced()
		synctest.Wait()
		pause(time.Second)
		first := statusOf(r)
		if first.Pending != 9 || !first.OldestPending.Equal(begin) || !first.CallSince.Equal(begin) || first.InFlight != 1 || first.Synced {
			t.Errorf("in the initial list: %+v", first)
		}
		for range 10 {
			release <- struct{}{}
		}
		<-r.Synced()
		synctest.Wait()
		if s := statusOf(r); s.Pending != 0 || !s.OldestPending.IsZero() || !s.CallSince.IsZero() || !s.Synced ||
			s.Changes != (ReasonCounts{store.Initial: 10}) || s.Calls.Count() != 10 || s.Calls.Sum != time.Second {
			t.Errorf("after it: %+v", s)
		}
		for i := range 5 {
			w.happen(func() { w.put(key(i), store.Live) })
			synctest.Wait()
			pause(time.Second)
		}
		began := time.Now().Add(-5 * time.Second)
		if s := statusOf(r); s.Pending != 4 || !near(s.OldestPending, began.Add(time.Second)) || !s.CallSince.Equal(began) || s.CallKey != key(0) {
			t.Errorf("behind: %+v, began at %v", s, began)
		}
		release <- struct{}{}
		synctest.Wait()
		if s := statusOf(r); s.Pending != 3 || !near(s.OldestPending, began.Add(2*time.Second)) || !s.CallSince.Equal(time.Now()) || s.CallKey != key(1) {
			t.Errorf("one later: %+v, began at %v", s, began)
		}
		close(release)
		stop()
	})
}

// near is whether times are the same to a millisecond, in which stamps are kept.
func near(a, b time.Time) bool { return a.Sub(b).Abs() <= time.Millisecond }

func TestTheKeyOfAStatusIsThatOfTheObjectTheHandlerIsInDuringAResync(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, Options[*object]{})
		w.putAll(10)
		w.hub.Synced()
		l := newListener(w, HandlerOptions{MaxBatch: 1, Resync: time.Minute})
		stuck := key(7)
		l.during = func(ctx context.Context, cs changes) {
			if cs[0].Reason == store.Resync && cs[0].Key == stuck {
				<-ctx.Done()
			}
		}
		r := w.add(t, l)
		stop := running(t, w)
		pause(2 * time.Minute)
		if s := statusOf(r); s.CallKey != stuck || !s.CallSince.Equal(time.Now().Add(-time.Minute)) {
			t.Errorf("%+v", s)
		}
		stop()
	})
}

func TestStatusesAreThoseOfTheHandlersInTheOrderOfTheirRegistration(t *testing.T) {
	w := newWorld(t, Options[*object]{})
	if s := w.hub.Statuses(); len(s) != 0 {
		t.Errorf("%+v", s)
	}
	var regs []*Registration[*object]
	for range 4 {
		regs = append(regs, w.add(t, newListener(w, HandlerOptions{})))
	}
	regs[1].Remove()
	var names []string
	w.hub.View(func() { // as if a Commit were under way
		for _, s := range w.hub.Statuses() {
			names = append(names, s.Name)
		}
	})
	if fmt.Sprint(names) != "[handler handler#3 handler#4]" {
		t.Errorf("%v", names)
	}
	w.add(t, newListener(w, HandlerOptions{}))
	if s := w.hub.Statuses(); s[3].Name != "handler#2" { // which is free again
		t.Errorf("%+v", s[3])
	}
	if n := testkit.Allocs(100, func() { w.hub.Statuses() }); n != 1 {
		t.Errorf("%v allocations", n)
	}
}

func TestAStampTellsItsAgeAlsoAfterFiftyDays(t *testing.T) {
	const day = 24 * time.Hour
	for _, at := range []time.Duration{0, 1, time.Hour, 49 * day, math.MaxUint32 * time.Millisecond, 60 * day, 3000 * day} {
		for _, age := range []time.Duration{0, time.Millisecond, time.Minute, 48 * day} {
			if got := stampOf(at).age(at + age); got < age-2*time.Millisecond || got > age+2*time.Millisecond {
				t.Errorf("stamped at %v, %v later: %v", at, age, got)
			}
		}
		if stampOf(at) == 0 {
			t.Errorf("no stamp at %v", at)
		}
	}
}
