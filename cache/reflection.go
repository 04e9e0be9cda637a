package cache

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	utilnet "k8s.io/apimachinery/pkg/util/net"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/klog/v2"

	"github.com/kinglet-go/kinglet/reflector"
	"github.com/kinglet-go/kinglet/source"
)

// reflection is what is in a Reflector's shell: to the shell it is a
// ListerWatcher whose list is empty and whose watch sends bookmarks. The watch
// is a run of the engine, from its start to the shell's Stop, and the bookmarks
// have the versions that the store comes to.
//
// The shell's ListAndWatch returns an error only if a watch could not be begun,
// so WatchWithContext does not return before the engine has its list. When a
// run ends, so does the watch: with an Error event where ListAndWatch is to
// return nil, and else so that the shell asks for another watch, which then
// fails with the error that ListAndWatch is to return.
//
// Run calls ListAndWatch again and again, with its own context: after a failure
// of a watch the engine then goes on where it was. Every other call begins with
// a list, as client-go's does.
type reflection struct {
	shell   *Reflector
	lw      ListerWatcher
	example any
	store   ReflectorStore
	options ReflectorOptions
	logger  klog.Logger

	mu     sync.Mutex
	engine *engine // guarded by mu; nil before the first run
	// run is the one under way. It is set before the engine is run, and read
	// from the engine's goroutine, where nothing else is running then.
	run *reflectionRun
	// failed is what the next watch fails with; guarded by mu.
	failed error
	// under is the context of the last ListAndWatch, and anew is whether the
	// next run begins with a list; guarded by mu.
	under context.Context
	anew  bool
}

// reflectionRun is one run of the engine, and the watch that shows it.
type reflectionRun struct {
	ctx  context.Context
	stop context.CancelFunc
	// events has the newest bookmark that the shell has not read, or the
	// Error that ended the run.
	events chan watch.Event
	// watching is closed when the engine first watches.
	watching chan struct{}
	// done is closed when the engine has returned.
	done chan struct{}

	// ended is set once the run is to end; err is then why. Both are the
	// engine's goroutine's until done.
	ended bool
	err   error
	// resync is why the run ended, if that was the store's Resync.
	resync atomic.Pointer[error]
	// begun is whether the engine has come to watch.
	begun bool
}

// List implements ListerWatcher; the shell has a context to give.
func (r *reflection) List(opts metav1.ListOptions) (runtime.Object, error) {
	return r.ListWithContext(context.Background(), opts)
}

// ListWithContext implements ListerWatcherWithContext. It is how each
// ListAndWatch begins.
func (r *reflection) ListWithContext(ctx context.Context, _ metav1.ListOptions) (runtime.Object, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.failed = nil // of an earlier ListAndWatch
	r.anew = r.under != nil && !identical(r.under, ctx) || r.run != nil && r.run.resync.Load() != nil
	r.under = ctx
	list := &metav1.PartialObjectMetadataList{}
	if r.engine != nil {
		list.ResourceVersion = r.engine.sink.at()
	}
	return list, nil
}

// Watch implements ListerWatcher; the shell has a context to give.
func (r *reflection) Watch(opts metav1.ListOptions) (watch.Interface, error) {
	return r.WatchWithContext(context.Background(), opts)
}

// IsWatchListSemanticsUnSupported has the shell list where it would stream.
func (r *reflection) IsWatchListSemanticsUnSupported() bool { return true }

// WatchWithContext runs the engine until ctx ends or the watch is stopped, and
// returns once the engine watches or its list has failed.
func (r *reflection) WatchWithContext(ctx context.Context, _ metav1.ListOptions) (watch.Interface, error) {
	run, err := r.begin(ctx)
	if err != nil {
		return nil, err
	}
	select {
	case <-run.watching:
		return run, nil
	case <-run.done:
	}
	run.stop()
	if run.begun || ctx.Err() != nil || run.resync.Load() != nil {
		// The events say what happened, or the shell looks at ctx.
		return run, nil
	}
	if throttledOrRefused(run.err) {
		// The shell waits and tries again without a word.
		DefaultWatchErrorHandler(ctx, r.shell, run.err)
	}
	return nil, run.err
}

// throttledOrRefused are the errors after which client-go's Reflector begins
// another watch by itself.
func throttledOrRefused(err error) bool {
	return apierrors.IsTooManyRequests(err) || utilnet.IsConnectionRefused(err)
}

// begin runs the engine, which it makes if there is none.
func (r *reflection) begin(parent context.Context) (*reflectionRun, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if err := r.failed; err != nil {
		r.failed = nil
		return nil, err
	}
	if r.engine == nil {
		e, err := r.newEngine()
		if err != nil {
			return nil, err
		}
		e.sink.moved = chained(e.sink.moved, r.moved)
		r.engine = e
	}
	if r.run != nil {
		select {
		case <-r.run.done:
		default:
			return nil, reflector.ErrRunning
		}
	}
	ctx, stop := context.WithCancel(parent)
	run := &reflectionRun{
		ctx: ctx, stop: stop,
		events:   make(chan watch.Event, 1),
		watching: make(chan struct{}),
		done:     make(chan struct{}),
	}
	r.run = run
	anew := r.anew
	r.anew = false
	go func() {
		defer close(run.done)
		_ = r.engine.run(ctx, anew) // it is not running, see above
		r.over(run)
	}()
	return run, nil
}

// chained calls both.
func chained(first, second func(string)) func(string) {
	return func(version string) {
		first(version)
		second(version)
	}
}

