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

// reflection is the ListerWatcher in a Reflector's shell. Its list is empty,
// and its watch sends bookmarks. The watch is a run of the engine, from its
// start to the shell's Stop, and the bookmarks have the versions that the store
// reaches.
//
// The shell's ListAndWatch returns an error only if a watch could not be
// started, so WatchWithContext does not return before the engine has its list.
// When a run ends, so does the watch. If ListAndWatch is to return nil, the
// watch ends with an Error event. Otherwise the shell asks for another watch,
// which then fails with the error that ListAndWatch is to return.
//
// Run calls ListAndWatch again and again, with its own context: after a failed
// watch the engine then continues where it was. Every other call begins with a
// list, as client-go's does.
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
	// from the engine's goroutine, while no other run can begin.
	run *reflectionRun
	// failed is the error of the next watch; guarded by mu.
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
	// events holds the newest bookmark that the shell has not read, or the
	// Error event that ended the run.
	events chan watch.Event
	// watching is closed when the engine first watches.
	watching chan struct{}
	// done is closed when the engine has returned.
	done chan struct{}

	// ended is set once the run is to end; err is then the reason. Only the
	// engine's goroutine uses them until done is closed.
	ended bool
	err   error
	// resync is the error of the store's Resync, if that ended the run.
	resync atomic.Pointer[error]
	// begun is whether the engine has reached its watch.
	begun bool
}

// List implements ListerWatcher. The shell calls ListWithContext instead.
func (r *reflection) List(opts metav1.ListOptions) (runtime.Object, error) {
	return r.ListWithContext(context.Background(), opts)
}

// ListWithContext implements ListerWatcherWithContext. It is the first call of
// each ListAndWatch.
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

// Watch implements ListerWatcher. The shell calls WatchWithContext instead.
func (r *reflection) Watch(opts metav1.ListOptions) (watch.Interface, error) {
	return r.WatchWithContext(context.Background(), opts)
}

// IsWatchListSemanticsUnSupported makes the shell list where it would stream.
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
		// The events say what happened, or the shell checks ctx.
		return run, nil
	}
	if throttledOrRefused(run.err) {
		// The shell waits and retries without a log line.
		DefaultWatchErrorHandler(ctx, r.shell, run.err)
	}
	return nil, run.err
}

// throttledOrRefused reports whether err is one after which client-go's
// Reflector begins another watch itself.
func throttledOrRefused(err error) bool {
	return apierrors.IsTooManyRequests(err) || utilnet.IsConnectionRefused(err)
}

// begin runs the engine, and makes it first if there is none.
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
		count := e.sink.moved
		e.sink.moved = func(version string) {
			count(version)
			r.moved(version)
		}
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

// newEngine makes an engine from the shell's present fields.
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

// resyncFailed ends the run, as client-go ends its watch then: ListAndWatch
// returns nil, and the next one lists. It is called from another goroutine than
// the engine's.
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

// moved sends the shell a version, on the engine's goroutine.
func (r *reflection) moved(version string) {
	r.run.show(watch.Event{Type: watch.Bookmark, Object: &metav1.PartialObjectMetadata{
		ObjectMeta: metav1.ObjectMeta{ResourceVersion: version},
	}})
}

// show makes event the next one that the shell reads.
func (r *reflectionRun) show(event watch.Event) {
	for {
		select {
		case r.events <- event:
			return
		default:
		}
		// The unread event is older. Drop it.
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
	case e.Answered:
		r.run.endWatch(e.Err)
	default: // it was refused
		r.run.end(e.Err)
	}
}

// onlyAListTells reports whether err, of a watch, makes the engine list at
// once.
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

// backsOff ends the run where client-go's ListAndWatch would return, and the
// shell waits then. The engine itself retries throttled and refused watches,
// initial events that break off, and what the server asks to repeat.
func (r *reflection) backsOff(last error) {
	e, ok := errors.AsType[*reflector.Error](last)
	again, asks := apierrors.SuggestsClientDelay(last)
	switch {
	case asks && again > 0:
	case !ok || e.Verb == "list":
		r.run.end(watchError(r.options.Name, r.options.TypeDescription, last))
	case throttledOrRefused(e.Err):
	case e.Verb == "watch-list" && errors.Is(e, reflector.ErrTruncated):
	case e.Verb != "watch":
		r.run.end(watchError(r.options.Name, r.options.TypeDescription, last))
	case apierrors.IsInternalError(e.Err) && r.shell.MaxInternalErrorRetryDuration > 0:
	case e.Answered, errors.Is(e, reflector.ErrShortWatch), emptyWatch(e):
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

// end ends the run, and makes ListAndWatch return err.
func (r *reflectionRun) end(err error) {
	if r.ended {
		return
	}
	r.ended, r.err = true, err
	r.stop()
}

// endWatch ends the run so that ListAndWatch returns nil and the shell logs
// err.
func (r *reflectionRun) endWatch(err error) {
	if r.ended {
		return
	}
	r.end(nil)
	r.show(watch.Event{Type: watch.Error, Object: errorStatus(err)})
}

// errorStatus returns err as an Error event carries it.
func errorStatus(err error) *metav1.Status {
	var known apierrors.APIStatus
	if errors.As(err, &known) {
		status := known.Status()
		return &status
	}
	return &metav1.Status{Status: metav1.StatusFailure, Message: err.Error()}
}

// over ends the shell's watch when the engine has ended.
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
	// A last bookmark keeps the shell from considering the watch one that ended
	// at once with nothing in it.
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
