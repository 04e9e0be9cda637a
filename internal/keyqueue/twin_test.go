package keyqueue

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/kinglet-go/kinglet/internal/tests/testkit"
)

var operations = flag.Int("operations", 50_000, "how many random operations are compared with the twin's")

// twin is what the core does, written down naively: every key's state, and a look
// at all of them for each question.
type twin struct {
	keys  map[int]*twinKey
	stamp int64
	// adds and retries count runs that were asked for.
	adds, retries uint64
	// prioritized: keys have priorities and no head starts of their own.
	prioritized bool
}

// twinHeadStart is the head start of a priority.
func twinHeadStart(priority int) time.Duration { return time.Duration(priority) * 10 * time.Second }

type twinKey struct {
	state    State
	order    int64         // queued or again
	due      int64         // waiting or running; never
	head     time.Duration // of the delayed run
	failures int
	priority int
	asked    int64 // queued or again
	queued   int64 // when it came into the queue
}

func (w *twin) enqueue(now int64, k *twinKey, head time.Duration) {
	w.stamp = max(now, w.stamp+1)
	order := w.stamp - int64(head)
	if k.state != Again && k.state != Queued {
		w.adds++
		if k.failures > 0 {
			w.retries++
		}
		k.order, k.due, k.head, k.asked = order, never, 0, now
	}
	switch k.state {
	case Running:
		k.state = Again
	case Again, Queued:
		k.order = min(k.order, order)
	default:
		w.queue(now, k)
	}
}

func (w *twin) queue(now int64, k *twinKey) { k.state, k.queued = Queued, now }

// oldest returns when the queued key that is oldest came into the queue.
func (w *twin) oldest() (oldest int64, found bool) {
	for _, k := range w.keys {
		if k.state == Queued && (!found || k.queued < oldest) {
			oldest, found = k.queued, true
		}
	}
	return oldest, found
}

func (w *twin) add(now int64, key int, after, head time.Duration, priority int) {
	k := w.keys[key]
	if k == nil {
		k = &twinKey{due: never}
		w.keys[key] = k
	}
	if w.prioritized {
		if k.state == 0 || k.state == Failed || k.state == Running && k.due == never {
			k.priority = priority
		}
		k.priority = max(k.priority, priority)
		head = twinHeadStart(k.priority)
		if k.state == Queued || k.state == Again {
			after = 0
		}
	}
	if after <= 0 {
		w.enqueue(now, k, head)
		return
	}
	if k.state == Queued || k.state == Again {
		return
	}
	if at := now + int64(after); at < k.due {
		k.due, k.head = at, head
	}
	if k.state == 0 || k.state == Failed {
		k.state = Waiting
	}
}

func (w *twin) advance(now int64) {
	for {
		var next *twinKey
		for _, k := range w.keys {
			if k.state == Waiting && k.due <= now && (next == nil || k.due < next.due) {
				next = k
			}
		}
		if next == nil {
			return
		}
		if w.prioritized {
			next.head = twinHeadStart(next.priority)
		}
		w.enqueue(now, next, next.head)
	}
}

func (w *twin) take() (best, priority int, asked int64, found bool) {
	for key, k := range w.keys {
		if k.state == Queued && (!found || k.order < w.keys[best].order) {
			best, found = key, true
		}
	}
	if found {
		k := w.keys[best]
		priority, asked = k.priority, k.asked
		*k = twinKey{state: Running, due: never, failures: k.failures}
	}
	return best, priority, asked, found
}

func (w *twin) finish(now int64, key int, res Result) {
	k := w.keys[key]
	if res.Err != nil {
		k.failures++
	} else {
		k.failures = 0
	}
	if k.state == Again {
		w.queue(now, k)
		return
	}
	if (res.Err != nil || res.After > 0) && !res.Terminal && now+int64(res.After) < k.due {
		k.due, k.head = now+int64(res.After), res.Head
	}
	k.state = Waiting
	switch {
	case k.due == never && res.Err != nil:
		k.state = Failed
	case k.due == never:
		delete(w.keys, key)
	}
	w.advance(now)
}

func (w *twin) cancel(key int) bool {
	k := w.keys[key]
	switch {
	case k == nil:
		return false
	case k.state.running():
		asked := k.state == Again || k.due != never
		k.state, k.due, k.head, k.priority = Running, never, 0, 0
		return asked
	}
	delete(w.keys, key)
	return k.state != Failed
}

func (w *twin) running() []int {
	var keys []int
	for key, k := range w.keys {
		if k.state.running() {
			keys = append(keys, key)
		}
	}
	slices.Sort(keys)
	return keys
}

// TestTheCoreDoesWhatItsNaiveTwinDoes compares them after each of many random
// operations. What two keys that are due at the same moment do first is nobody's
// business, so no two are.
func TestTheCoreDoesWhatItsNaiveTwinDoes(t *testing.T) {
	if err := twinTrial(testkit.Seed(t), *operations, false); err != nil {
		t.Error(err)
	}
}

// The same with priorities: of several adds of a key the highest counts, for one run.
func TestPrioritiesAreThoseOfTheTwin(t *testing.T) {
	if err := twinTrial(testkit.Seed(t), *operations, true); err != nil {
		t.Error(err)
	}
}

