package deliver

import (
	"fmt"
	"math/rand/v2"
	"strconv"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kinglet-go/kinglet/store"
)

// twin is a queue that remembers everything that happened and works out what
// that amounts to when asked.
type twin struct {
	opts    HandlerOptions
	pending []happened
	version string
	// pushed and taken count changes.
	pushed, taken int
}

type happened struct {
	change
	before string
	at     stamp
	// knew says whether the handler knew the key before the oldest change
	// that is pending for it.
	knew bool
}

func (q *twin) push(c change, before string, at stamp, knew bool) bool {
	q.pending = append(q.pending, happened{c, before, at, knew})
	q.pushed++
	if q.opts.EveryVersion {
		return q.bound()
	}
	q.forgetUnseen(c.Key)
	return true
}

// bound keeps a queue that delivers every version within its bound.
func (q *twin) bound() bool {
	last := len(q.pending) - 1
	if last < q.opts.Bound {
		return true
	}
	if q.opts.Overflow == OverflowStop {
		q.pending = q.pending[:last]
		q.pushed--
		return false
	}
	c := q.pending[last]
	if c.Type != store.Updated {
		return true
	}
	for i := last - 1; i >= 0; i-- {
		p := &q.pending[i]
		if p.Key != c.Key {
			continue
		}
		if p.Type != store.Deleted {
			p.New, p.ResourceVersion = c.New, c.ResourceVersion
			if p.Type == store.Updated {
				p.Reason = c.Reason
			}
			q.pending = q.pending[:last]
		}
		return true
	}
	return true
}

// of returns what is pending for key, as one record.
func (q *twin) of(key store.Key) []change {
	var all []change
	knew := false
	for _, p := range q.pending {
		if p.Key == key {
			if all == nil {
				knew = p.knew
			}
			all = append(all, p.change)
		}
	}
	if all == nil {
		return nil
	}
	return foldTwin(knew, all)
}

func (q *twin) forgetUnseen(key store.Key) {
	if len(q.of(key)) == 0 {
		q.forget(key)
	}
}

func (q *twin) forget(key store.Key) {
	var rest []happened
	for _, p := range q.pending {
		if p.Key != key {
			rest = append(rest, p)
		}
	}
	q.pending = rest
}

func (q *twin) take(limit int) (out []change) {
	for len(q.pending) > 0 {
		key, next := q.pending[0].Key, []change{q.pending[0].change}
		if !q.opts.EveryVersion {
			next = q.of(key)
		}
		if len(out) > 0 && len(out)+len(next) > limit {
			break
		}
		out = append(out, next...)
		q.taken += len(next)
		if q.opts.EveryVersion {
			q.pending = q.pending[1:]
		} else {
			q.forget(key)
		}
	}
	return out
}

func (q *twin) len() int {
	if q.opts.EveryVersion {
		return len(q.pending)
	}
	keys := map[store.Key]bool{}
	for _, p := range q.pending {
		keys[p.Key] = true
	}
	return len(keys)
}

func (q *twin) through() string {
	if len(q.pending) == 0 {
		return q.version
	}
	return q.pending[0].before
}

// oldest returns when the change came that waits longest.
func (q *twin) oldest() stamp {
	if len(q.pending) == 0 {
		return 0
	}
	return q.pending[0].at
}

// folded returns how many changes neither were taken nor will be.
func (q *twin) folded() int {
	left := len(q.pending)
	if !q.opts.EveryVersion {
		left = 0
		seen := map[store.Key]bool{}
		for _, p := range q.pending {
			if !seen[p.Key] {
				seen[p.Key] = true
				left += len(q.of(p.Key))
			}
		}
	}
	return q.pushed - q.taken - left
}

func (q *twin) has(key store.Key) bool {
	for _, p := range q.pending {
		if p.Key == key {
			return true
		}
	}
	return false
}

func TestQueueEqualsOneThatRemembersEverything(t *testing.T) {
	for _, opts := range []HandlerOptions{
		{},
		{EveryVersion: true, Bound: 5},
		{EveryVersion: true, Bound: 40},
		{EveryVersion: true, Bound: 5, Overflow: OverflowStop},
	} {
		t.Run(fmt.Sprintf("%+v", opts), func(t *testing.T) {
			for seed := range uint64(150) {
				compareWithTwin(t, opts, seed)
			}
		})
	}
}

