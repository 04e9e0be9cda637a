package cache

import (
	"context"
	"fmt"
	"math"
	"time"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/klog/v2"
	"k8s.io/utils/ptr"

	"github.com/kinglet-go/kinglet"
)

// NewSharedInformer is NewSharedIndexInformerWithOptions without indexes.
func NewSharedInformer(lw ListerWatcher, exampleObject runtime.Object, defaultEventHandlerResyncPeriod time.Duration) SharedInformer {
	return NewSharedIndexInformer(lw, exampleObject, defaultEventHandlerResyncPeriod, Indexers{})
}

// NewSharedIndexInformer is NewSharedIndexInformerWithOptions with the two
// options that most informers have.
func NewSharedIndexInformer(lw ListerWatcher, exampleObject runtime.Object, defaultEventHandlerResyncPeriod time.Duration, indexers Indexers) SharedIndexInformer {
	return NewSharedIndexInformerWithOptions(lw, exampleObject, SharedIndexInformerOptions{
		ResyncPeriod: defaultEventHandlerResyncPeriod,
		Indexers:     indexers,
	})
}

// NewSharedIndexInformerWithOptions returns an informer of what lw lists and
// watches: a kinglet.Informer behind client-go's interface, with its
// guarantees. Nothing is started before Run.
//
// Objects must be of the type of exampleObject, and of its kind if it is
// unstructured and has one; others are reported, quarantined and left out. A nil
// exampleObject accepts everything.
//
// Resync periods. With options.ResyncPeriod 0 no handler is resynced. Otherwise
// the informer's period is fixed when it starts: the least of ResyncPeriod and
// the periods that handlers requested by then, but at least a second. A handler
// is resynced at the period that it requests, rounded up to a multiple of the
// informer's; the first time one period after it has synced.
//
// Handlers are called with each change, as long as no more than 65,536 are
// pending; beyond that an Update folds into the last pending change of its key,
// unless that is a Delete.
func NewSharedIndexInformerWithOptions(lw ListerWatcher, exampleObject runtime.Object, options SharedIndexInformerOptions) SharedIndexInformer {
	return newSharedInformer([]ScopedListerWatcher{{ListerWatcher: lw}}, exampleObject, options.ResyncPeriod, coreOptions{
		description: options.ObjectDescription,
		indexers:    options.Indexers,
		identifier:  options.Identifier,
		metrics:     options.InformerMetricsProvider,
	})
}

func newSharedInformer(scopes []ScopedListerWatcher, example runtime.Object, resync time.Duration, opts coreOptions) *sharedInformer {
	return &sharedInformer{
		informerCore:  newCore(scopes, example, opts),
		defaultResync: resync,
		resync:        resync,
		early:         make(map[*registration]struct{}),
	}
}

// sharedInformer is a SharedIndexInformer.
type sharedInformer struct {
	*informerCore
	defaultResync time.Duration

	// The fields below are guarded by informerCore.mu.

	// resync is the informer's period; those of handlers are multiples of it; 0
	// for none. It is fixed when the informer starts.
	resync time.Duration
	// early holds the handlers that are to be resynced and were added before the
	// start; nil afterwards.
	early map[*registration]struct{}
}

var _ SharedIndexInformer = (*sharedInformer)(nil)

// Run is RunWithContext until stopCh is closed.
func (s *sharedInformer) Run(stopCh <-chan struct{}) {
	s.RunWithContext(wait.ContextForChannel(stopCh))
}

// RunWithContext keeps the store equal to the source and calls the handlers
// until ctx ends, and returns once everything that it started has ended,
// handlers included. A second call is refused: it is logged and returns.
//
// When ctx ends, it waits for a function of a ListWatch that has not returned,
// for a second at most, so that what the function began ends before Run does.
// After that the function is left to itself, and what it returns later is
// stopped.
func (s *sharedInformer) RunWithContext(ctx context.Context) {
	if s.begin(ctx, s.fixResyncLocked) {
		s.run(ctx)
	}
}

// AddEventHandler adds a handler that is resynced at the informer's default
// period.
func (s *sharedInformer) AddEventHandler(handler ResourceEventHandler) (ResourceEventHandlerRegistration, error) {
	return s.AddEventHandlerWithOptions(handler, HandlerOptions{})
}

// AddEventHandlerWithResyncPeriod adds a handler that is resynced at a period
// of its own; 0 for never, a negative one for the informer's.
func (s *sharedInformer) AddEventHandlerWithResyncPeriod(handler ResourceEventHandler, resyncPeriod time.Duration) (ResourceEventHandlerRegistration, error) {
	return s.AddEventHandlerWithOptions(handler, HandlerOptions{ResyncPeriod: &resyncPeriod})
}

