package deliver

import (
	"context"
	"errors"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/kinglet-go/kinglet/store"
)

// TestHandlersComeAndGoInAStorm adds and removes handlers from many goroutines
// and from inside of handlers, in real time, while things happen; TestMain
// checks that nothing of it is left.
func TestHandlersComeAndGoInAStorm(t *testing.T) {
	w := newWorld(t, Options[*object]{})
	w.useStore(t)
	w.putAll(50)
	ctx, cancel := context.WithCancel(t.Context())
	var commits, storm sync.WaitGroup
	commits.Go(func() {
		rng := rand.New(rand.NewPCG(7, 8))
		for n := 0; ctx.Err() == nil; n++ {
			w.anything(rng, 50)
			if n == 100 {
				w.hub.Synced()
			}
		}
	})
	stop := running(t, w)
	var mu sync.Mutex
	var all []*listener
	for g := range 8 {
		storm.Go(func() {
			rng := rand.New(rand.NewPCG(9, uint64(g)))
			for range 60 {
				l := newListener(w, randomOptions(rng))
				if l.opts.Resync > 0 {
					l.opts.Resync = time.Millisecond
				}
				l.terse = true
				patience := rng.IntN(300)
				removed := false
				registered := make(chan *Registration[*object], 1)
				l.during = func(_ context.Context, cs changes) {
					if patience -= len(cs); patience < 0 {
						if removed {
							l.mu.Lock()
							l.failLocked("called after Remove")
							l.mu.Unlock()
						}
						r := <-registered
						r.Remove()
						removed = true
						r.Pending()
						r.DeliveredThrough()
						w.hub.Handlers()
						registered <- r
					}
				}
				r, err := w.hub.Add(l.handle, l.opts)
				if err != nil {
					t.Error(err)
					return
				}
				registered <- r
				if rng.IntN(2) == 0 {
					<-r.Done()
				} else {
					r.Remove()
				}
				mu.Lock()
				all = append(all, l)
				mu.Unlock()
			}
		})
	}
	last := newListener(w, HandlerOptions{})
	last.terse = true
	reached := make(chan struct{})
	last.during = func(_ context.Context, cs changes) {
		for i := range cs {
			if cs[i].Key == key(1000) {
				close(reached)
			}
		}
	}
	w.add(t, last)
	storm.Wait()
	if n := len(w.hub.Handlers()); n > 1+8*60 {
		t.Errorf("%d handlers left", n)
	}
	cancel()
	commits.Wait()
	w.happen(func() { w.put(key(1000), store.Live) })
	<-reached
	stop()
	if n := len(w.hub.Handlers()); n != 0 {
		t.Errorf("%d handlers left after the end", n)
	}
	errs := []error{last.settled()}
	for _, l := range all {
		errs = append(errs, l.problems())
	}
	if err := errors.Join(append(errs, w.reported()...)...); err != nil {
		t.Error(err)
	}
}
