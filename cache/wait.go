package cache

import (
	"context"
	"reflect"
	"slices"
	"time"

	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/klog/v2"
)

// syncPoll is how often WaitForCacheSync calls its functions. They can only be
// polled, which is why WaitFor, with checkers, is better.
const syncPoll = 100 * time.Millisecond

// WaitFor blocks until all checkers are done, and returns true; or until ctx
// ends, and returns false if one of them is not done then. It does not poll.
//
// If what is not empty, it logs that it waits, each checker as soon as it is
// done, and at the end those that are not: for informers of this package with
// what they are doing and what failed last.
func WaitFor(ctx context.Context, what string, checkers ...DoneChecker) bool {
	logger := klog.FromContext(ctx)
	if what != "" {
		helper, inCaller := logger.WithCallStackHelper()
		helper()
		logger = inCaller
		logger.Info("Waiting", "for", what)
	}
	var left []string
	// Logged from here, so that the lines are the caller's.
	for all := completionOf(ctx, checkers); len(all.waiting) > 0; {
		c, done := all.next()
		switch {
		case !done:
			left = append(left, notDone(c))
		case what != "":
			logger.Info("Done waiting", "for", what, "instance", c.Name())
		}
	}
	if what != "" && len(left) > 0 {
		slices.Sort(left)
		logger.Info("Timed out waiting", "for", what, "cause", context.Cause(ctx), "instances", left)
	}
	return len(left) == 0
}

// completion waits for checkers in the order in which they are done.
type completion struct {
	waiting []DoneChecker
	// cases are those of the checkers, in order, and that of the context.
	cases []reflect.SelectCase
}

func completionOf(ctx context.Context, checkers []DoneChecker) *completion {
	all := &completion{waiting: slices.Clone(checkers)}
	for _, c := range checkers {
		all.cases = append(all.cases, reflect.SelectCase{Dir: reflect.SelectRecv, Chan: reflect.ValueOf(c.Done())})
	}
	all.cases = append(all.cases, reflect.SelectCase{Dir: reflect.SelectRecv, Chan: reflect.ValueOf(ctx.Done())})
	return all
}

// next blocks until one of the checkers is done, and returns it. Once the
// context has ended it returns the remaining ones, and whether each is done.
func (all *completion) next() (c DoneChecker, done bool) {
	i, _, _ := reflect.Select(all.cases)
	if done = i < len(all.waiting); !done {
		i = 0
		done = IsDone(all.waiting[i])
	}
	c = all.waiting[i]
	all.waiting, all.cases = slices.Delete(all.waiting, i, i+1), slices.Delete(all.cases, i, i+1)
	return c, done
}

// WaitForCacheSync blocks until all of cacheSyncs return true in one round, and
// returns true; or until stopCh is closed, and returns false. It calls them at
// once, and then every 100 ms. A round ends with the first that returns false.
// Once stopCh is closed, no further round begins. If it fails, it logs which
// had not synced in the last round, and for informers of this package what
// failed last.
func WaitForCacheSync(stopCh <-chan struct{}, cacheSyncs ...InformerSynced) bool {
	left := syncedWithin(stopCh, cacheSyncs)
	if left != nil {
		klog.Background().Info("Caches have not synced", "notSynced", left.notSynced())
	}
	return left == nil
}

// WaitForNamedCacheSync is WaitForCacheSync, and logs its beginning and end
// with the name of the controller that waits.
func WaitForNamedCacheSync(controllerName string, stopCh <-chan struct{}, cacheSyncs ...InformerSynced) bool {
	ctx := klog.NewContext(context.Background(), klog.Background().WithValues("controller", controllerName))
	return waitNamed(ctx, stopCh, cacheSyncs)
}

// WaitForNamedCacheSyncWithContext is WaitForCacheSync until ctx ends, and logs
// its beginning and end to the logger in ctx, which may name the caller.
func WaitForNamedCacheSyncWithContext(ctx context.Context, cacheSyncs ...InformerSynced) bool {
	return waitNamed(ctx, ctx.Done(), cacheSyncs)
}

func waitNamed(ctx context.Context, stopCh <-chan struct{}, cacheSyncs []InformerSynced) bool {
	logger := klog.FromContext(ctx)
	logger.Info("Waiting for caches to sync")
	if left := syncedWithin(stopCh, cacheSyncs); left != nil {
		utilruntime.HandleErrorWithContext(ctx, nil, "Unable to sync caches", "notSynced", left.notSynced())
		return false
	}
	logger.Info("Caches are synced")
	return true
}

// syncedWithin calls cacheSyncs until all return true, and returns nil; or
// until stop is closed, and returns the one that was not true last.
func syncedWithin(stop <-chan struct{}, cacheSyncs []InformerSynced) *question {
	left := firstNotSynced(cacheSyncs)
	if left == nil {
		return nil
	}
	ticker := time.NewTicker(syncPoll)
	defer ticker.Stop()
	for {
		select {
		case <-stop:
			return left
		case <-ticker.C:
		}
		select {
		case <-stop: // both had happened
			return left
		default:
		}
		if left = firstNotSynced(cacheSyncs); left == nil {
			return nil
		}
	}
}

// firstNotSynced calls cacheSyncs up to the first that returns false, and
// returns that one; nil if all return true.
func firstNotSynced(cacheSyncs []InformerSynced) *question {
	for _, f := range cacheSyncs {
		if q := (&question{function: f}); !q.ask() {
			return q
		}
	}
	return nil
}