func compareWithTwin(t *testing.T, opts HandlerOptions, seed uint64) {
	rng := rand.New(rand.NewPCG(seed, 1))
	q, w := newQueue[int](opts), &twin{opts: opts}
	// present is the store, told what the handler knows.
	present, told := map[store.Key]int{}, map[store.Key]bool{}
	version, keys := 0, 1+rng.IntN(40)
	hear := func(changes []change) {
		for _, c := range changes {
			told[c.Key] = c.Type != store.Deleted
		}
	}
	for step := range 400 {
		key := store.Key{Name: strconv.Itoa(rng.IntN(keys))}
		switch what := rng.IntN(10); {
		case what < 7:
			before := strconv.Itoa(version)
			version++
			c := change{Key: key, ResourceVersion: strconv.Itoa(version), Reason: store.Reason(rng.IntN(3))}
			old, alive := present[key]
			switch {
			case !alive:
				c.Type, c.New = store.Added, version
				present[key] = version
			case rng.IntN(3) > 0:
				c.Type, c.Old, c.New = store.Updated, old, version
				present[key] = version
			default:
				c.Type, c.Old, c.Last, c.FinalStateUnknown = store.Deleted, old, old, true
				if rng.IntN(2) == 0 {
					c.Old, c.FinalStateUnknown = version, false
				}
				delete(present, key)
			}
			if got, want := q.push(&c, before, stamp(step+1)), w.push(c, before, stamp(step+1), told[key]); got != want {
				t.Fatalf("seed %d, step %d: push(%+v) = %v, want %v", seed, step, c, got, want)
			} else if !got {
				return
			}
			q.version, w.version = strconv.Itoa(version), strconv.Itoa(version)
		case what < 9:
			limit := 1 + rng.IntN(4)
			got := q.take(nil, limit)
			want := w.take(limit)
			if d := cmp.Diff(want, got); d != "" {
				t.Fatalf("seed %d, step %d: take(%d): -want +got:\n%s", seed, step, limit, d)
			}
			hear(got)
		default:
			if q.len() == 0 {
				q.release()
			}
		}
		oldest := stamp(0)
		if q.n > 0 {
			oldest = q.slots[q.head].at
		}
		if oldest != w.oldest() || q.folded != uint64(w.folded()) {
			t.Fatalf("seed %d, step %d: oldest %d, %d folded; want %d, %d", seed, step, oldest, q.folded, w.oldest(), w.folded())
		}
		if q.len() != w.len() || q.through() != w.through() || q.has(key) != w.has(key) {
			t.Fatalf("seed %d, step %d: len %d, through %q, has %v; want %d, %q, %v",
				seed, step, q.len(), q.through(), q.has(key), w.len(), w.through(), w.has(key))
		}
	}
}

func TestQueueRemembersTheSlotsOfAtMostTwiceAsManyKeysAsItHasSlots(t *testing.T) {
	q := newQueue[int](HandlerOptions{})
	const pending = 100
	for v := range 10_000 { // each is another key
		q.push(&change{Key: store.Key{Name: strconv.Itoa(v)}, Type: store.Added, New: v}, "", 1)
		if v >= pending {
			q.take(nil, 1)
		}
		if slots := len(q.slots); slots > pending+1 || len(q.index) > max(2*slots, 2*fewRecords) {
			t.Fatalf("after %d keys: %d slots, %d keys", v+1, slots, len(q.index))
		}
	}
}

func TestQueueForgetsObjectsThatItNoLongerHolds(t *testing.T) {
	q := newQueue[*int](HandlerOptions{})
	for v := range 10 {
		q.push(&store.Change[*int]{Key: store.Key{Name: strconv.Itoa(v)}, Type: store.Added, New: &v}, "", 1)
	}
	q.take(nil, 10)
	for i := range q.slots[:cap(q.slots)] {
		if s := q.slots[:cap(q.slots)][i]; s.old != nil || s.cur != nil || s.last != nil || s.key != (store.Key{}) {
			t.Fatalf("slot %d still refers to %+v", i, s.record)
		}
	}
}
