package cache

import (
	"bytes"
	"context"
	"fmt"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/klog/v2"

	"github.com/kinglet-go/kinglet"
)

// syncPoll is how often WaitForCacheSync calls its functions. They can only be
// polled, which is why WaitFor, with checkers, is better.
const syncPoll = 100 * time.Millisecond

// WaitFor blocks until all checkers are done, and returns true; or until ctx
// ends, and returns false if one of them is not done then. It does not poll: each has a
// goroutine.
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
	type outcome struct {
		checker DoneChecker
		done    bool
	}
	outcomes := make(chan outcome, len(checkers))
	var waiting sync.WaitGroup
	defer waiting.Wait()
	for _, c := range checkers {
		waiting.Go(func() {
			select {
			case <-c.Done():
			case <-ctx.Done():
			}
			outcomes <- outcome{c, IsDone(c)}
		})
	}
	var left []string
	// Logged from here, so that the lines are the caller's.
	for range checkers {
		switch o := <-outcomes; {
		case !o.done:
			left = append(left, notDone(o.checker))
		case what != "":
			logger.Info("Done waiting", "for", what, "instance", o.checker.Name())
		}
	}
	if what != "" && len(left) > 0 {
		slices.Sort(left)
		logger.Info("Timed out waiting", "for", what, "cause", context.Cause(ctx), "instances", left)
	}
	return len(left) == 0
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

// checker is a DoneChecker for an informer or a handler. It can say why it is
// not done.
type checker struct {
	name string
	done <-chan struct{}
	// status is the informer's.
	status func() kinglet.Status
}

var _ DoneChecker = checker{}

// Name returns what is waited for.
func (c checker) Name() string { return c.name }

// Done returns a channel that is closed when it has happened.
func (c checker) Done() <-chan struct{} { return c.done }

// IsDone reports whether what checker waits for has happened, without waiting.
func IsDone(checker DoneChecker) bool {
	select {
	case <-checker.Done():
		return true
	default:
		return false
	}
}

// notDone describes why checker is not done: its name, and for one of this
// package what its informer is doing and what failed last.
func notDone(c DoneChecker) string {
	ours, ok := c.(checker)
	if !ok {
		return c.Name()
	}
	st := ours.status()
	var b strings.Builder
	fmt.Fprintf(&b, "%s (%s", ours.name, strings.ToLower(st.Phase.String()))
	if st.LastError != nil {
		fmt.Fprintf(&b, ": %v", st.LastError)
	}
	b.WriteByte(')')
	return b.String()
}

// An InformerSynced is a function, and cannot be asked which informer it is
// about. To describe a failed wait better than by "the second of three
// functions", each call of such a function by a wait is a question. If the
// function calls HasSynced of an informer or handler of this package, on the
// same goroutine, and that returns false, its checker is added to the question.
// Only the call itself connects it with the wait, so questions are found by
// goroutine.
//
// No lock is held while a function of the program is called, and no function is
// called that a wait would not call anyway.

// question is one call of an InformerSynced.
type question struct {
	function InformerSynced
	// said holds the checkers of those that returned false; at most maxSaid.
	// Only the goroutine that asks uses it.
	said []func() DoneChecker
}

// maxSaid is how many answers a question keeps: the first ones describe a
// function that stands for more informers well enough.
const maxSaid = 16

// questions are those that are being asked, by goroutine. asked counts them, so
// that a HasSynced outside of any costs only one load.
var (
	questions sync.Map // goroutine's name to *question
	asked     atomic.Int64
)

// ask calls the function, and collects the informers that have not synced.
func (q *question) ask() bool {
	q.said = q.said[:0]
	here := goroutine()
	outer, nested := questions.Swap(here, q)
	asked.Add(1)
	defer func() {
		asked.Add(-1)
		if !nested {
			questions.Delete(here)
			return
		}
		// The function waited for caches itself.
		questions.Store(here, outer)
		for _, c := range q.said {
			outer.(*question).answer(c)
		}
	}()
	return q.function()
}

func (q *question) answer(c func() DoneChecker) {
	if len(q.said) < maxSaid {
		q.said = append(q.said, c)
	}
}

// saysNo adds c to the question that this goroutine is asking, if any.
// HasSynced of c's informer or handler is about to return false.
func saysNo(c func() DoneChecker) {
	if asked.Load() == 0 {
		return
	}
	if q, ok := questions.Load(goroutine()); ok {
		q.(*question).answer(c)
	}
}

// notSynced describes those that returned false, with what they are doing and
// what failed last, or names the function if none of this package did.
func (q *question) notSynced() []string {
	if len(q.said) == 0 {
		return []string{runtime.FuncForPC(reflect.ValueOf(q.function).Pointer()).Name()}
	}
	var out []string
	for _, c := range q.said {
		out = append(out, notDone(c()))
	}
	return out
}

// goroutine returns the name of the caller's goroutine, "goroutine 7", as the
// runtime prints it at the head of a stack. It costs about a microsecond.
func goroutine() string {
	var head [64]byte
	name, _, _ := bytes.Cut(head[:runtime.Stack(head[:], false)], []byte(" ["))
	return string(name)
}
