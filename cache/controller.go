package cache

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/klog/v2"
	"k8s.io/utils/clock"

	"github.com/kinglet-go/kinglet/reflector"
)

// Config configures a Controller. It is a type of its own because client-go's
// no longer has RetryOnError.
type Config struct {
	// Queue is filled from ListerWatcher and emptied by Process. Any Queue
	// will do; Process is given what it pops.
	Queue

	// ListerWatcher is where the objects come from.
	ListerWatcher

	// Process works on a popped item. It is called from one goroutine.
	Process ProcessFunc

	// ProcessBatch works on several changes of different keys at once. It is
	// used if Queue is a QueueWithBatch; changes that cannot be batched go to
	// Process, which must do the same.
	ProcessBatch ProcessBatchFunc

	// ObjectType is an object of the expected type; objects of other types are
	// reported and left out. For an *unstructured.Unstructured the kind counts
	// too. Nil accepts all.
	ObjectType runtime.Object

	// ObjectDescription names the type in messages; it is made from ObjectType
	// if it is empty.
	ObjectDescription string

	// FullResyncPeriod is how often Queue.Resync is called, if ShouldResync
	// agrees; 0 is never.
	FullResyncPeriod time.Duration

	// MinWatchTimeout is the least timeout that is requested for a watch, if it
	// is more than 5 minutes.
	MinWatchTimeout time.Duration

	// ShouldResync reports whether to resync now; nil means yes.
	ShouldResync ShouldResyncFunc

	// RetryOnError puts an item back into Queue if Process fails, as if Process
	// had returned ErrRequeue. A Queue that is not one of this package's must
	// have a method AddIfNotPresent(any) error for this.
	RetryOnError bool

	// WatchErrorHandler is called with the error of a list or watch. Its
	// Reflector has only a name, a type description and LastSyncResourceVersion.
	WatchErrorHandler WatchErrorHandler

	// WatchErrorHandlerWithContext is the same, if there is no
	// WatchErrorHandler. Without either, DefaultWatchErrorHandler logs.
	WatchErrorHandlerWithContext WatchErrorHandlerWithContext

	// WatchListPageSize is how many objects a page of a list may have; 0
	// leaves that to the reflector.
	WatchListPageSize int64
}

// New returns a Controller that does what c says, as c is now. It starts
// nothing.
func New(c *Config) Controller { return &controller{config: *c, name: callerName()} }

type controller struct {
	config Config
	name   string
	engine atomic.Pointer[engine] // nil until it runs
}

// Run is RunWithContext until stopCh is closed.
func (c *controller) Run(stopCh <-chan struct{}) {
	c.RunWithContext(wait.ContextForChannel(stopCh))
}

// RunWithContext fills the queue from the ListerWatcher and empties it through
// Process until ctx ends. It then closes the queue, leaves the remaining items
// in it, and returns once everything that it started has ended. It may be
// called once.
func (c *controller) RunWithContext(ctx context.Context) {
	logger := klog.FromContext(ctx)
	e, err := c.newEngine(ctx, logger)
	if err != nil {
		logger.Error(err, "A controller cannot run")
	} else if !c.engine.CompareAndSwap(nil, e) {
		logger.Error(nil, "A controller was run twice, which is refused", "type", e.config.description)
		return
	}
	var running sync.WaitGroup
	running.Go(func() {
		<-ctx.Done()
		c.config.Queue.Close()
	})
	if err == nil {
		running.Go(func() { _ = e.run(ctx, false) }) // it runs nowhere else
	}
	// It survives a panic of Process, if the program is set to.
	wait.UntilWithContext(ctx, c.drain, time.Second)
	// Not deferred: another panic must not wait for ctx.
	running.Wait()
}

func (c *controller) newEngine(ctx context.Context, logger klog.Logger) (*engine, error) {
	description := c.config.ObjectDescription
	if description == "" {
		description = describeType(c.config.ObjectType)
	}
	from, to := watchTimeouts(c.config.MinWatchTimeout)
	var e *engine
	face := newShell(c.name, description, func() string { return e.sink.at() })
	e, err := newEngine(engineConfig{
		lw:           c.config.ListerWatcher,
		example:      c.config.ObjectType,
		store:        c.config.Queue,
		name:         c.name,
		description:  description,
		logger:       logger,
		clock:        clock.RealClock{},
		resyncPeriod: c.config.FullResyncPeriod,
		shouldResync: c.config.ShouldResync,
		reflector: reflector.Options{
			PageSize:        c.config.WatchListPageSize,
			WatchTimeoutMin: from, WatchTimeoutMax: to,
			OnError: func(err error) {
				if message, at := kept(err); message != "" {
					logger.V(at).Info(message, "type", description, "err", err)
					return
				}
				face.handle(ctx, c.config.WatchErrorHandler, c.config.WatchErrorHandlerWithContext,
					watchError(c.name, description, err))
			},
		},
	})
	return e, err
}

// HasSynced returns the queue's HasSynced.
func (c *controller) HasSynced() bool { return c.config.Queue.HasSynced() }

// HasSyncedChecker returns the queue's HasSyncedChecker.
func (c *controller) HasSyncedChecker() DoneChecker { return c.config.Queue.HasSyncedChecker() }

// LastSyncResourceVersion returns the version that the queue has reached; ""
// before there is one.
func (c *controller) LastSyncResourceVersion() string {
	if e := c.engine.Load(); e != nil {
		return e.sink.at()
	}
	return ""
}

// drain empties the queue until ctx ends or the queue is closed.
func (c *controller) drain(ctx context.Context) {
	pop := c.popper()
	for ctx.Err() == nil {
		if err := pop(); errors.Is(err, ErrFIFOClosed) {
			return
		}
	}
}

// popper returns a function that pops one item or batch.
func (c *controller) popper() func() error {
	single, batch := PopProcessFunc(c.config.Process), c.config.ProcessBatch
	_, ours := c.config.Queue.(interface{ honoursErrRequeue() })
	if c.config.RetryOnError && ours {
		single, batch = requeueing(single), requeueing(batch)
	}
	if batched, ok := c.config.Queue.(QueueWithBatch); ok && c.config.ProcessBatch != nil {
		return func() error { return batched.PopBatch(batch, single) }
	}
	putBack, can := c.config.Queue.(interface{ AddIfNotPresent(obj any) error })
	retry := c.config.RetryOnError && !ours && can
	return func() error {
		obj, err := c.config.Pop(single)
		if err != nil && retry && !errors.Is(err, ErrFIFOClosed) {
			return putBack.AddIfNotPresent(obj)
		}
		return err
	}
}

// requeueing returns process with its errors made into ErrRequeue.
func requeueing[I any, F ~func(I, bool) error](process F) F {
	return func(item I, initial bool) error {
		err := process(item, initial)
		if err == nil || errors.As(err, new(ErrRequeue)) {
			return err
		}
		return ErrRequeue{Err: err}
	}
}
