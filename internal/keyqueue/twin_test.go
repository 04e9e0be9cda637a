package keyqueue

import (
	"flag"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/kinglet-go/kinglet/internal/testseed"
)

var operations = flag.Int("operations", 50_000, "how many random operations are compared with the twin's")

// twin is what the core does, written down naively: every key's state, and a look
// at all of them for each question.
type twin struct {
	keys  map[int]*twinKey
	stamp int64
	// adds and retries count runs that were asked for. span is how many ticks the oldest
	// queued key was from the latest at most, since none was queued.
	adds, retries uint64
	span          uint32
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
	// The run was asked for between these.
	earliest, latest int64
	queued           uint32 // the tick in which it came into the queue
}

func (w *twin) enqueue(now int64, k *twinKey, head time.Duration) {
	w.stamp = max(now, w.stamp+1)
	order := w.stamp - int64(head)
	if k.state != Again && k.state != Queued {
		w.adds++
		if k.failures > 0 {
			w.retries++
		}
		k.order, k.due, k.head, k.earliest, k.latest = order, never, 0, w.stamp, w.stamp
	}
	switch k.state {
	case Running:
		k.state = Again
		if head != 0 {
			k.latest = never
		}
	case Again, Queued:
		if order < k.order {
			k.order, k.earliest, k.latest = order, k.earliest-tick, never
			if k.state == Queued {
				k.latest = int64(k.queued+2) * tick
			}
		}
	default:
		w.queue(now, k)
	}
}

// queue has a key queued. With a head start it is known to a tick when.
func (w *twin) queue(now int64, k *twinKey) {
	k.state, k.queued = Queued, ticks(max(now, w.stamp))
	if k.latest != k.earliest {
		k.latest = max(now, w.stamp) + tick
	}
	if oldest, ok := w.oldest(); ok {
		w.span = max(w.span, k.queued-oldest)
	}
}