// newEngine reads what the shell's fields say now.
func (r *reflection) newEngine() (*engine, error) {
	from, to := watchTimeouts(r.options.MinWatchTimeout)
	opts := reflector.Options{
		PageSize:        r.shell.WatchListPageSize,
		RefusalPatience: max(0, r.shell.MaxInternalErrorRetryDuration),
		WatchTimeoutMin: from, WatchTimeoutMax: to,
		OnError:  r.failedWith,
		OnStatus: r.changed,
	}
	if b := r.options.Backoff; b != nil {
		opts.BackoffMin, opts.BackoffMax = max(0, b.Duration), max(0, b.Duration, b.Cap)
		opts.Delay = b.DelayWithReset(r.options.Clock, reflector.DefaultBackoffReset)
	}
	return newEngine(engineConfig{
		lw:           r.lw,
		example:      r.example,
		store:        r.store,
		name:         r.options.Name,
		description:  r.options.TypeDescription,
		logger:       r.logger,
		clock:        r.options.Clock,
		resyncPeriod: r.options.ResyncPeriod,
		shouldResync: r.shouldResync,
		resyncFailed: r.resyncFailed,
		reflector:    opts,
	})
}

// resyncFailed ends the run, as client-go's watch ends then: ListAndWatch
// returns nil, and the next one lists. It is called beside the engine.
func (r *reflection) resyncFailed(err error) {
	r.mu.Lock()
	run := r.run
	r.mu.Unlock()
	run.resync.Store(&err)
	run.stop()
}

func (r *reflection) shouldResync() bool {
	return r.shell.ShouldResync == nil || r.shell.ShouldResync()
}

// moved shows the shell a version, on the engine's goroutine.
func (r *reflection) moved(version string) {
	r.run.show(watch.Event{Type: watch.Bookmark, Object: &metav1.PartialObjectMetadata{
		ObjectMeta: metav1.ObjectMeta{ResourceVersion: version},
	}})
}

// show makes event the one that the shell reads next.
func (r *reflectionRun) show(event watch.Event) {
	for {
		select {
		case r.events <- event:
			return
		default:
		}
		// An event that has not been read is older.
		select {
		case <-r.events:
		default:
		}
	}
}

// failedWith receives errors on the engine's goroutine. Most lead to a wait,
// which changed then sees; these two end a run at once.
func (r *reflection) failedWith(err error) {
	if taken, ok := errors.AsType[*notTakenError](err); ok {
		r.run.end(taken)
		return
	}
	e, ok := errors.AsType[*reflector.Error](err)
	switch {
	case !ok || e.Verb != "watch" || !onlyAListTells(e.Err):
	case r.engine.source.opened:
		r.run.endWatch(e.Err)
	default: // it was refused
		r.run.end(e.Err)
	}
}

// onlyAListTells is whether err, of a watch, has the engine list at once.
func onlyAListTells(err error) bool {
	return isExpired(err) || apierrors.IsStoreReadError(err) || errors.Is(err, source.ErrNoStatus)
}

func isExpired(err error) bool { return apierrors.IsResourceExpired(err) || apierrors.IsGone(err) }

// changed receives phases on the engine's goroutine.
func (r *reflection) changed(status reflector.Status) {
	switch status.Phase {
	case reflector.Watching:
		r.run.begin()
	case reflector.BackingOff:
		r.backsOff(status.LastError)
	}
}

// backsOff ends the run where client-go's ListAndWatch would return: the shell
// waits then. Throttled and refused watches are tried again from inside, and so
// are initial events that end before their end.
func (r *reflection) backsOff(last error) {
	e, ok := errors.AsType[*reflector.Error](last)
	switch {
	case !ok || e.Verb == "list":
		r.run.end(watchError(r.options.Name, r.options.TypeDescription, last))
	case throttledOrRefused(e.Err):
	case e.Verb == "watch-list" && errors.Is(e, reflector.ErrTruncated):
	case e.Verb != "watch":
		r.run.end(watchError(r.options.Name, r.options.TypeDescription, last))
	case apierrors.IsInternalError(e.Err) && r.shell.MaxInternalErrorRetryDuration > 0:
	case r.engine.source.opened, errors.Is(e, reflector.ErrShortWatch):
		r.run.endWatch(watchError(r.options.Name, r.options.TypeDescription, last))
	default:
		r.run.end(e.Err)
	}
}

func (r *reflectionRun) begin() {
	if !r.begun {
		r.begun = true
		close(r.watching)
	}
}

// end has the run end with what ListAndWatch is to return.
func (r *reflectionRun) end(err error) {
	if r.ended {
		return
	}
	r.ended, r.err = true, err
	r.stop()
}

// endWatch has the run end so that ListAndWatch returns nil, and logs err.
func (r *reflectionRun) endWatch(err error) {
	if r.ended {
		return
	}
	r.end(nil)
	r.show(watch.Event{Type: watch.Error, Object: errorStatus(err)})
}

// errorStatus is err as an Error event carries it.
func errorStatus(err error) *metav1.Status {
	var known apierrors.APIStatus
	if errors.As(err, &known) {
		status := known.Status()
		return &status
	}
	return &metav1.Status{Status: metav1.StatusFailure, Message: err.Error()}
}

// over has the shell's watch end when the engine has.
func (r *reflection) over(run *reflectionRun) {
	if why := run.resync.Load(); why != nil {
		run.show(watch.Event{Type: watch.Error, Object: errorStatus(*why)})
		return
	}
	if run.err == nil || !run.begun {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.failed = run.err
	// A last bookmark, so that the shell does not take the watch for one that
	// ended at once with nothing in it.
	r.moved(r.engine.sink.at())
	close(run.events)
}

// ResultChan implements watch.Interface.
func (r *reflectionRun) ResultChan() <-chan watch.Event { return r.events }

// Stop implements watch.Interface. It returns when the engine has ended.
func (r *reflectionRun) Stop() {
	r.stop()
	<-r.done
}
