package workqueue

import (
	"sync"
	"time"
)

// failures counts the failures of items, for rate limiters. An item that has not failed
// for keep is forgotten, so the counts of a program that never calls Forget are bounded
// by what fails in twice that time.
//
// There are two generations. New counts are in the younger one; when that is as old as
// keep, it becomes the older one, and the counts of the older one are gone. An item
// that fails again moves to the younger one. So nothing is ever searched for expired
// counts, and no goroutine runs.
//
// The zero value keeps failures for keepAtLeast.
type failures[T comparable] struct {
	keep time.Duration

	mu       sync.Mutex
	younger  map[T]int // guarded by mu
	older    map[T]int // guarded by mu
	youngest time.Time // guarded by mu; when younger was begun
}

// keepAtLeast is the least time for which a failure counts, however short the delays
// are: a program that gives up an item after some number of failures may take long over
// each.
const keepAtLeast = time.Hour

// keepFor returns how long failures count if the longest delay is d: ten times as long
// leaves time to retry and process an item.
func keepFor(d time.Duration) time.Duration {
	const most = 1 << 61 // twice that is a Duration still
	if d > most/10 {
		return most
	}
	return 10 * d
}

// add counts one more failure and returns how many there were before it.
func (f *failures[T]) add(item T) int {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.expireLocked()
	n := f.countLocked(item)
	if f.younger == nil {
		f.younger = map[T]int{}
	}
	f.younger[item] = n + 1
	if len(f.older) > 0 {
		delete(f.older, item)
	}
	return n
}

// count returns how many failures there were.
func (f *failures[T]) count(item T) int {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.expireLocked()
	return f.countLocked(item)
}

func (f *failures[T]) forget(item T) {
	f.mu.Lock()
	defer f.mu.Unlock()
	delete(f.younger, item)
	delete(f.older, item)
}

func (f *failures[T]) countLocked(item T) int {
	if n, ok := f.younger[item]; ok {
		return n
	}
	return f.older[item]
}

func (f *failures[T]) expireLocked() {
	now, keep := time.Now(), max(f.keep, keepAtLeast)
	switch age := now.Sub(f.youngest); {
	case age < keep:
	case age < 2*keep:
		f.older, f.younger, f.youngest = f.younger, nil, f.youngest.Add(keep)
	default:
		f.older, f.younger, f.youngest = nil, nil, now
	}
}
