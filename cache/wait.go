package cache

import (
	"context"
	"slices"
	"time"

	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/klog/v2"
)

// syncPoll is how often WaitForCacheSync asks its functions. They can only be
// asked, which is why WaitFor, with checkers, is the better way.
const syncPoll = 100 * time.Millisecond

// WaitFor blocks until all checkers are done, and returns true, or until ctx
// ends, and returns false if one of them is still not done then. It polls
// nothing.
//
// With a what that is not empty it logs that it waits, each checker that is
// done, and at the end those that are not: informers of this package with what
// they are doing and what failed last.
func WaitFor(ctx context.Context, what string, checkers ...DoneChecker) bool {
	logger := klog.FromContext(ctx)
	if what != "" {
		helper, inCaller := logger.WithCallStackHelper()
		helper()
		logger = inCaller
		logger.Info("Waiting", "for", what)
	}
	var left []string
	// One after the other is enough: all of them have to be done, and after
	// the end of ctx nothing waits.
	for _, c := range checkers {
		select {
		case <-c.Done():
		case <-ctx.Done():
		}
		switch {
		case !IsDone(c):
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

// WaitForCacheSync blocks until all of cacheSyncs return true in one round, and
// returns true, or until stopCh is closed, and returns false. They are asked at
// once, and then every 100 ms. Where it fails it logs which have not synced,
// and of informers of this package what failed last.
func WaitForCacheSync(stopCh <-chan struct{}, cacheSyncs ...InformerSynced) bool {
	if syncedWithin(stopCh, cacheSyncs) {
		return true
	}
	klog.Background().Info("Caches have not synced", "notSynced", notSynced(cacheSyncs))
	return false
}

// WaitForNamedCacheSync is WaitForCacheSync, and logs beginning and end with
// the name of the controller that waits.
func WaitForNamedCacheSync(controllerName string, stopCh <-chan struct{}, cacheSyncs ...InformerSynced) bool {
	ctx := klog.NewContext(context.Background(), klog.Background().WithValues("controller", controllerName))
	return waitNamed(ctx, stopCh, cacheSyncs)
}

// WaitForNamedCacheSyncWithContext is WaitForCacheSync until ctx ends, and logs
// beginning and end to the logger in ctx, which may name the one who waits.
func WaitForNamedCacheSyncWithContext(ctx context.Context, cacheSyncs ...InformerSynced) bool {
	return waitNamed(ctx, ctx.Done(), cacheSyncs)
}

func waitNamed(ctx context.Context, stopCh <-chan struct{}, cacheSyncs []InformerSynced) bool {
	logger := klog.FromContext(ctx)
	logger.Info("Waiting for caches to sync")
	if !syncedWithin(stopCh, cacheSyncs) {
		utilruntime.HandleErrorWithContext(ctx, nil, "Unable to sync caches", "notSynced", notSynced(cacheSyncs))
		return false
	}
	logger.Info("Caches are synced")
	return true
}

// syncedWithin asks cacheSyncs until all are true or stop is closed.
func syncedWithin(stop <-chan struct{}, cacheSyncs []InformerSynced) bool {
	synced := func() bool {
		return !slices.ContainsFunc(cacheSyncs, func(f InformerSynced) bool { return !f() })
	}
	if synced() {
		return true
	}
	ticker := time.NewTicker(syncPoll)
	defer ticker.Stop()
	for {
		select {
		case <-stop:
			return false
		case <-ticker.C:
			if synced() {
				return true
			}
		}
	}
}
