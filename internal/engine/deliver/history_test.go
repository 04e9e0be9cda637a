package deliver

import (
	"context"
	"flag"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kinglet-go/kinglet/store"
)

// seeds is small, for a run of a few seconds under -race.
var seeds = flag.Uint64("seeds", 30, "how many random histories to go through")

// pause lets d of the bubble's time pass.
func pause(d time.Duration) { <-time.After(d) }

// TestEveryHandlerSeesALegalHistory lets things happen at random to a few
// keys, while handlers of every kind come and go and dawdle at random.
func TestEveryHandlerSeesALegalHistory(t *testing.T) {
	for seed := range *seeds {
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
	if rng.IntN(2) == 0 {
		w.useStore(t)
	}
	ctx, cancel := context.WithCancel(t.Context())

	type pair struct {
		*listener
		reg *Registration[*object]
		// begun is how much had happened when its replay began; -1 before that.
		begun int
	}
	var kept, removed []pair
	synced := false
	begin := func() {
		w.hub.Synced()
		for i := range kept {
			if !synced {
				kept[i].begun = len(w.history)
			}
		}
		synced = true
	}
	add := func() {
		l := newListener(w, randomOptions(rng))
		l.during = dawdle(rng.Uint64())
		r := w.add(t, l)
		begun := -1
		if synced {
			begun = len(w.history)
		}
		kept = append(kept, pair{l, r, begun})
	}
	add()
	for range rng.IntN(50) {
		w.anything(rng, keys)
	}
	if rng.IntN(2) == 0 {
		begin()
	}
	w.hub.Start(ctx)
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
			begin()
		case n < 10:
			synctest.Wait()
			for _, p := range kept {
				if err := p.throughIsExact(p.reg); err != nil {
					t.Errorf("%s: %v", p.reg.Name(), err)
				}
				if err := p.statusIsExact(p.reg); err != nil {
					t.Errorf("%s: %v", p.reg.Name(), err)
				}
			}
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
	begin()
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
	w.hub.Wait()
	for _, p := range kept {
		st := statusOf(p.reg)
		if st.Changes[store.Live]+st.Changes[store.Relist]+st.Folded != uint64(len(w.history)-p.begun) {
			t.Errorf("%s: %v delivered, %d folded, of %d", p.reg.Name(), st.Changes, st.Folded, len(w.history)-p.begun)
		}
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

// statusIsExact compares a status with what the listener saw. Nothing may be running.
func (l *listener) statusIsExact(r *Registration[*object]) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	s := statusOf(r)
	var heard, counted int
	for reason, n := range s.Changes {
		heard += l.counts[store.Reason(reason)]
		counted += int(n)
	}
	switch {
	case s.Name != r.Name() || s.Synced != r.HasSynced() || s.Pending != r.Pending() || s.InFlight != r.InFlight():
		return fmt.Errorf("status is %+v", s)
	case s.DeliveredThrough != r.DeliveredThrough() || s.Err != nil || s.Panics != 0:
		return fmt.Errorf("status is %+v", s)
	case s.OldestPending.IsZero() != (s.Pending == 0) || s.OldestPending.After(time.Now()):
		return fmt.Errorf("%d pending since %v", s.Pending, s.OldestPending)
	case l.inside && (!s.CallSince.Equal(l.since) || s.CallKey != l.key || s.InFlight == 0):
		return fmt.Errorf("in call %v since %v of %d, called for %v at %v", s.CallKey, s.CallSince, s.InFlight, l.key, l.since)
	case !l.inside && (!s.CallSince.IsZero() || s.CallKey != store.Key{}):
		return fmt.Errorf("in call %v since %v", s.CallKey, s.CallSince)
	case int(s.Calls.Count()) != l.calls || s.Calls.Sum != l.took:
		return fmt.Errorf("%d calls of %v, called %d times for %v", s.Calls.Count(), s.Calls.Sum, l.calls, l.took)
	case !l.inside && heard != counted, l.inside && counted >= heard:
		return fmt.Errorf("%d delivered, %d heard", counted, heard)
	}
	return nil
}

// throughIsExact compares DeliveredThrough with what the world's history and
// the listener's memory say. Nothing may be running.
func (l *listener) throughIsExact(r *Registration[*object]) error {
	if !r.HasSynced() || l.opts.EveryVersion || l.opts.MaxBatch == 1 {
		return nil
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.w.mu.Lock()
	defer l.w.mu.Unlock()
	first := len(l.w.history)
	for k := range l.w.lives {
		if i := l.unheardLocked(k); i >= 0 {
			first = min(first, i)
		}
	}
	want := strconv.Itoa(l.w.version)
	if first < len(l.w.history) {
		rv := l.w.history[first].ResourceVersion
		for first >= 0 && l.w.history[first].ResourceVersion == rv {
			first--
		}
		if first < 0 {
			return nil
		}
		want = l.w.history[first].ResourceVersion
	}
	if got := r.DeliveredThrough(); got != want {
		return fmt.Errorf("delivered through %q, want %q (%d pending, %d in flight)", got, want, r.Pending(), r.InFlight())
	}
	return nil
}

// unheardLocked returns where in the history the first change of k stands that
// the handler has not returned from and still is to hear of, or hears of now;
// -1 if there is none.
func (l *listener) unheardLocked(k store.Key) int {
	done, told, now := l.done[k], l.told[k], l.w.objects[k]
	if done == told && told == now {
		return -1
	}
	next := told
	if told == nil {
		next = now
	}
	return slices.IndexFunc(l.w.history, func(c store.Change[*object]) bool {
		switch {
		case c.Key != k:
			return false
		case done != nil && c.Type == store.Updated:
			return c.Old == done
		case done != nil:
			return c.Type == store.Deleted && c.Last == done
		}
		return c.Type == store.Added && c.New.life == next.life
	})
}
