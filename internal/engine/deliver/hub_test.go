package deliver

import (
	"context"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"github.com/kinglet-go/kinglet/store"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

type changes = []store.Change[*object]

// running starts w's hub and returns what stops it and waits for its end.
func running(t *testing.T, w *world) (stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	w.hub.Start(ctx)
	return func() {
		t.Helper()
		cancel()
		w.hub.Wait()
	}
}

func (w *world) add(t *testing.T, l *listener) *Registration[*object] {
	t.Helper()
	r, err := w.hub.Add(l.handle, l.opts)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func (w *world) putAll(n int) {
	w.happen(func() {
		for i := range n {
			w.put(key(i), store.Live)
		}
	})
}

func TestSyncedMeansThatTheHandlerHasReturnedFromEveryInitialObject(t *testing.T) {
	for name, late := range map[string]bool{"registered before the first list": false, "registered late": true} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t, Options[*object]{})
				l := newListener(w, HandlerOptions{MaxBatch: 10})
				release := make(chan struct{})
				l.during = func(context.Context, changes) { <-release }
				w.putAll(25)
				if late {
					w.hub.Synced()
				}
				r := w.add(t, l)
				stop := running(t, w)
				w.hub.Synced()
				for call := range 3 {
					synctest.Wait()
					if r.HasSynced() || r.DeliveredThrough() != "" {
						t.Errorf("synced, or delivered through %q, with the handler inside of call %d", r.DeliveredThrough(), call+1)
					}
					if want := 25 - min(25, 10*(call+1)); r.Pending() != want {
						t.Errorf("in call %d, %d pending, want %d", call+1, r.Pending(), want)
					}
					release <- struct{}{}
				}
				<-r.Synced()
				if !r.HasSynced() || r.DeliveredThrough() != "25" || r.InFlight() != 0 {
					t.Errorf("HasSynced %v, delivered through %q, %d in flight", r.HasSynced(), r.DeliveredThrough(), r.InFlight())
				}
				stop()
				l.expectSettled(t)
				if l.count(store.Initial) != 25 || len(l.heard) != 25 {
					t.Errorf("heard %d changes, %d of them initial; want 25", len(l.heard), l.count(store.Initial))
				}
			})
		})
	}
}

func TestAnEmptyStoreIsSyncedOnceTheHubIsSyncedAndRuns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, Options[*object]{})
		r := w.add(t, newListener(w, HandlerOptions{}))
		stop := running(t, w)
		synctest.Wait()
		if r.HasSynced() {
			t.Error("synced before the first list")
		}
		w.hub.Synced()
		<-r.Synced()
		stop()
	})
}

func TestAHandlerAddedWhileSyncedButNotRunningSyncsOnceTheHubRuns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, Options[*object]{})
		w.putAll(3)
		w.hub.Synced()
		l := newListener(w, HandlerOptions{})
		r := w.add(t, l)
		w.putAll(4)
		if r.HasSynced() || r.Pending() != 3+4 {
			t.Errorf("HasSynced %v, %d pending", r.HasSynced(), r.Pending())
		}
		stop := running(t, w)
		<-r.Synced()
		synctest.Wait()
		stop()
		l.expectSettled(t)
	})
}

func TestChangesDuringTheReplayAreFoldedIntoIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, Options[*object]{})
		w.putAll(4)
		w.hub.Synced()
		l := newListener(w, HandlerOptions{MaxBatch: 1})
		release := make(chan struct{})
		l.during = func(context.Context, changes) { <-release }
		r := w.add(t, l)
		stop := running(t, w)
		synctest.Wait() // the handler is inside of key 0
		w.happen(func() { w.put(key(0), store.Live) })
		w.happen(func() { w.put(key(1), store.Live) })
		w.happen(func() { w.del(key(2), store.Live, false) })
		w.happen(func() { w.recreate(key(3)) })
		w.happen(func() { w.put(key(4), store.Live) })
		w.happen(func() { w.put(key(5), store.Live) })
		w.happen(func() { w.del(key(5), store.Live, false) })
		close(release)
		<-r.Synced()
		synctest.Wait()
		stop()
		l.expectSettled(t)
		var got []string
		for _, c := range l.heard {
			got = append(got, c.Type.String()+" "+c.Key.Name+" "+c.Reason.String())
		}
		want := []string{"Added 0 Initial", "Added 1 Initial", "Added 3 Initial", "Updated 0 Live", "Added 4 Live"}
		if !slices.Equal(got, want) {
			t.Errorf("heard\n%q, want\n%q", got, want)
		}
	})
}