// AddEventHandlerWithOptions adds a handler, before Run or during it. The
// handler first receives the current state, as Adds of the initial list, then
// every change. Adding costs the same for any number of objects, and fails once
// the informer has stopped.
func (s *sharedInformer) AddEventHandlerWithOptions(handler ResourceEventHandler, options HandlerOptions) (ResourceEventHandlerRegistration, error) {
	if handler == nil {
		return nil, fmt.Errorf("informer of %s: the handler is nil", s.description)
	}
	logger := ptr.Deref(options.Logger, klog.Background())
	r := &registration{
		informer:  s,
		requested: s.requestedResync(logger, options.ResyncPeriod),
		handling:  handling{handler: handler, name: handlerName(handler), logger: logger},
	}
	opts := r.handling.options()

	s.mu.Lock()
	defer s.mu.Unlock()
	if s.stoppedLocked() {
		return nil, handlerRefused(r.handling.name, kinglet.ErrStopped)
	}
	opts.Resync = s.resyncLocked(logger, r.requested)
	var err error
	if r.kinglet, err = s.informer.AddHandler(&r.handling, opts); err != nil {
		// The informer is about to stop: nothing is wrong with the options.
		return nil, handlerRefused(r.handling.name, err)
	}
	if s.ctx == nil && opts.Resync > 0 {
		s.early[r] = struct{}{}
	}
	return r, nil
}

// GetStore returns the informer's store. A write to it by hand, at any time, is
// visible at once and reaches no handler; lists overwrite it.
func (s *sharedInformer) GetStore() Store { return s.indexer }

// GetIndexer returns the informer's store with its indexes.
func (s *sharedInformer) GetIndexer() Indexer { return s.indexer }

// AddIndexers adds indexes, before Run or during it; they cover all objects when
// it returns. It fails if a name is in use, and once the informer has stopped.
func (s *sharedInformer) AddIndexers(indexers Indexers) error {
	if s.IsStopped() {
		return errIndexerStopped
	}
	return s.indexer.AddIndexers(indexers)
}

// HasSynced reports whether the store holds the first list.
func (s *sharedInformer) HasSynced() bool {
	if s.informer.HasSynced() {
		return true
	}
	saysNo(s.HasSyncedChecker)
	return false
}

// HasSyncedChecker returns HasSynced as a checker to wait for.
func (s *sharedInformer) HasSyncedChecker() DoneChecker {
	return checker{
		name:   fmt.Sprintf("SharedIndexInformer %T", s.example),
		done:   s.informer.Synced(),
		status: s.Status,
	}
}

// SetWatchErrorHandler is SetWatchErrorHandlerWithContext for a handler that
// takes no context.
func (s *sharedInformer) SetWatchErrorHandler(handler WatchErrorHandler) error {
	return s.SetWatchErrorHandlerWithContext(func(_ context.Context, r *Reflector, err error) { handler(r, err) })
}

// SetWatchErrorHandlerWithContext sets the handler of failed lists and watches,
// which replaces DefaultWatchErrorHandler. The goroutine that lists and watches
// calls it, and waits for it. The last handler that is set counts. It fails once
// the informer has started.
//
// As in client-go, some errors are only logged: those after which another request follows at
// once, a watch that breaks off, and a watch for which the server is busy or cannot be reached.
// The handler gets the rest, a restored server, and limits. It gets more failed lists than
// client-go's: in a long outage kinglet also lists, where client-go only repeats its watch, and
// a list fails at once where client-go's client would try ten times.
func (s *sharedInformer) SetWatchErrorHandlerWithContext(handler WatchErrorHandlerWithContext) error {
	return s.unlessStarted(func() { s.watchError = handler })
}

// SetTransform sets a function that is called with each version of an object
// before it is stored; its result is stored instead. The function may modify its
// argument. SetTransform fails once the informer has started.
func (s *sharedInformer) SetTransform(handler TransformFunc) error {
	return s.unlessStarted(func() {
		s.transform = handler
		for _, late := range s.scopes {
			late.checkIndex = nil // it may set what is left out
		}
	})
}

func (s *sharedInformer) unlessStarted(set func()) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ctx != nil {
		return errStarted
	}
	set()
	return nil
}

// IsStopped reports whether the informer has been stopped: its context has
// ended, and no handler can be added any more. What it started may still be
// ending.
func (s *sharedInformer) IsStopped() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.stoppedLocked()
}

func (s *sharedInformer) stoppedLocked() bool {
	return s.stopped || s.ctx != nil && s.ctx.Err() != nil
}

// GetController returns a Controller that reports the informer's state. Its Run
// does nothing, since the informer runs itself.
func (s *sharedInformer) GetController() Controller { return idleController{s, s} }

// idleController is a sharedInformer seen as a Controller. It is Observable, since what
// client-go's factories return may hide the informer, but not its Controller.
type idleController struct {
	Observable
	informer *sharedInformer
}

