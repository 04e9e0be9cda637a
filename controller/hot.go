package controller

import (
	"cmp"
	"slices"
	"sync"
	"time"

	"github.com/kinglet-go/kinglet/status"
)

// A key is hot if it has more than hotRuns in a minute.
const hotRuns = 10

// hotKeys counts the runs of the keys that run most, in a bounded space: Metwally,
// Agrawal, El Abbadi, "Efficient computation of frequent and top-k elements in
// data streams", 2005. What is reported is the count less what it may be too
// large by, so no key is named wrongly.
type hotKeys[K comparable] struct {
	mu sync.Mutex
	// minute and before are the minute under way and the last one; guarded by mu.
	minute, before map[K]*heat
	began          time.Time // of minute; guarded by mu
}

// mostHot bounds the keys that are counted. A key with a 128th of all runs is
// among them for certain.
const mostHot = 128

type heat struct {
	runs, excess int
	causes       map[uint8]int
}

func newHotKeys[K comparable]() *hotKeys[K] {
	return &hotKeys[K]{minute: map[K]*heat{}}
}

// count counts a run.
func (h *hotKeys[K]) count(now time.Time, key K, cause uint8) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.turnLocked(now)
	e := h.minute[key]
	if e == nil {
		e = &heat{causes: map[uint8]int{}}
		if len(h.minute) >= mostHot {
			e = h.replaceLocked()
		}
		h.minute[key] = e
	}
	e.runs++
	e.causes[cause]++
}

// turnLocked begins another minute, if the one under way is over.
func (h *hotKeys[K]) turnLocked(now time.Time) {
	age := now.Sub(h.began)
	if age < time.Minute {
		return
	}
	h.before = h.minute
	if age >= 2*time.Minute {
		h.before = nil
	}
	h.minute, h.began = map[K]*heat{}, now
}

// replaceLocked forgets the key with the fewest runs, and returns its count for another
// key, which may have had none of those runs.
func (h *hotKeys[K]) replaceLocked() *heat {
	var least K
	var e *heat
	for key, other := range h.minute {
		if e == nil || other.runs < e.runs {
			least, e = key, other
		}
	}
	delete(h.minute, least)
	clear(e.causes)
	e.excess = e.runs
	return e
}

// list returns the hot keys of this minute and the last, the hottest first.
func (h *hotKeys[K]) list(now time.Time, name func(uint8) string) []status.HotKey {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.turnLocked(now)
	most := map[K]*heat{}
	for _, minute := range []map[K]*heat{h.before, h.minute} {
		for key, e := range minute {
			if n := e.runs - e.excess; n > hotRuns && (most[key] == nil || n > most[key].runs-most[key].excess) {
				most[key] = e
			}
		}
	}
	var hot []status.HotKey
	for key, e := range most {
		k := status.HotKey{Key: keyText(key), Runs: e.runs - e.excess, Causes: map[string]int{}}
		for cause, n := range e.causes {
			k.Causes[name(cause)] += n
		}
		hot = append(hot, k)
	}
	slices.SortFunc(hot, func(a, b status.HotKey) int { return cmp.Compare(b.Runs, a.Runs) })
	return hot
}
