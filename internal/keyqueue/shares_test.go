package keyqueue

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/kinglet-go/kinglet/internal/testseed"
)

// sharesTrial has random classes with runs of random costs share random workers,
// and says if one got more or less than it should.
func sharesTrial(seed uint64) error {
	r := rand.New(rand.NewPCG(seed, 3))
	workers, n := 1+r.IntN(8), 2+r.IntN(6)
	c := core[int]{table: newTable[int](), pace: newPace(0), classes: newClasses[int](workers)}
	costs := make([]time.Duration, n)
	for i := range costs {
		costs[i] = time.Duration(1+r.IntN(100)) * time.Millisecond
	}
	class := func(key int) int { return key % n }
	// More keys than are run in the time, so that each class always has some.
	const duration = 20 * time.Second
	for key := range n * int(duration/time.Millisecond) * workers / n {
		c.add(0, c.table.hash(key), key, AddOptions{Class: fmt.Sprint(class(key))})
	}
	type run struct {
		slot uint32
		key  int
		end  int64
	}
	var running []run
	spent := make([]time.Duration, n)
	holds := make([]int, n)
	share := (workers + n - 1) / n
	for now := int64(0); now < int64(duration); {
		for len(running) < workers {
			slot, _, _, ok := c.take(now)
			if !ok {
				return fmt.Errorf("%d workers, %d classes: a worker is idle", workers, n)
			}
			key := c.records.at(slot).key
			holds[class(key)]++
			if n <= workers && holds[class(key)] > share {
				return fmt.Errorf("%d workers, %d classes: one holds %d, its share is %d", workers, n, holds[class(key)], share)
			}
			running = append(running, run{slot, key, now + int64(costs[class(key)])})
		}
		slices.SortFunc(running, func(a, b run) int { return int(a.end - b.end) })
		first := running[0]
		running = running[1:]
		now = first.end
		spent[class(first.key)] += costs[class(first.key)]
		holds[class(first.key)]--
		c.finish(now, c.table.hash(first.key), first.slot, costs[class(first.key)], Result{})
	}
	if n > workers { // otherwise shares of workers may be uneven
		least, most := slices.Min(spent), slices.Max(spent)
		if most-least > time.Duration(workers+2)*2*100*time.Millisecond {
			return fmt.Errorf("%d workers, costs %v: spent %v", workers, costs, spent)
		}
	}
	return nil
}

// paceTrial has keys that fail always, and says if one waits too long. After a
// while others come that fail once, fewer than every second token, and it says if
// one of them waits for longer than a few tokens; then more than there are tokens,
// and it says if they keep the first in line from theirs.
func paceTrial(seed uint64) error {
	r := rand.New(rand.NewPCG(seed, 4))
	rate, old := 1+r.IntN(20), 10+r.IntN(100)
	token := time.Second / time.Duration(rate)
	c := core[int]{table: newTable[int](), pace: newPace(float64(rate)), classes: newClasses[int](0)}
	errFailed := errors.New("failed")
	const some, many, end = int64(4 * time.Minute), int64(8 * time.Minute), int64(10 * time.Minute)
	var now int64
	failed := map[int]int64{}
	retries, inOrder := 0, 0
	run := func(slot uint32, key int) error {
		at, again := failed[key]
		if !again {
			failed[key] = now
			c.finish(now, c.table.hash(key), slot, 0, Result{Err: errFailed, After: time.Millisecond})
			return nil
		}
		waited := time.Duration(now - at)
		switch {
		case now > many:
			retries++
			first := at
			for _, other := range failed {
				first = min(first, other)
			}
			if at == first {
				inOrder++
			}
		case now > some && key < old && waited > token*time.Duration(2*old+10)*11/10+2*time.Second:
			return fmt.Errorf("%d tokens a second, %d keys: key %d waited %v", rate, old, key, waited)
		case now > some && key >= old && waited > 4*token+time.Second:
			return fmt.Errorf("%d tokens a second, %d keys: a first failure waited %v", rate, old, waited)
		}
		delete(failed, key)
		if key >= old {
			c.finish(now, c.table.hash(key), slot, 0, Result{})
			return nil
		}
		failed[key] = now
		c.finish(now, c.table.hash(key), slot, 0, Result{Err: errFailed, After: time.Millisecond})
		return nil
	}
	for key := range old {
		c.add(now, c.table.hash(key), key, AddOptions{})
	}
	next := old
	for step := 0; now < end; step++ {
		for slot, _, _, ok := c.take(now); ok; slot, _, _, ok = c.take(now) {
			if err := run(slot, c.records.at(slot).key); err != nil {
				return err
			}
		}
		now += int64(token) / 16
		c.advance(now)
		if now > many && step%8 == 0 || now > some && step%40 == 0 {
			c.add(now, c.table.hash(next), next, AddOptions{})
			next++
		}
	}
	if len(failed) < old {
		return fmt.Errorf("%d keys of %d are left", len(failed), old)
	}
	if inOrder < retries*2/5 {
		return fmt.Errorf("%d tokens a second, %d keys: of %d tokens %d went to the first in line", rate, old, retries, inOrder)
	}
	return nil
}

func TestClassesAndRetriesGetTheirShares(t *testing.T) {
	seed := testseed.Of(t)
	for i := range uint64(5) {
		for name, trial := range map[string]func(uint64) error{"shares": sharesTrial, "pace": paceTrial} {
			if err := trial(seed + i); err != nil {
				t.Errorf("%s, seed %d: %v", name, seed+i, err)
			}
		}
	}
}
