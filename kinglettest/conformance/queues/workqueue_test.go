package queues_test

//lint:file-ignore SA1019 deprecated names are as much of the surface as others

import (
	"context"
	"testing"

	kw "k8s.io/client-go/util/workqueue"

	"github.com/kinglet-go/kinglet/kinglettest/conformance/queues"
	"github.com/kinglet-go/kinglet/workqueue"
)

func TestTheDropInKeepsTheContract(t *testing.T) {
	queues.Run(t, kinglet(), queues.Options{})
}

// kinglet is package workqueue.
func kinglet() queues.Implementation {
	return queues.Implementation{
		Name: "kinglet",

		DefaultQueue:  workqueue.DefaultQueue[string],
		New:           func() kw.Interface { return workqueue.New() },
		NewNamed:      func(name string) kw.Interface { return workqueue.NewNamed(name) },
		NewWithConfig: func(c kw.QueueConfig) kw.Interface { return workqueue.NewWithConfig(c) },
		NewTyped:      func() kw.TypedInterface[string] { return workqueue.NewTyped[string]() },
		NewTypedWithConfig: func(c kw.TypedQueueConfig[string]) kw.TypedInterface[string] {
			return workqueue.NewTypedWithConfig(c)
		},

		NewDelayingQueue:                workqueue.NewDelayingQueue,
		NewDelayingQueueWithConfig:      workqueue.NewDelayingQueueWithConfig,
		NewDelayingQueueWithCustomClock: workqueue.NewDelayingQueueWithCustomClock,
		NewDelayingQueueWithCustomQueue: workqueue.NewDelayingQueueWithCustomQueue,
		NewNamedDelayingQueue:           workqueue.NewNamedDelayingQueue,
		NewTypedDelayingQueue:           workqueue.NewTypedDelayingQueue[string],
		NewTypedDelayingQueueWithConfig: workqueue.NewTypedDelayingQueueWithConfig[string],
		TypedNewDelayingQueue:           workqueue.TypedNewDelayingQueue[string],

		NewNamedRateLimitingQueue:                 workqueue.NewNamedRateLimitingQueue,
		NewRateLimitingQueue:                      workqueue.NewRateLimitingQueue,
		NewRateLimitingQueueWithConfig:            workqueue.NewRateLimitingQueueWithConfig,
		NewRateLimitingQueueWithDelayingInterface: workqueue.NewRateLimitingQueueWithDelayingInterface,
		NewTypedRateLimitingQueue:                 workqueue.NewTypedRateLimitingQueue[string],
		NewTypedRateLimitingQueueWithConfig:       workqueue.NewTypedRateLimitingQueueWithConfig[string],

		DefaultControllerRateLimiter:              workqueue.DefaultControllerRateLimiter,
		DefaultItemBasedRateLimiter:               workqueue.DefaultItemBasedRateLimiter,
		DefaultTypedControllerRateLimiter:         workqueue.DefaultTypedControllerRateLimiter[string],
		DefaultTypedItemBasedRateLimiter:          workqueue.DefaultTypedItemBasedRateLimiter[string],
		NewItemExponentialFailureRateLimiter:      workqueue.NewItemExponentialFailureRateLimiter,
		NewItemFastSlowRateLimiter:                workqueue.NewItemFastSlowRateLimiter,
		NewTypedItemExponentialFailureRateLimiter: workqueue.NewTypedItemExponentialFailureRateLimiter[string],
		NewTypedItemFastSlowRateLimiter:           workqueue.NewTypedItemFastSlowRateLimiter[string],

		SetProvider: workqueue.SetProvider,
		ParallelizeUntil: func(ctx context.Context, workers, pieces int, do func(int), chunk int) {
			if chunk == 0 {
				workqueue.ParallelizeUntil(ctx, workers, pieces, do)
				return
			}
			workqueue.ParallelizeUntil(ctx, workers, pieces, do, workqueue.WithChunkSize(chunk))
		},
	}
}
