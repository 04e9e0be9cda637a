package queues

//lint:file-ignore SA1019 deprecated names are as much of the surface as others

import (
	"context"

	kw "k8s.io/client-go/util/workqueue"
)

// ClientGo is k8s.io/client-go/util/workqueue, the reference.
func ClientGo() Implementation {
	return Implementation{
		Name: "client-go",

		DefaultQueue:  kw.DefaultQueue[string],
		New:           func() kw.Interface { return kw.New() },
		NewNamed:      func(name string) kw.Interface { return kw.NewNamed(name) },
		NewWithConfig: func(c kw.QueueConfig) kw.Interface { return kw.NewWithConfig(c) },
		NewTyped:      func() kw.TypedInterface[string] { return kw.NewTyped[string]() },
		NewTypedWithConfig: func(c kw.TypedQueueConfig[string]) kw.TypedInterface[string] {
			return kw.NewTypedWithConfig(c)
		},

		NewDelayingQueue:                kw.NewDelayingQueue,
		NewDelayingQueueWithConfig:      kw.NewDelayingQueueWithConfig,
		NewDelayingQueueWithCustomClock: kw.NewDelayingQueueWithCustomClock,
		NewDelayingQueueWithCustomQueue: kw.NewDelayingQueueWithCustomQueue,
		NewNamedDelayingQueue:           kw.NewNamedDelayingQueue,
		NewTypedDelayingQueue:           kw.NewTypedDelayingQueue[string],
		NewTypedDelayingQueueWithConfig: kw.NewTypedDelayingQueueWithConfig[string],
		TypedNewDelayingQueue:           kw.TypedNewDelayingQueue[string],

		NewNamedRateLimitingQueue:                 kw.NewNamedRateLimitingQueue,
		NewRateLimitingQueue:                      kw.NewRateLimitingQueue,
		NewRateLimitingQueueWithConfig:            kw.NewRateLimitingQueueWithConfig,
		NewRateLimitingQueueWithDelayingInterface: kw.NewRateLimitingQueueWithDelayingInterface,
		NewTypedRateLimitingQueue:                 kw.NewTypedRateLimitingQueue[string],
		NewTypedRateLimitingQueueWithConfig:       kw.NewTypedRateLimitingQueueWithConfig[string],

		DefaultControllerRateLimiter:              kw.DefaultControllerRateLimiter,
		DefaultItemBasedRateLimiter:               kw.DefaultItemBasedRateLimiter,
		DefaultTypedControllerRateLimiter:         kw.DefaultTypedControllerRateLimiter[string],
		DefaultTypedItemBasedRateLimiter:          kw.DefaultTypedItemBasedRateLimiter[string],
		NewItemExponentialFailureRateLimiter:      kw.NewItemExponentialFailureRateLimiter,
		NewItemFastSlowRateLimiter:                kw.NewItemFastSlowRateLimiter,
		NewTypedItemExponentialFailureRateLimiter: kw.NewTypedItemExponentialFailureRateLimiter[string],
		NewTypedItemFastSlowRateLimiter:           kw.NewTypedItemFastSlowRateLimiter[string],

		SetProvider: kw.SetProvider,
		ParallelizeUntil: func(ctx context.Context, workers, pieces int, do func(int), chunk int) {
			if chunk == 0 {
				kw.ParallelizeUntil(ctx, workers, pieces, do)
				return
			}
			kw.ParallelizeUntil(ctx, workers, pieces, do, kw.WithChunkSize(chunk))
		},
	}
}