// twinTrial compares a core with a twin after each of so many operations.
func twinTrial(seed uint64, operations int, prioritized bool) error {
	r := rand.New(rand.NewPCG(seed, 1))
	c := core[int]{}
	w := &twin{keys: map[int]*twinKey{}, prioritized: prioritized}
	if prioritized {
		c.headOf = twinHeadStart
	}
	var now int64
	records := map[int]*record[int]{}
	errFailed := fmt.Errorf("failed")
	keys := 1
	var steps []string
	upTo := func(d time.Duration) time.Duration { return time.Duration(r.Int64N(int64(d))) }
	for i := range operations {
		if i%1000 == 0 { // a few keys have them meet, many have the table grow and shrink
			keys = []int{1, 3, 30, 100}[r.IntN(4)]
		}
		now += 1 + r.Int64N(int64(time.Second))
		unique := func(d time.Duration) time.Duration {
			return time.Duration(later(now, d)/1e6*1e6+int64(i%1e6)) - time.Duration(now)
		}
		heads := []time.Duration{0, 0, -30 * time.Second, time.Minute}
		head, priority := heads[r.IntN(len(heads))], 0
		if prioritized {
			head, priority = 0, r.IntN(5)-2
		}
		var step string
		switch op := r.IntN(10); {
		case op < 3:
			key := r.IntN(keys)
			step = fmt.Sprintf("add %d, head %v, priority %d", key, head, priority)
			c.add(now, key, AddOptions{Head: head, Priority: priority})
			w.add(now, key, 0, head, priority)
		case op < 5:
			key, after := r.IntN(keys), unique(time.Second+upTo(time.Minute))
			step = fmt.Sprintf("add %d after %v, head %v, priority %d", key, after, head, priority)
			c.add(now, key, AddOptions{After: after, Head: head, Priority: priority})
			w.add(now, key, after, head, priority)
		case op < 7:
			step = "take"
			r, waited, got := c.take(now)
			want, priority, asked, wanted := w.take()
			if (r != nil) != wanted || got != priority || wanted && r.key != want {
				return fmt.Errorf("operation %d: take: %+v of priority %d, the twin %v %v of %d\n%v", i, r, got, want, wanted, priority, steps)
			}
			if wanted && waited != time.Duration(now-asked) {
				return fmt.Errorf("operation %d: take: %d waited %v since %d, not %d\n%v", i, want, waited, now, asked, steps)
			}
			if wanted {
				records[want] = r
			}
		case op < 9:
			running := w.running()
			if len(running) == 0 {
				continue
			}
			key := running[r.IntN(len(running))]
			res := Result{Head: head}
			switch r.IntN(4) {
			case 1:
				res.After = unique(time.Second + upTo(time.Hour))
			case 2:
				res.Err, res.After = errFailed, unique(time.Second+upTo(time.Minute))
			case 3:
				res.Err, res.Terminal = errFailed, true
			}
			step = fmt.Sprintf("finish %d %+v", key, res)
			c.finish(now, records[key], res)
			w.finish(now, key, res)
		default:
			key := r.IntN(keys)
			step = fmt.Sprintf("cancel %d", key)
			if got, want := c.cancel(key), w.cancel(key); got != want {
				return fmt.Errorf("operation %d: cancel: %v, the twin %v\n%v", i, got, want, steps)
			}
		}
		if c.waiting.next() <= now || r.IntN(4) == 0 {
			c.advance(now)
			w.advance(now)
		}
		steps = append(steps, step)
		steps = steps[max(0, len(steps)-40):]
		if err := sameAs(&c, w); err != nil {
			return fmt.Errorf("operation %d: %s: %w\n%v", i, step, err, steps)
		}
	}
	return nil
}

// sameAs compares a core with its twin.
func sameAs(c *core[int], w *twin) error {
	if n := len(c.records.entries); n != len(w.keys) {
		return fmt.Errorf("%d records, the twin has %d", n, len(w.keys))
	}
	if c.adds != w.adds || c.retries != w.retries {
		return fmt.Errorf("%d adds and %d retries, the twin counts %d and %d", c.adds, c.retries, w.adds, w.retries)
	}
	oldest, ok := c.queued.oldest()
	if want, wanted := w.oldest(); ok != wanted || oldest != want {
		return fmt.Errorf("the oldest is of %d, %v; the twin's of %d, %v", oldest, ok, want, wanted)
	}
	if n := len(c.queued.arrivals); n > 2*c.queued.len()+64 {
		return fmt.Errorf("%d arrivals are kept of %d queued keys", n, c.queued.len())
	}
	again := 0
	for key, k := range w.keys {
		if k.state == Again {
			again++
		}
		r := c.records.entries[key]
		if r == nil {
			return fmt.Errorf("key %d is absent, the twin has %+v", key, *k)
		}
		if r.state != k.state || c.failures.entries[r].Count != k.failures {
			return fmt.Errorf("key %d is %v with failures %+v; the twin has %+v", key, r.state, c.failures.entries[r], *k)
		}
		at := k.due
		if k.state == Queued || k.state == Again {
			at = k.order
		}
		if k.state != Failed && (r.at != at || c.priority(r) != k.priority) {
			return fmt.Errorf("key %d is %v at %d of priority %d; the twin has %+v", key, r.state, r.at, c.priority(r), *k)
		}
		if k.state == Waiting && !w.prioritized && r.rank != int64(k.head) {
			return fmt.Errorf("key %d waits with head start %v; the twin has %+v", key, time.Duration(r.rank), *k)
		}
	}
	if c.again != again {
		return fmt.Errorf("%d run and will once more, the twin has %d", c.again, again)
	}
	return nil
}
