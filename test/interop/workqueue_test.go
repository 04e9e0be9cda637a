package interop_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	kw "k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	"github.com/kinglet-go/kinglet/workqueue"
)

// The queue is given to the controller as it is.
func TestAControllerOfControllerRuntimeRunsOnOurQueue(t *testing.T) {
	// Names of controllers and series of metrics are the process's: a second run has
	// a name of its own.
	name := fmt.Sprintf("on-our-queue-%d", time.Now().UnixNano())
	reconciled := make(chan string)
	failed := map[string]bool{}
	c, err := controller.NewTypedUnmanaged(name, controller.TypedOptions[string]{
		Reconciler: reconcile.TypedFunc[string](func(ctx context.Context, key string) (reconcile.Result, error) {
			if !failed[key] {
				failed[key] = true
				return reconcile.Result{}, context.DeadlineExceeded
			}
			select {
			case reconciled <- key:
			case <-ctx.Done():
			}
			return reconcile.Result{}, nil
		}),
		NewQueue: func(name string, limiter kw.TypedRateLimiter[string]) kw.TypedRateLimitingInterface[string] {
			return workqueue.NewTypedRateLimitingQueueWithConfig(limiter, workqueue.TypedRateLimitingQueueConfig[string]{Name: name})
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	events := make(chan event.TypedGenericEvent[string])
	if err := c.Watch(source.TypedChannel(events, handler.TypedFuncs[string, string]{
		GenericFunc: func(_ context.Context, e event.TypedGenericEvent[string], q kw.TypedRateLimitingInterface[string]) {
			q.Add(e.Object)
		},
	})); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- c.Start(ctx) }()
	for _, key := range []string{"a", "b"} {
		events <- event.TypedGenericEvent[string]{Object: key}
		if got := <-reconciled; got != key {
			t.Errorf("reconciled %s, want %s", got, key)
		}
	}
	cancel()
	close(events)
	if err := <-ended; err != nil {
		t.Error(err)
	}
}