// oldest returns the tick in which the queued key that is oldest came into the queue.
func (w *twin) oldest() (oldest uint32, found bool) {
	for _, k := range w.keys {
		if k.state == Queued && (!found || k.queued < oldest) {
			oldest, found = k.queued, true
		}
	}
	if !found {
		w.span = 0
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
		if k.state == 0 || k.state == Running && k.due == never {
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
	if k.state == 0 {
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

func (w *twin) take() (best, priority int, earliest, latest int64, found bool) {
	for key, k := range w.keys {
		if k.state == Queued && (!found || k.order < w.keys[best].order) {
			best, found = key, true
		}
	}
	if found {
		k := w.keys[best]
		priority, earliest, latest = k.priority, k.earliest, k.latest
		*k = twinKey{state: Running, due: never, failures: k.failures}
	}
	return best, priority, earliest, latest, found
}

func (w *twin) finish(now int64, key int, res Result) {
	k := w.keys[key]
	if res.Err != nil && !res.Terminal {
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
	if k.due == never {
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
	return true
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
	if err := twinTrial(testseed.Of(t), *operations, false); err != nil {
		t.Error(err)
	}
}

// The same with priorities: of several adds of a key the highest counts, for one run.
func TestPrioritiesAreThoseOfTheTwin(t *testing.T) {
	if err := twinTrial(testseed.Of(t), *operations, true); err != nil {
		t.Error(err)
	}
}

// twinTrial compares a core with a twin after each of so many operations.
func twinTrial(seed uint64, operations int, prioritized bool) error {
	r := rand.New(rand.NewPCG(seed, 1))
	c := core[int]{table: newTable[int](), pace: newPace(0), classes: newClasses[int](0)}
	w := &twin{keys: map[int]*twinKey{}, prioritized: prioritized}
	if prioritized {
		c.headOf = twinHeadStart
	}
	var now int64
	slots := map[int]uint32{}
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
			c.add(now, c.table.hash(key), key, AddOptions{Head: head, Priority: priority})
			w.add(now, key, 0, head, priority)
		case op < 5:
			key, after := r.IntN(keys), unique(time.Second+upTo(time.Minute))
			step = fmt.Sprintf("add %d after %v, head %v, priority %d", key, after, head, priority)
			c.add(now, c.table.hash(key), key, AddOptions{After: after, Head: head, Priority: priority})
			w.add(now, key, after, head, priority)
		case op < 7:
			step = "take"
			slot, waited, got, ok := c.take(now)
			want, priority, earliest, latest, wanted := w.take()
			if ok != wanted || got != priority || ok && c.records.at(slot).key != want {
				return fmt.Errorf("operation %d: take: %v %v of priority %d, the twin %v %v of %d\n%v", i, slot, ok, got, want, wanted, priority, steps)
			}
			if asked := now - int64(waited); ok && (asked < min(earliest, now) || asked > min(latest, now)) {
				return fmt.Errorf("operation %d: take: %d waited %v, since %d; its run was asked for between %d and %d\n%v", i, want, waited, asked, earliest, latest, steps)
			}
			if ok {
				slots[want] = slot
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
			c.finish(now, c.table.hash(key), slots[key], 0, res)
			w.finish(now, key, res)
		default:
			key := r.IntN(keys)
			step = fmt.Sprintf("cancel %d", key)
			if got, want := c.cancel(key), w.cancel(key); got != want {
				return fmt.Errorf("operation %d: cancel: %v, the twin %v\n%v", i, got, want, steps)
			}
		}
		if c.next() <= now || r.IntN(4) == 0 {
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
	if c.records.used != len(w.keys) {
		return fmt.Errorf("%d records, the twin has %d", c.records.used, len(w.keys))
	}
	if c.adds != w.adds || c.retries != w.retries {
		return fmt.Errorf("%d adds and %d retries, the twin counts %d and %d", c.adds, c.retries, w.adds, w.retries)
	}
	oldest, ok := c.ages.oldest()
	want, wanted := w.oldest()
	if ok != wanted || ok && (oldest > want || want-oldest > w.span/(mostAges/2)) {
		return fmt.Errorf("the oldest is of tick %d, %v; the twin's of %d, %v, of at most %d", oldest, ok, want, wanted, w.span)
	}
	again := 0
	for key, k := range w.keys {
		if k.state == Again {
			again++
		}
		slot, ok := c.slotOf(key)
		if !ok {
			return fmt.Errorf("key %d is absent, the twin has %+v", key, *k)
		}
		r := c.records.at(slot)
		at := k.due
		if k.state == Queued || k.state == Again {
			at = k.order
		}
		if c.priorities[slot] != k.priority {
			return fmt.Errorf("key %d has priority %d, the twin's %d", key, c.priorities[slot], k.priority)
		}
		head := k.head
		if w.prioritized {
			head = 0
		}
		if r.state != k.state || r.at != at || c.failures[slot].Count != k.failures || c.heads[slot] != head {
			return fmt.Errorf("key %d is %v at %d, head %v, failures %+v; the twin has %+v",
				key, r.state, r.at, c.heads[slot], c.failures[slot], *k)
		}
	}
	if c.again != again {
		return fmt.Errorf("%d run and will once more, the twin has %d", c.again, again)
	}
	return nil
}

// TestTheTableFindsWhatAMapFinds has many keys, of which most are deleted again.
func TestTheTableFindsWhatAMapFinds(t *testing.T) {
	seed := testseed.Of(t)
	r := rand.New(rand.NewPCG(seed, 2))
	table := newTable[string]()
	records := &slab[string]{}
	want := map[string]uint32{}
	for _, size := range []int{10, 20_000, 100, 5_000, 0} {
		for len(want) != size {
			key := fmt.Sprint(r.IntN(200_000))
			if len(want) > size {
				for key = range want {
					break
				}
			}
			hash := table.hash(key)
			slot, place, ok := table.find(hash, key, records)
			if known, had := want[key]; ok != had || ok && slot != known {
				t.Fatalf("%s: slot %d %v, the map has %d %v", key, slot, ok, known, had)
			}
			switch {
			case !ok:
				slot = records.take()
				*records.at(slot) = record[string]{key: key}
				table.insert(hash, slot)
				want[key] = slot
			case ok && (len(want) > size || r.IntN(3) == 0):
				table.remove(hash, place)
				records.release(slot)
				delete(want, key)
			}
		}
		for key, slot := range want {
			if got, _, ok := table.find(table.hash(key), key, records); !ok || got != slot {
				t.Fatalf("%d keys: %s: slot %d %v, the map has %d", size, key, got, ok, slot)
			}
		}
		for before := 0; before != table.blocks; {
			before = table.blocks
			table.shrink(size)
		}
		records.shrink(size)
		blocks := map[*block]bool{}
		for _, b := range table.directory {
			blocks[b] = true
		}
		if most := 2 + size*8/blockSize; len(blocks) > most || len(blocks) != table.blocks {
			t.Errorf("%d keys are in %d blocks, more than %d, or not %d", size, len(blocks), most, table.blocks)
		}
		if size == 0 && records.held > 1 {
			t.Errorf("without keys there are %d chunks", records.held)
		}
	}
}

// Nothing is lost where more keys have one home than an entry may be away from it:
// blocks are split for them, and not merged.
func TestTheTableHoldsManyKeysOfOneHome(t *testing.T) {
	seed := testseed.Of(t)
	r := rand.New(rand.NewPCG(seed, 3))
	table := newTable[uint64]()
	records := &slab[uint64]{}
	want := map[uint64]uint32{} // the keys are their hashes
	for range 2_000 {
		key := r.Uint64() &^ math.MaxUint32
		slot := records.take()
		*records.at(slot) = record[uint64]{key: key}
		table.insert(key, slot)
		want[key] = slot
	}
	blocks := table.blocks
	if blocks < len(want)/farthest {
		t.Errorf("%d blocks hold %d keys", blocks, len(want))
	}
	for range 100 {
		table.shrink(0)
	}
	for key, slot := range want {
		got, place, ok := table.find(key, key, records)
		if !ok || got != slot {
			t.Fatalf("%x: slot %d %v, want %d", key, got, ok, slot)
		}
		table.remove(key, place)
	}
	for before := 0; before != table.blocks; {
		before = table.blocks
		table.shrink(0)
	}
	if table.blocks != 1 {
		t.Errorf("%d blocks of %d are left for no key", table.blocks, blocks)
	}
}
