package workqueue

//lint:file-ignore SA1019 deprecated names are as much of the surface as others

import "k8s.io/utils/clock"

// NewTypedRateLimitingQueue returns a delaying queue without metrics whose
// AddRateLimited takes the delay from the limiter. Call Forget when an item needs no
// more retries: until then its next delay is longer.
func NewTypedRateLimitingQueue[T comparable](rateLimiter TypedRateLimiter[T]) TypedRateLimitingInterface[T] {
	return NewTypedRateLimitingQueueWithConfig(rateLimiter, TypedRateLimitingQueueConfig[T]{})
}

// NewTypedRateLimitingQueueWithConfig is [NewTypedRateLimitingQueue] with a name,
// metrics, a clock, or a delaying queue below it.
func NewTypedRateLimitingQueueWithConfig[T comparable](rateLimiter TypedRateLimiter[T], config TypedRateLimitingQueueConfig[T]) TypedRateLimitingInterface[T] {
	if config.Clock == nil {
		config.Clock = clock.RealClock{}
	}
	if config.DelayingQueue == nil {
		config.DelayingQueue = NewTypedDelayingQueueWithConfig(TypedDelayingQueueConfig[T]{
			Name:            config.Name,
			MetricsProvider: config.MetricsProvider,
			Clock:           config.Clock,
		})
	}
	return &rateLimitingQueue[T]{config.DelayingQueue, rateLimiter}
}

// NewRateLimitingQueue is [NewTypedRateLimitingQueue] for items of any type.
//
// Deprecated: use NewTypedRateLimitingQueue instead.
func NewRateLimitingQueue(rateLimiter RateLimiter) RateLimitingInterface {
	return NewRateLimitingQueueWithConfig(rateLimiter, RateLimitingQueueConfig{})
}

// NewRateLimitingQueueWithConfig is [NewTypedRateLimitingQueueWithConfig] for
// items of any type.
//
// Deprecated: use NewTypedRateLimitingQueueWithConfig instead.
func NewRateLimitingQueueWithConfig(rateLimiter RateLimiter, config RateLimitingQueueConfig) RateLimitingInterface {
	return NewTypedRateLimitingQueueWithConfig[any](rateLimiter, config)
}

// NewNamedRateLimitingQueue is [NewRateLimitingQueueWithConfig] with a name.
//
// Deprecated: use NewTypedRateLimitingQueueWithConfig instead.
func NewNamedRateLimitingQueue(rateLimiter RateLimiter, name string) RateLimitingInterface {
	return NewRateLimitingQueueWithConfig(rateLimiter, RateLimitingQueueConfig{Name: name})
}

// NewRateLimitingQueueWithDelayingInterface is [NewRateLimitingQueueWithConfig]
// with a delaying queue of the caller's.
//
// Deprecated: use NewTypedRateLimitingQueueWithConfig instead.
func NewRateLimitingQueueWithDelayingInterface(di DelayingInterface, rateLimiter RateLimiter) RateLimitingInterface {
	return NewRateLimitingQueueWithConfig(rateLimiter, RateLimitingQueueConfig{DelayingQueue: di})
}

// rateLimitingQueue is a delaying queue with a limiter.
type rateLimitingQueue[T comparable] struct {
	TypedDelayingInterface[T]
	rateLimiter TypedRateLimiter[T]
}

// AddRateLimited adds an item after the delay that the limiter returns.
func (q *rateLimitingQueue[T]) AddRateLimited(item T) { q.AddAfter(item, q.rateLimiter.When(item)) }

func (q *rateLimitingQueue[T]) NumRequeues(item T) int { return q.rateLimiter.NumRequeues(item) }

func (q *rateLimitingQueue[T]) Forget(item T) { q.rateLimiter.Forget(item) }
