package workqueue

//lint:file-ignore SA1019 deprecated names are as much of the surface as others

import (
	"math"
	"sync"
	"time"

	"golang.org/x/time/rate"
	kw "k8s.io/client-go/util/workqueue"
)

// Rate limiters. Those that count failures are this package's own;
// the others are client-go's.
type (
	// TypedRateLimiter decides how long an item waits before it is retried.
	TypedRateLimiter[T comparable] = kw.TypedRateLimiter[T]
	// Deprecated: use TypedRateLimiter instead.
	RateLimiter = kw.RateLimiter
	// TypedBucketRateLimiter takes a token of one bucket for every call of When,
	// whichever the item. Tokens are reserved ahead without bound: if more fails than
	// the bucket's rate, every item waits for all that asked before it, and an item
	// that asks twice while it waits takes two tokens. The bucket of
	// [DefaultTypedControllerRateLimiter] does not do the latter.
	TypedBucketRateLimiter[T comparable] = kw.TypedBucketRateLimiter[T]
	// Deprecated: use TypedBucketRateLimiter instead.
	BucketRateLimiter = kw.BucketRateLimiter
	// TypedMaxOfRateLimiter asks several limiters and returns the longest
	// delay.
	TypedMaxOfRateLimiter[T comparable] = kw.TypedMaxOfRateLimiter[T]
	// Deprecated: use TypedMaxOfRateLimiter instead.
	MaxOfRateLimiter = kw.MaxOfRateLimiter
	// TypedWithMaxWaitRateLimiter bounds the delays of another limiter.
	TypedWithMaxWaitRateLimiter[T comparable] = kw.TypedWithMaxWaitRateLimiter[T]
	// Deprecated: use TypedWithMaxWaitRateLimiter instead.
	WithMaxWaitRateLimiter = kw.WithMaxWaitRateLimiter
)

// NewTypedMaxOfRateLimiter returns a limiter whose delay is the longest of those of
// limiters.
func NewTypedMaxOfRateLimiter[T comparable](limiters ...TypedRateLimiter[T]) TypedRateLimiter[T] {
	return kw.NewTypedMaxOfRateLimiter(limiters...)
}

// Deprecated: use NewTypedMaxOfRateLimiter instead.
func NewMaxOfRateLimiter(limiters ...TypedRateLimiter[any]) RateLimiter {
	return NewTypedMaxOfRateLimiter(limiters...)
}

// NewTypedWithMaxWaitRateLimiter returns a limiter with the delays of limiter, but at
// most maxDelay.
func NewTypedWithMaxWaitRateLimiter[T comparable](limiter TypedRateLimiter[T], maxDelay time.Duration) TypedRateLimiter[T] {
	return kw.NewTypedWithMaxWaitRateLimiter(limiter, maxDelay)
}

// Deprecated: use NewTypedWithMaxWaitRateLimiter instead.
func NewWithMaxWaitRateLimiter(limiter RateLimiter, maxDelay time.Duration) RateLimiter {
	return NewTypedWithMaxWaitRateLimiter[any](limiter, maxDelay)
}

// DefaultTypedControllerRateLimiter returns the limiter that most controllers use. Its
// delay is the longer of two. One grows with the item's failures, from 5 ms to 1000 s.
// The other is that of a bucket for all items, of 10 tokens a second and at most 100.
// Unlike in a [TypedBucketRateLimiter], an item has at most one token reserved: no
// delay exceeds a tenth of a second for each item that waits, and an item that is added
// again and again does not delay the others.
func DefaultTypedControllerRateLimiter[T comparable]() TypedRateLimiter[T] {
	return NewTypedMaxOfRateLimiter(
		NewTypedItemExponentialFailureRateLimiter[T](5*time.Millisecond, 1000*time.Second),
		&tokens[T]{limiter: rate.NewLimiter(rate.Limit(10), 100)},
	)
}

// Deprecated: use DefaultTypedControllerRateLimiter instead.
func DefaultControllerRateLimiter() RateLimiter {
	return DefaultTypedControllerRateLimiter[any]()
}

// DefaultTypedItemBasedRateLimiter returns a limiter whose delay grows with the
// item's failures, from 1 ms to 1000 s.
func DefaultTypedItemBasedRateLimiter[T comparable]() TypedRateLimiter[T] {
	return NewTypedItemExponentialFailureRateLimiter[T](time.Millisecond, 1000*time.Second)
}

