package deliver

import (
	"context"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/kinglet-go/kinglet/store"
)

// TestAStalledHandlerHoldsOneRecordAKeyAndDelaysNobody runs a million events
// on a thousand keys past a handler that does not return (fewer under -race).
func TestAStalledHandlerHoldsOneRecordAKeyAndDelaysNobody(t *testing.T) {
	const keys = 1000
	for _, batch := range []int{1, 0} {
		t.Run(fmt.Sprintf("MaxBatch %d", batch), func(t *testing.T) {
			rng := rand.New(rand.NewPCG(5, 6))
			w := newWorld(t, Options[*object]{})
			w.useStore(t)
			w.putAll(keys)
			w.hub.Synced()
			end := key(keys) // put last
			atEnd := func(reached chan struct{}) func(context.Context, changes) {
				return func(_ context.Context, cs changes) {
					for i := range cs {
						if cs[i].Key == end {
							close(reached)
						}
					}
				}
			}
			stalled := newListener(w, HandlerOptions{MaxBatch: batch})
			inside, release, caughtUp := make(chan struct{}), make(chan struct{}), make(chan struct{})
			stalled.during = func(context.Context, changes) {}
			lively, livelyAtEnd := newListener(w, HandlerOptions{}), make(chan struct{})
			lively.during = atEnd(livelyAtEnd)
			stalled.terse, lively.terse = true, true

			stop := running(t, w)
			rs, rl := w.add(t, stalled), w.add(t, lively)
			<-rs.Synced()
			<-rl.Synced()
			stop2 := atEnd(caughtUp)
			first := true
			stalled.during = func(ctx context.Context, cs changes) {
				if first {
					first = false
					close(inside)
					<-release
				}
				stop2(ctx, cs)
			}
			w.happen(func() { w.put(key(0), store.Live) })
			<-inside
			for n := range stallEvents {
				k := key(rng.IntN(keys))
				w.happen(func() {
					if rng.IntN(10) == 0 {
						w.del(k, store.Live, false)
					} else {
						w.put(k, store.Live)
					}
				})
				if rs.Pending() > keys || rs.InFlight() != 1 {
					t.Fatalf("after %d events, %d pending, %d in flight", n+1, rs.Pending(), rs.InFlight())
				}
				w.history = w.history[:0]
			}
			if slots := len(rs.queue.slots); slots > keys {
				t.Errorf("room for %d records for %d keys", slots, keys)
			}
			w.happen(func() { w.put(end, store.Live) })
			<-livelyAtEnd // while the other one stands still
			if rs.DeliveredThrough() != fmt.Sprint(keys) {
				t.Errorf("the stalled handler is delivered through %q, want %d", rs.DeliveredThrough(), keys)
			}
			close(release)
			<-caughtUp
			stop()
			for _, l := range []*listener{stalled, lively} {
				l.expectSettled(t)
			}
			if n := stalled.count(store.Live); n > 2*keys+2 {
				t.Errorf("the stalled handler was told of %d changes to %d keys", n, keys)
			}
		})
	}
}
