package workqueue

import (
	"sync"
	"time"

	"golang.org/x/time/rate"
)

// tokens is a bucket for all items, in which an item has at most one token reserved: an
// item that asks again before its token's time gets the rest of that wait. A delaying
// queue keeps the earlier of two delays, so a second token would be of no use to the
// item, and would delay all that ask later.
type tokens[T comparable] struct {
	limiter *rate.Limiter

	mu    sync.Mutex
	times map[T]time.Time // guarded by mu; of tokens to come
	order []reserved[T]   // guarded by mu; the same, earliest first
}

type reserved[T comparable] struct {
	item T
	at   time.Time
}

// When returns the time until the item's token.
func (r *tokens[T]) When(item T) time.Duration {
	r.mu.Lock()
	defer r.mu.Unlock()
	now := time.Now()
	// A limiter's rate does not change, so tokens come in the order in which
	// they were reserved.
	past := 0
	for past < len(r.order) && !r.order[past].at.After(now) {
		delete(r.times, r.order[past].item)
		past++
	}
	if past > 0 {
		clear(r.order[:past])
		r.order = r.order[past:]
	}
	if len(r.order) == 0 {
		r.order, r.times = nil, nil
	}
	if at, ok := r.times[item]; ok {
		return at.Sub(now)
	}
	d := r.limiter.ReserveN(now, 1).DelayFrom(now)
	if d > 0 {
		at := now.Add(d)
		if r.times == nil {
			r.times = map[T]time.Time{}
		}
		r.times[item] = at
		r.order = append(r.order, reserved[T]{item, at})
	}
	return d
}

// NumRequeues returns 0: the bucket counts no failures.
func (r *tokens[T]) NumRequeues(T) int { return 0 }

// Forget does nothing: a reserved token stays the item's.
func (r *tokens[T]) Forget(T) {}
