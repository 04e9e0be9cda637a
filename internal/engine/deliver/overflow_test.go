package deliver

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"

	"github.com/kinglet-go/kinglet/store"
)

func TestBeyondItsBoundOnlyUpdatesFoldForAHandlerOfEveryVersion(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, Options[*object]{})
		w.hub.Synced()
		l := newListener(w, HandlerOptions{EveryVersion: true, Bound: 10, MaxBatch: 1})
		release := make(chan struct{})
		r := w.add(t, l)
		stop := running(t, w)
		<-r.Synced()
		l.during = func(context.Context, changes) { <-release }
		w.happen(func() { w.put(key(100), store.Live) })
		synctest.Wait() // the handler is inside of that
		for range 10 {
			w.happen(func() { w.put(key(0), store.Live) })
		}
		if r.Pending() != 10 {
			t.Errorf("%d pending, want 10", r.Pending())
		}
		for range 10 {
			w.happen(func() { w.put(key(0), store.Live) }) // fold
			w.happen(func() { w.put(key(1), store.Live) }) // Added, then fold
		}
		for range 5 {
			w.happen(func() { w.del(key(2), store.Live, false); w.put(key(2), store.Live) })
		}
		if want := 10 + 1 + 9; r.Pending() != want {
			t.Errorf("%d pending, want %d", r.Pending(), want)
		}
		close(release)
		synctest.Wait()
		stop()
		if err := l.problems(); err != nil {
			t.Error(err)
		}
		byType := map[store.ChangeType]int{}
		for _, c := range l.heard {
			byType[c.Type]++
		}
		if byType[store.Added] != 1+1+1+5 || byType[store.Deleted] != 4 || byType[store.Updated] != 9 {
			t.Errorf("heard %v", byType)
		}
		if errs := w.reported(); len(errs) != 0 {
			t.Errorf("reported %v", errs)
		}
	})
}

func TestAHandlerWithOverflowStopEndsBeyondItsBound(t *testing.T) {
	for _, started := range []bool{true, false} {
		synctest.Test(t, func(t *testing.T) {
			w := newWorld(t, Options[*object]{})
			w.putAll(1)
			w.hub.Synced()
			l := newListener(w, HandlerOptions{Name: "strict", EveryVersion: true, Bound: 3, Overflow: OverflowStop})
			var cause error
			l.during = func(ctx context.Context, _ changes) { <-ctx.Done(); cause = context.Cause(ctx) }
			other := newListener(w, HandlerOptions{})
			r, ro := w.add(t, l), w.add(t, other)
			stop := func() {}
			if started {
				stop = running(t, w)
				synctest.Wait() // the handler is inside of the initial object
			}
			for range 3 {
				w.happen(func() { w.put(key(7), store.Live) })
			}
			if r.Pending() < 3 || r.Err() != nil {
				t.Errorf("%d pending, Err %v", r.Pending(), r.Err())
			}
			w.happen(func() { w.put(key(8), store.Live) })
			<-r.Done()
			var overflow *OverflowError
			if !errors.As(r.Err(), &overflow) || overflow.Handler != "strict" || overflow.Bound != 3 || overflow.Key != key(8) {
				t.Errorf("Err: %v", r.Err())
			}
			if started && (!errors.As(cause, &overflow) || !errors.Is(cause, ErrRemoved)) {
				t.Errorf("the handler's context ended because of %v", cause)
			}
			if errs := w.reported(); len(errs) != 1 || errs[0] != r.Err() {
				t.Errorf("reported %v", errs)
			}
			if hs := w.hub.Handlers(); r.Pending() != 0 || len(hs) != 1 || hs[0] != ro {
				t.Errorf("%d pending, handlers %v", r.Pending(), hs)
			}
			w.happen(func() { w.put(key(9), store.Live) })
			if !started {
				stop = running(t, w)
			}
			synctest.Wait()
			stop()
			if err := errors.Join(l.problems(), other.settled()); err != nil {
				t.Error(err)
			}
		})
	}
}
