package deliver

import (
	"context"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kinglet-go/kinglet/store"
)

func TestResyncDeliversEveryObjectOncePerPeriod(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const n = 2*resyncChunk + 3
		w := newWorld(t, Options[*object]{})
		w.putAll(n)
		w.hub.Synced()
		with := newListener(w, HandlerOptions{Resync: time.Minute, MaxBatch: 50})
		without := newListener(w, HandlerOptions{})
		r := w.add(t, with)
		w.add(t, without)
		pause(time.Hour) // the first period begins with being synced
		stop := running(t, w)
		<-r.Synced()
		for pass := range 5 {
			pause(time.Minute - 1)
			synctest.Wait()
			if with.count(store.Resync) != pass*n {
				t.Errorf("%d objects resynced in %d periods of %d", with.count(store.Resync), pass, n)
			}
			pause(1)
			synctest.Wait()
			if with.count(store.Resync) != (pass+1)*n {
				t.Errorf("%d objects resynced in %d periods of %d", with.count(store.Resync), pass+1, n)
			}
		}
		stop()
		if without.count(store.Resync) != 0 {
			t.Errorf("a handler without resync got %d", without.count(store.Resync))
		}
		with.expectSettled(t)
	})
}

func TestResyncSkipsPendingAndDeletedKeys(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const n = 3 * resyncChunk
		w := newWorld(t, Options[*object]{})
		w.putAll(n)
		w.hub.Synced()
		l := newListener(w, HandlerOptions{Resync: time.Minute, MaxBatch: 1})
		last := key(n - 1) // not the last in order
		gone := w.copied().objects[n-1].key
		inside, release := make(chan struct{}), make(chan struct{})
		var once sync.Once
		l.during = func(_ context.Context, cs changes) {
			if cs[0].Reason == store.Resync {
				once.Do(func() { close(inside); <-release })
			}
		}
		r := w.add(t, l)
		stop := running(t, w)
		<-r.Synced()
		<-inside // inside of the first object of the first pass
		w.happen(func() { w.put(last, store.Live) })
		w.happen(func() { w.del(gone, store.Live, false) })
		w.happen(func() { w.put(key(n), store.Live); w.del(key(n), store.Live, false) })
		close(release)
		synctest.Wait()
		stop()
		l.expectSettled(t)
		for _, c := range l.heard {
			if c.Key == key(n) {
				t.Errorf("heard %v of a key that came and went unseen", c.Type)
			}
		}
		if got := l.count(store.Resync); got != n-1 {
			t.Errorf("%d objects resynced, want %d", got, n-1)
		}
	})
}

func TestChangesAreDeliveredDuringALongResync(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const n = 20 * resyncChunk
		w := newWorld(t, Options[*object]{})
		w.putAll(n)
		w.hub.Synced()
		l := newListener(w, HandlerOptions{Resync: time.Hour, MaxBatch: 1})
		l.during = func(_ context.Context, cs changes) {
			if cs[0].Reason == store.Resync {
				pause(time.Second)
			}
		}
		r := w.add(t, l)
		stop := running(t, w)
		<-r.Synced()
		pause(time.Hour + time.Second) // a pass takes 2,560 s and has begun
		for range 10 {
			w.happen(func() { w.put(key(0), store.Live) })
			pause((resyncChunk + 1) * time.Second)
			if got, want := r.DeliveredThrough(), version(w); got != want {
				t.Errorf("delivered through %q, want %q", got, want)
			}
		}
		stop()
		l.expectSettled(t)
	})
}

func TestResyncsWithoutAPauseDoNotDelayChanges(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, Options[*object]{})
		w.putAll(10)
		w.hub.Synced()
		l := newListener(w, HandlerOptions{Resync: time.Second, MaxBatch: 1})
		l.during = func(context.Context, changes) { pause(time.Second) }
		r := w.add(t, l)
		stop := running(t, w)
		<-r.Synced()
		for range 10 {
			w.happen(func() { w.put(key(0), store.Live) })
			pause(12 * time.Second) // a pass, and the change
			if got, want := r.DeliveredThrough(), version(w); got != want {
				t.Errorf("delivered through %q, want %q", got, want)
			}
		}
		if l.count(store.Resync) < 90 {
			t.Errorf("%d objects resynced in 120 s, a second each", l.count(store.Resync))
		}
		stop()
		l.expectSettled(t)
	})
}

func TestABusyHandlerIsResynced(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, Options[*object]{})
		w.putAll(10)
		w.hub.Synced()
		l := newListener(w, HandlerOptions{Resync: time.Minute, MaxBatch: 1})
		ctx, cancel := context.WithCancel(t.Context())
		l.during = func(context.Context, changes) {
			if ctx.Err() == nil {
				w.happen(func() { w.put(key(0), store.Live); w.put(key(1), store.Live) })
			}
			pause(time.Second)
		}
		r := w.add(t, l)
		stop := running(t, w)
		<-r.Synced()
		pause(10 * time.Minute)
		cancel()
		pause(40 * time.Second)
		stop()
		if got := l.count(store.Resync); got < 8*8 {
			t.Errorf("%d objects resynced in 10 passes over 8 that do not change", got)
		}
		l.expectSettled(t)
	})
}

func TestRemoveDuringAResyncEndsIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, Options[*object]{})
		w.putAll(10)
		w.hub.Synced()
		l := newListener(w, HandlerOptions{Resync: time.Minute, MaxBatch: 1})
		var r *Registration[*object]
		l.during = func(_ context.Context, cs changes) {
			if cs[0].Reason == store.Resync {
				r.Remove()
			}
		}
		r = w.add(t, l)
		stop := running(t, w)
		<-r.Done()
		stop()
		if got := l.count(store.Resync); got != 1 {
			t.Errorf("%d objects resynced, want 1", got)
		}
	})
}

func TestAResyncPeriodCanBeChangedAtAnyTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const n = 3
		w := newWorld(t, Options[*object]{})
		w.putAll(n)
		l := newListener(w, HandlerOptions{})
		r := w.add(t, l)
		r.SetResync(time.Minute) // before it runs
		w.hub.Synced()
		stop := running(t, w)
		<-r.Synced()
		expect := func(after time.Duration, want int) {
			t.Helper()
			pause(after)
			synctest.Wait()
			if got := l.count(store.Resync); got != want {
				t.Errorf("%d objects resynced, want %d", got, want)
			}
		}
		expect(time.Minute, n)
		r.SetResync(time.Second) // while it is idle
		expect(time.Second, 2*n)
		r.SetResync(0)
		expect(time.Hour, 2*n)
		r.SetResync(time.Hour)
		expect(time.Hour-1, 2*n)
		expect(1, 3*n)
		stop()
		l.expectSettled(t)
	})
}
