package workqueue

//lint:file-ignore SA1019 deprecated names are as much of the surface as others

import (
	"time"

	"golang.org/x/time/rate"
	kw "k8s.io/client-go/util/workqueue"
)

// Rate limiters. Those that count failures are this package's own, see itemlimiters.go;
// the others are client-go's.
type (
	// TypedRateLimiter decides how long an item waits before it is retried.
	TypedRateLimiter[T comparable] = kw.TypedRateLimiter[T]
	// RateLimiter is a TypedRateLimiter of items of any type.
	//
	// Deprecated: use TypedRateLimiter instead.
	RateLimiter = kw.RateLimiter
	// TypedBucketRateLimiter takes a token of one bucket for every call of When,
	// whichever the item. Tokens are reserved ahead without bound: if more fails than
	// the bucket's rate, every item waits for all that asked before it, and an item
	// that asks twice while it waits takes two tokens. The bucket of
	// [DefaultTypedControllerRateLimiter] does not do the latter.
	TypedBucketRateLimiter[T comparable] = kw.TypedBucketRateLimiter[T]
	// BucketRateLimiter is a TypedBucketRateLimiter of items of any type.
	//
	// Deprecated: use TypedBucketRateLimiter instead.
	BucketRateLimiter = kw.BucketRateLimiter
	// TypedMaxOfRateLimiter asks several limiters and returns the longest
	// delay.
	TypedMaxOfRateLimiter[T comparable] = kw.TypedMaxOfRateLimiter[T]
	// MaxOfRateLimiter is a TypedMaxOfRateLimiter of items of any type.
	//
	// Deprecated: use TypedMaxOfRateLimiter instead.
	MaxOfRateLimiter = kw.MaxOfRateLimiter
	// TypedWithMaxWaitRateLimiter bounds the delays of another limiter.
	TypedWithMaxWaitRateLimiter[T comparable] = kw.TypedWithMaxWaitRateLimiter[T]
	// WithMaxWaitRateLimiter is a TypedWithMaxWaitRateLimiter of items of any
	// type.
	//
	// Deprecated: use TypedWithMaxWaitRateLimiter instead.
	WithMaxWaitRateLimiter = kw.WithMaxWaitRateLimiter
)

// NewTypedMaxOfRateLimiter returns a limiter whose delay is the longest of those of
// limiters.
func NewTypedMaxOfRateLimiter[T comparable](limiters ...TypedRateLimiter[T]) TypedRateLimiter[T] {
	return kw.NewTypedMaxOfRateLimiter(limiters...)
}

// NewMaxOfRateLimiter is [NewTypedMaxOfRateLimiter] for items of any type.
//
// Deprecated: use NewTypedMaxOfRateLimiter instead.
func NewMaxOfRateLimiter(limiters ...TypedRateLimiter[any]) RateLimiter {
	return NewTypedMaxOfRateLimiter(limiters...)
}

// NewTypedWithMaxWaitRateLimiter returns a limiter with the delays of limiter, but at
// most maxDelay.
func NewTypedWithMaxWaitRateLimiter[T comparable](limiter TypedRateLimiter[T], maxDelay time.Duration) TypedRateLimiter[T] {
	return kw.NewTypedWithMaxWaitRateLimiter(limiter, maxDelay)
}

// NewWithMaxWaitRateLimiter is [NewTypedWithMaxWaitRateLimiter] for items of
// any type.
//
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

// DefaultControllerRateLimiter is [DefaultTypedControllerRateLimiter] for items
// of any type.
//
// Deprecated: use DefaultTypedControllerRateLimiter instead.
func DefaultControllerRateLimiter() RateLimiter {
	return DefaultTypedControllerRateLimiter[any]()
}

// DefaultTypedItemBasedRateLimiter returns a limiter whose delay grows with the
// item's failures, from 1 ms to 1000 s.
func DefaultTypedItemBasedRateLimiter[T comparable]() TypedRateLimiter[T] {
	return NewTypedItemExponentialFailureRateLimiter[T](time.Millisecond, 1000*time.Second)
}

// DefaultItemBasedRateLimiter is [DefaultTypedItemBasedRateLimiter] for items of
// any type.
//
// Deprecated: use DefaultTypedItemBasedRateLimiter instead.
func DefaultItemBasedRateLimiter() RateLimiter {
	return DefaultTypedItemBasedRateLimiter[any]()
}