func TestEveryVersionIsDeliveredDuringTheReplayToo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, Options[*object]{})
		w.putAll(2)
		w.hub.Synced()
		l := newListener(w, HandlerOptions{EveryVersion: true, Bound: 100})
		release := make(chan struct{})
		l.during = func(context.Context, changes) { <-release }
		r := w.add(t, l)
		stop := running(t, w)
		synctest.Wait()
		for range 3 {
			w.happen(func() { w.put(key(0), store.Live) })
		}
		w.happen(func() { w.put(key(5), store.Live) })
		w.happen(func() { w.del(key(5), store.Live, false) })
		if r.Pending() != 5 {
			t.Errorf("%d pending, want 5", r.Pending())
		}
		close(release)
		<-r.Synced()
		synctest.Wait()
		stop()
		l.expectSettled(t)
		if len(l.heard) != 2+5 {
			t.Errorf("heard %d changes, want 7", len(l.heard))
		}
	})
}

func TestAListIsDeliveredThroughOnlyOnceAllOfItIs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, Options[*object]{})
		w.hub.Synced()
		l := newListener(w, HandlerOptions{MaxBatch: 600}) // the last call begins beyond a pushChunk
		release := make(chan struct{})
		l.during = func(context.Context, changes) { <-release }
		r := w.add(t, l)
		stop := running(t, w)
		<-r.Synced()
		w.happen(func() { w.put(key(0), store.Live) })
		synctest.Wait() // the handler is inside of version 1
		const n = 3 * pushChunk / 2
		w.happen(func() {
			for i := range n {
				w.put(key(i+1), store.Relist)
			}
			for i := range w.history[1:] {
				w.history[1+i].ResourceVersion = "list"
			}
		})
		for _, want := range []string{"", "1", "1", "1"} {
			synctest.Wait()
			if got := r.DeliveredThrough(); got != want {
				t.Errorf("delivered through %q with %d pending, want %q", got, r.Pending(), want)
			}
			release <- struct{}{}
		}
		synctest.Wait()
		if got, want := r.DeliveredThrough(), version(w); got != want {
			t.Errorf("delivered through %q, want %q", got, want)
		}
		w.hub.Commit(func() (changes, string) { return nil, "bookmark" })
		if got := r.DeliveredThrough(); got != "bookmark" {
			t.Errorf("delivered through %q after a bookmark", got)
		}
		stop()
		l.expectSettled(t)
	})
}

func TestOneStalledHandlerDelaysNobody(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, Options[*object]{})
		w.putAll(10)
		w.hub.Synced()
		stalled, lively := newListener(w, HandlerOptions{}), newListener(w, HandlerOptions{})
		stalled.during = func(ctx context.Context, _ changes) { <-ctx.Done() }
		stop := running(t, w)
		rs, rl := w.add(t, stalled), w.add(t, lively)
		<-rl.Synced()
		start := time.Now()
		for v := range 1000 {
			w.happen(func() { w.put(key(v%10), store.Live) })
			synctest.Wait()
			if got, want := rl.DeliveredThrough(), version(w); got != want {
				t.Fatalf("the lively handler is at %q, the world at %q", got, want)
			}
		}
		late := newListener(w, HandlerOptions{})
		<-w.add(t, late).Synced()
		if took := time.Since(start); took > 0 {
			t.Errorf("somebody waited for %v", took)
		}
		if rs.Pending() != 10 {
			t.Errorf("%d pending for 10 keys", rs.Pending())
		}
		stop()
		for _, l := range []*listener{lively, late} {
			l.expectSettled(t)
		}
		if err := stalled.problems(); err != nil {
			t.Error(err)
		}
	})
}

func TestOptionsAreRefusedWithEveryProblemAtOnce(t *testing.T) {
	w := newWorld(t, Options[*object]{})
	bad := HandlerOptions{Name: "bad", Resync: -1, MaxBatch: -1, Bound: 3, Overflow: 7}
	if _, err := w.hub.Add(nil, bad); err == nil || strings.Count(err.Error(), "\n") != 4 || !strings.Contains(err.Error(), "bad") {
		t.Errorf("Add: %v", err)
	}
	for _, bad := range []HandlerOptions{{EveryVersion: true}, {Overflow: OverflowStop}} {
		if _, err := w.hub.Add(func(context.Context, changes) {}, bad); err == nil {
			t.Errorf("Add accepts %+v", bad)
		}
	}
}
