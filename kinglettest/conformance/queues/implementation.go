package queues

//lint:file-ignore SA1019 deprecated names are as much of the surface as others

import (
	"context"
	"time"

	kw "k8s.io/client-go/util/workqueue"
	"k8s.io/utils/clock"
)

// Implementation has the functions under test, those of a package workqueue, under their
// own names. Generic ones are for strings.
type Implementation struct {
	// Name names the implementation in failures.
	Name string

	// Queues.
	DefaultQueue       func() kw.Queue[string]
	New                func() kw.Interface
	NewNamed           func(name string) kw.Interface
	NewWithConfig      func(kw.QueueConfig) kw.Interface
	NewTyped           func() kw.TypedInterface[string]
	NewTypedWithConfig func(kw.TypedQueueConfig[string]) kw.TypedInterface[string]

	// Delaying queues.
	NewDelayingQueue                func() kw.DelayingInterface
	NewDelayingQueueWithConfig      func(kw.DelayingQueueConfig) kw.DelayingInterface
	NewDelayingQueueWithCustomClock func(c clock.WithTicker, name string) kw.DelayingInterface
	NewDelayingQueueWithCustomQueue func(q kw.Interface, name string) kw.DelayingInterface
	NewNamedDelayingQueue           func(name string) kw.DelayingInterface
	NewTypedDelayingQueue           func() kw.TypedDelayingInterface[string]
	NewTypedDelayingQueueWithConfig func(kw.TypedDelayingQueueConfig[string]) kw.TypedDelayingInterface[string]
	TypedNewDelayingQueue           func() kw.TypedDelayingInterface[string]

	// Rate limiting queues.
	NewNamedRateLimitingQueue                 func(l kw.RateLimiter, name string) kw.RateLimitingInterface
	NewRateLimitingQueue                      func(kw.RateLimiter) kw.RateLimitingInterface
	NewRateLimitingQueueWithConfig            func(kw.RateLimiter, kw.RateLimitingQueueConfig) kw.RateLimitingInterface
	NewRateLimitingQueueWithDelayingInterface func(kw.DelayingInterface, kw.RateLimiter) kw.RateLimitingInterface
	NewTypedRateLimitingQueue                 func(kw.TypedRateLimiter[string]) kw.TypedRateLimitingInterface[string]
	NewTypedRateLimitingQueueWithConfig       func(kw.TypedRateLimiter[string], kw.TypedRateLimitingQueueConfig[string]) kw.TypedRateLimitingInterface[string]

	// Rate limiters.
	DefaultControllerRateLimiter              func() kw.RateLimiter
	DefaultItemBasedRateLimiter               func() kw.RateLimiter
	DefaultTypedControllerRateLimiter         func() kw.TypedRateLimiter[string]
	DefaultTypedItemBasedRateLimiter          func() kw.TypedRateLimiter[string]
	NewItemExponentialFailureRateLimiter      func(base, most time.Duration) kw.RateLimiter
	NewItemFastSlowRateLimiter                func(fast, slow time.Duration, attempts int) kw.RateLimiter
	NewTypedItemExponentialFailureRateLimiter func(base, most time.Duration) kw.TypedRateLimiter[string]
	NewTypedItemFastSlowRateLimiter           func(fast, slow time.Duration, attempts int) kw.TypedRateLimiter[string]

	SetProvider func(kw.MetricsProvider)
	// ParallelizeUntil is called with the option WithChunkSize if chunk is not 0.
	ParallelizeUntil func(ctx context.Context, workers, pieces int, do func(piece int), chunk int)
}