func (idleController) Run(<-chan struct{})            {}
func (idleController) RunWithContext(context.Context) {}

func (c idleController) HasSynced() bool                 { return c.informer.HasSynced() }
func (c idleController) HasSyncedChecker() DoneChecker   { return c.informer.HasSyncedChecker() }
func (c idleController) LastSyncResourceVersion() string { return c.informer.LastSyncResourceVersion() }

// registration is one handler of a sharedInformer.
type registration struct {
	informer *sharedInformer
	// requested is the requested resync period, at least a second; 0 for none, less for
	// the informer's.
	requested time.Duration
	handling  handling
	kinglet   kinglet.Registration
}

var _ ResourceEventHandlerRegistration = (*registration)(nil)

// HasSynced reports whether the handler has returned from every object of the
// state that it began with.
func (r *registration) HasSynced() bool {
	if r.kinglet.HasSynced() {
		return true
	}
	saysNo(r.HasSyncedChecker)
	return false
}

// HasSyncedChecker returns HasSynced as a checker to wait for.
func (r *registration) HasSyncedChecker() DoneChecker {
	return checker{
		name:   r.informer.HasSyncedChecker().Name() + " + event handler " + r.handling.name,
		done:   r.kinglet.Synced(),
		status: r.informer.Status,
	}
}

// ShutdownChan returns a channel that is closed once the handler has been
// called for the last time and has returned. ShutDownEventHandler uses it.
func (r *registration) ShutdownChan() <-chan struct{} { return r.kinglet.Done() }

// RemoveEventHandler ends a registration: no further call begins. It does not
// wait for a call that has begun (ShutDownEventHandler does). It may be called
// at any time, any number of times, also from inside the handler. It fails for
// a handle that no informer of this package has made, and ignores a handle of
// another informer.
func (s *sharedInformer) RemoveEventHandler(handle ResourceEventHandlerRegistration) error {
	r, ok := handle.(*registration)
	if !ok || r == nil {
		return fmt.Errorf("invalid key type %T", handle)
	}
	if r.informer != s {
		return nil
	}
	s.mu.Lock()
	delete(s.early, r)
	s.mu.Unlock()
	r.kinglet.Remove()
	return nil
}

// ShutDownEventHandler removes a handler and waits until it has returned for
// the last time. It may be called at any time, any number of times, but not
// from inside the handler, which would wait for itself. It works with every
// informer whose handles have a method ShutdownChan() <-chan struct{}.
func ShutDownEventHandler(informer SharedInformer, handle ResourceEventHandlerRegistration) error {
	if err := informer.RemoveEventHandler(handle); err != nil {
		return err
	}
	waitable, ok := handle.(interface{ ShutdownChan() <-chan struct{} })
	if !ok {
		return errNoShutdownChan
	}
	<-waitable.ShutdownChan()
	return nil
}

// minResync is the shortest period at which a handler of a shared informer is
// resynced.
const minResync = time.Second

// requestedResync returns the period that a handler requests: at least
// minResync, 0 for none, or less for the informer's.
func (s *sharedInformer) requestedResync(logger klog.Logger, period *time.Duration) time.Duration {
	switch requested := ptr.Deref(period, s.defaultResync); {
	case requested <= 0:
		return requested
	case requested < minResync:
		logger.Info("Warning: the resync period is raised to the minimum", "requested", requested, "minimum", minResync)
		return minResync
	default:
		return requested
	}
}

// resyncLocked returns the resync period of a handler that requested this one.
// Before the start it may lower the informer's own period, for all handlers.
func (s *sharedInformer) resyncLocked(logger klog.Logger, requested time.Duration) time.Duration {
	switch {
	case requested == 0:
		return 0
	case s.resync <= 0:
		logger.Info("Warning: this informer does no resyncs, so the handler gets none", "requested", requested)
		return 0
	case s.ctx == nil && requested > 0:
		s.resync = min(s.resync, requested)
		return requested
	}
	period := multiple(requested, s.resync)
	if s.ctx != nil && period != requested {
		logger.Info("Warning: the resync period is rounded up to a multiple of the informer's, which has started",
			"requested", requested, "informer", s.resync)
	}
	return period
}

// fixResyncLocked fixes the informer's period, and the periods of the handlers
// that were added before the start.
func (s *sharedInformer) fixResyncLocked() {
	if s.resync > 0 {
		s.resync = max(s.resync, minResync)
	}
	for r := range s.early {
		r.kinglet.SetResync(multiple(r.requested, s.resync))
	}
	s.early = nil
}

// multiple rounds period up to a multiple of unit; to unit if it is negative.
func multiple(period, unit time.Duration) time.Duration {
	p, u := uint64(max(period, 1)), uint64(unit)
	return time.Duration(min((p+u-1)/u*u, math.MaxInt64))
}
