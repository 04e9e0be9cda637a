package workqueue_test

import (
	"errors"
	"fmt"
	"time"

	"github.com/kinglet-go/kinglet/workqueue"
)

// A controller's loop looks as with client-go.
func ExampleNewTypedRateLimitingQueue() {
	queue := workqueue.NewTypedRateLimitingQueue(
		workqueue.NewTypedItemExponentialFailureRateLimiter[string](time.Millisecond, time.Second))
	reconcile := func(key string) error {
		if queue.NumRequeues(key) < 2 {
			return errors.New("not yet")
		}
		fmt.Println("reconciled", key)
		queue.ShutDown()
		return nil
	}
	queue.Add("default/web")
	for {
		key, shutdown := queue.Get()
		if shutdown {
			return
		}
		if err := reconcile(key); err != nil {
			fmt.Println(key, err)
			queue.AddRateLimited(key)
		} else {
			queue.Forget(key)
		}
		queue.Done(key)
	}
	// Output:
	// default/web not yet
	// default/web not yet
	// reconciled default/web
}
