package workqueue

//lint:file-ignore SA1019 deprecated names are as much of the surface as others

import (
	"math"
	"time"
)

// TypedItemExponentialFailureRateLimiter doubles an item's delay with each of
// its failures. It counts an item's failures until Forget is called, or until
// the item has not failed for an hour and for ten times the longest delay.
//
// Its methods do not block and are safe for concurrent use.
type TypedItemExponentialFailureRateLimiter[T comparable] struct {
	failures  failures[T]
	baseDelay time.Duration
	maxDelay  time.Duration
}

// ItemExponentialFailureRateLimiter is a
// TypedItemExponentialFailureRateLimiter of items of any type.
//
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
	n := r.failures.add(item)
	// From 2^63 ns on, a float64 does not convert to a Duration: client-go's limiter
	// returns a negative one at that very value.
	backoff := math.Ldexp(float64(r.baseDelay), n)
	if backoff >= 1<<63 {
		return r.maxDelay
	}
	return min(time.Duration(backoff), r.maxDelay)
}

// NumRequeues returns the number of the item's failures.
func (r *TypedItemExponentialFailureRateLimiter[T]) NumRequeues(item T) int {
	return r.failures.count(item)
}

// Forget sets the number of the item's failures to zero.
func (r *TypedItemExponentialFailureRateLimiter[T]) Forget(item T) { r.failures.forget(item) }

// TypedItemFastSlowRateLimiter delays an item's first failures by one delay and
// all others by another. It counts an item's failures until Forget is called,
// or until the item has not failed for an hour and for ten times the longer
// delay.
//
// Its methods do not block and are safe for concurrent use.
type TypedItemFastSlowRateLimiter[T comparable] struct {
	failures        failures[T]
	maxFastAttempts int
	fastDelay       time.Duration
	slowDelay       time.Duration
}

// ItemFastSlowRateLimiter is a TypedItemFastSlowRateLimiter of items of any
// type.
//
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

// NewItemFastSlowRateLimiter is [NewTypedItemFastSlowRateLimiter] for items of
// any type.
//
// Deprecated: use NewTypedItemFastSlowRateLimiter instead.
func NewItemFastSlowRateLimiter(fastDelay, slowDelay time.Duration, maxFastAttempts int) RateLimiter {
	return NewTypedItemFastSlowRateLimiter[any](fastDelay, slowDelay, maxFastAttempts)
}

// When counts a failure of the item and returns the delay that follows it.
func (r *TypedItemFastSlowRateLimiter[T]) When(item T) time.Duration {
	if r.failures.add(item) < r.maxFastAttempts {
		return r.fastDelay
	}
	return r.slowDelay
}

// NumRequeues returns the number of the item's failures.
func (r *TypedItemFastSlowRateLimiter[T]) NumRequeues(item T) int { return r.failures.count(item) }

// Forget sets the number of the item's failures to zero.
func (r *TypedItemFastSlowRateLimiter[T]) Forget(item T) { r.failures.forget(item) }
