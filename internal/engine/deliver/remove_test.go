package deliver

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kinglet-go/kinglet/store"
)

func TestNoCallBeginsAfterRemove(t *testing.T) {
	t.Run("from inside the handler", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			w := newWorld(t, Options[*object]{})
			w.putAll(5)
			w.hub.Synced()
			l := newListener(w, HandlerOptions{MaxBatch: 1})
			var r *Registration[*object]
			ready := make(chan struct{})
			l.during = func(ctx context.Context, _ changes) {
				<-ready
				r.Remove()
				r.Remove()
				if ctx.Err() == nil || !errors.Is(context.Cause(ctx), ErrRemoved) {
					t.Errorf("the context of a removed handler has the cause %v", context.Cause(ctx))
				}
			}
			stop := running(t, w)
			r = w.add(t, l)
			close(ready)
			<-r.Done()
			w.putAll(5)
			stop()
			if len(l.heard) != 1 || r.HasSynced() || r.Pending() != 0 || r.Err() != nil {
				t.Errorf("heard %d, HasSynced %v, %d pending, Err %v", len(l.heard), r.HasSynced(), r.Pending(), r.Err())
			}
			if n := len(w.hub.Handlers()); n != 0 {
				t.Errorf("%d handlers left", n)
			}
		})
	})
	t.Run("from outside, while a call is under way", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			w := newWorld(t, Options[*object]{})
			w.putAll(5)
			w.hub.Synced()
			l := newListener(w, HandlerOptions{MaxBatch: 2})
			l.during = func(ctx context.Context, _ changes) { <-ctx.Done(); pause(time.Second) }
			stop := running(t, w)
			r := w.add(t, l)
			synctest.Wait()
			w.putAll(9)
			r.Remove()
			select {
			case <-r.Done():
				t.Error("done with the handler inside of a call")
			default:
			}
			<-r.Done()
			stop()
			if len(l.heard) != 2 || r.Pending() != 0 {
				t.Errorf("heard %d, %d pending", len(l.heard), r.Pending())
			}
		})
	})
	t.Run("before the hub runs", func(t *testing.T) {
		w := newWorld(t, Options[*object]{})
		r := w.add(t, newListener(w, HandlerOptions{}))
		r.Remove()
		<-r.Done()
		r.Remove()
		if n := len(w.hub.Handlers()); n != 0 {
			t.Errorf("%d handlers left", n)
		}
	})
	t.Run("after the hub has stopped", func(t *testing.T) {
		w := newWorld(t, Options[*object]{})
		r := w.add(t, newListener(w, HandlerOptions{}))
		running(t, w)()
		<-r.Done()
		r.Remove()
	})
}

func TestRemovingKeepsDeliveredThroughWhereItWas(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, Options[*object]{})
		w.hub.Synced()
		l := newListener(w, HandlerOptions{MaxBatch: 1})
		r := w.add(t, l)
		stop := running(t, w)
		<-r.Synced()
		w.happen(func() { w.put(key(0), store.Live) })
		synctest.Wait()
		l.during = func(ctx context.Context, _ changes) { <-ctx.Done() }
		for i := range 3 {
			w.happen(func() { w.put(key(i), store.Live) })
		}
		synctest.Wait()
		if got := r.DeliveredThrough(); got != "1" {
			t.Errorf("delivered through %q, want 1", got)
		}
		r.Remove()
		<-r.Done()
		if got := r.DeliveredThrough(); got != "2" {
			t.Errorf("delivered through %q after the end, want 2", got)
		}
		stop()
	})
}

func TestChangesARemovedHandlerDidNotReceiveDoNotCountAsDelivered(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, Options[*object]{})
		w.putAll(1)
		w.hub.Synced()
		l := newListener(w, HandlerOptions{MaxBatch: 1})
		var r *Registration[*object]
		release := make(chan struct{})
		l.during = func(_ context.Context, cs changes) {
			switch cs[0].Type {
			case store.Updated:
				<-release
			case store.Deleted:
				r.Remove()
			}
		}
		r = w.add(t, l)
		stop := running(t, w)
		<-r.Synced()
		w.happen(func() { w.put(key(0), store.Live) })
		synctest.Wait()
		w.happen(func() { w.recreate(key(0)) })
		close(release)
		<-r.Done()
		stop()
		if len(l.heard) != 3 || r.DeliveredThrough() != "2" || r.InFlight() != 0 {
			t.Errorf("heard %v, delivered through %q, want 2; %d in flight", l.heard, r.DeliveredThrough(), r.InFlight())
		}
	})
}