// Deprecated: use DefaultTypedItemBasedRateLimiter instead.
func DefaultItemBasedRateLimiter() RateLimiter {
	return DefaultTypedItemBasedRateLimiter[any]()
}

// TypedItemExponentialFailureRateLimiter doubles an item's delay with each of
// its failures. It counts an item's failures until Forget is called, or until
// the item has not failed for an hour and for ten times the longest delay.
//
// Its methods do not block and are safe for concurrent use.
type TypedItemExponentialFailureRateLimiter[T comparable] struct {
	failures[T]
	baseDelay time.Duration
	maxDelay  time.Duration
}

// Deprecated: use TypedItemExponentialFailureRateLimiter instead.
type ItemExponentialFailureRateLimiter = TypedItemExponentialFailureRateLimiter[any]

// NewTypedItemExponentialFailureRateLimiter returns a limiter whose delays are
// baseDelay, twice that, four times that and so on, and at most maxDelay.
func NewTypedItemExponentialFailureRateLimiter[T comparable](baseDelay time.Duration, maxDelay time.Duration) TypedRateLimiter[T] {
	return &TypedItemExponentialFailureRateLimiter[T]{
		failures:  failures[T]{keep: keepFor(maxDelay)},
		baseDelay: baseDelay,
		maxDelay:  maxDelay,
	}
}

// NewItemExponentialFailureRateLimiter is
// [NewTypedItemExponentialFailureRateLimiter] for items of any type.
//
// Deprecated: use NewTypedItemExponentialFailureRateLimiter instead.
func NewItemExponentialFailureRateLimiter(baseDelay time.Duration, maxDelay time.Duration) RateLimiter {
	return NewTypedItemExponentialFailureRateLimiter[any](baseDelay, maxDelay)
}

// When counts a failure of the item and returns the delay that follows it.
func (r *TypedItemExponentialFailureRateLimiter[T]) When(item T) time.Duration {
	n := r.add(item)
	// From 2^63 ns on, a float64 does not convert to a Duration: client-go's limiter
	// returns a negative one at that very value.
	backoff := math.Ldexp(float64(r.baseDelay), n)
	if backoff >= 1<<63 {
		return r.maxDelay
	}
	return min(time.Duration(backoff), r.maxDelay)
}

// TypedItemFastSlowRateLimiter delays an item's first failures by one delay and
// all others by another. It counts an item's failures until Forget is called,
// or until the item has not failed for an hour and for ten times the longer
// delay.
//
// Its methods do not block and are safe for concurrent use.
type TypedItemFastSlowRateLimiter[T comparable] struct {
	failures[T]
	maxFastAttempts int
	fastDelay       time.Duration
	slowDelay       time.Duration
}

// Deprecated: use TypedItemFastSlowRateLimiter instead.
type ItemFastSlowRateLimiter = TypedItemFastSlowRateLimiter[any]

// NewTypedItemFastSlowRateLimiter returns a limiter that delays an item's first
// maxFastAttempts failures by fastDelay and all others by slowDelay.
func NewTypedItemFastSlowRateLimiter[T comparable](fastDelay, slowDelay time.Duration, maxFastAttempts int) TypedRateLimiter[T] {
	return &TypedItemFastSlowRateLimiter[T]{
		failures:        failures[T]{keep: keepFor(max(fastDelay, slowDelay))},
		fastDelay:       fastDelay,
		slowDelay:       slowDelay,
		maxFastAttempts: maxFastAttempts,
	}
}

// Deprecated: use NewTypedItemFastSlowRateLimiter instead.
func NewItemFastSlowRateLimiter(fastDelay, slowDelay time.Duration, maxFastAttempts int) RateLimiter {
	return NewTypedItemFastSlowRateLimiter[any](fastDelay, slowDelay, maxFastAttempts)
}

// When counts a failure of the item and returns the delay that follows it.
func (r *TypedItemFastSlowRateLimiter[T]) When(item T) time.Duration {
	if r.add(item) < r.maxFastAttempts {
		return r.fastDelay
	}
	return r.slowDelay
}

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

// NumRequeues returns the number of the item's failures.
func (f *failures[T]) NumRequeues(item T) int {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.expireLocked()
	return f.countLocked(item)
}

// Forget sets the number of the item's failures to zero.
func (f *failures[T]) Forget(item T) {
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
