package deliver

import (
	"context"
	"math/rand/v2"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kinglet-go/kinglet/store"
)

// pause lets d of the bubble's time pass.
func pause(d time.Duration) { <-time.After(d) }

// TestEveryHandlerSeesALegalHistory lets things happen at random to a few
// keys, while handlers of every kind come and go and dawdle at random.
func TestEveryHandlerSeesALegalHistory(t *testing.T) {
	for seed := range uint64(120) {
		synctest.Test(t, func(t *testing.T) { legalHistory(t, seed) })
		if t.Failed() {
			t.Fatalf("seed %d", seed)
		}
	}
}

func legalHistory(t *testing.T, seed uint64) {
	rng := rand.New(rand.NewPCG(seed, 3))
	keys := 1 + rng.IntN(300)
	w := newWorld(t, Options[*object]{})
	ctx, cancel := context.WithCancel(t.Context())
	ran := make(chan error)

	type pair struct {
		*listener
		reg *Registration[*object]
	}
	var kept, removed []pair
	add := func() {
		l := newListener(w, randomOptions(rng))
		l.during = dawdle(rng.Uint64())
		r, err := w.hub.Add(l.handle, l.opts)
		if err != nil {
			t.Fatal(err)
		}
		kept = append(kept, pair{l, r})
	}
	add()
	for range rng.IntN(50) {
		w.anything(rng, keys)
	}
	if rng.IntN(2) == 0 {
		w.hub.Synced()
	}
	go func() { ran <- w.hub.Run(ctx) }()
	for range 400 {
		switch n := rng.IntN(100); {
		case n < 4:
			add()
		case n < 6 && len(kept) > 1:
			i := rng.IntN(len(kept))
			kept[i].reg.Remove()
			removed = append(removed, kept[i])
			kept = append(kept[:i], kept[i+1:]...)
		case n < 8:
			w.hub.Synced()
		case n < 40:
			pause(time.Duration(rng.IntN(100)) * time.Millisecond)
		default:
			w.anything(rng, keys)
		}
		for _, p := range kept {
			if n := records(p.reg); !p.opts.EveryVersion && n > keys {
				t.Errorf("%d records pending for %d keys", n, keys)
			}
		}
	}
	w.hub.Synced()
	for _, p := range kept {
		<-p.reg.Synced()
	}
	// Resyncs go on for ever, changes have an end.
	for deadline := time.Now().Add(24 * time.Hour); time.Now().Before(deadline); pause(time.Second) {
		if !slices.ContainsFunc(kept, func(p pair) bool { return p.reg.DeliveredThrough() != version(w) }) {
			break
		}
	}
	for _, p := range kept {
		if got, want := p.reg.DeliveredThrough(), version(w); got != want {
			t.Errorf("%s: delivered through %q, want %q", p.reg.Name(), got, want)
		}
		if n := p.reg.Pending(); n > 0 {
			t.Errorf("%s: still %d pending", p.reg.Name(), n)
		}
	}
	cancel()
	if err := <-ran; err != nil {
		t.Error(err)
	}
	for _, p := range kept {
		if err := p.settled(); err != nil {
			t.Errorf("%s %+v:\n%v", p.reg.Name(), p.opts, err)
		}
	}
	for _, p := range removed {
		if err := p.problems(); err != nil {
			t.Errorf("%s %+v, removed:\n%v", p.reg.Name(), p.opts, err)
		}
	}
	if errs := w.reported(); len(errs) > 0 {
		t.Errorf("reported: %v", errs)
	}
}

func records(r *Registration[*object]) int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.queue.len()
}

func version(w *world) string {
	w.hub.mu.Lock()
	defer w.hub.mu.Unlock()
	return w.hub.version
}

func randomOptions(rng *rand.Rand) HandlerOptions {
	var o HandlerOptions
	o.MaxBatch = []int{0, 1, 2, 7}[rng.IntN(4)]
	if rng.IntN(2) == 0 {
		o.Resync = time.Duration(50+rng.IntN(2000)) * time.Millisecond
	}
	if rng.IntN(3) == 0 {
		o.EveryVersion, o.Bound = true, 1_000_000
	}
	return o
}

// dawdle returns what a handler does at the end of a call: now and then, it
// takes its time.
func dawdle(seed uint64) func(context.Context, []store.Change[*object]) {
	rng := rand.New(rand.NewPCG(seed, 4))
	slowness := []int{0, 1, 10, 1000}[rng.IntN(4)]
	return func(context.Context, []store.Change[*object]) {
		if slowness > 0 && rng.IntN(10) == 0 {
			pause(time.Duration(rng.IntN(slowness)) * time.Millisecond)
		}
	}
}
