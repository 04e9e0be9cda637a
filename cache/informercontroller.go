package cache

import (
	"context"
	"fmt"
	"sync/atomic"
	"time"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/klog/v2"
	"k8s.io/utils/ptr"

	"github.com/kinglet-go/kinglet"
)

// NewInformerWithOptions returns a store and a Controller. The Controller keeps
// the store equal to what options.ListerWatcher lists and watches, and calls
// options.Handler with every change. It is a shared informer with one handler,
// and has the same guarantees. Nothing is started before Run.
//
// The store is for reading; writes to it by hand reach no handler.
// options.MinWatchTimeout has no effect up to five minutes.
func NewInformerWithOptions(options InformerOptions) (Store, Controller) {
	return newInformer(options)
}

// NewInformer is NewInformerWithOptions with the options that most programs
// need.
func NewInformer(lw ListerWatcher, objType runtime.Object, resyncPeriod time.Duration, h ResourceEventHandler) (Store, Controller) {
	return newInformer(InformerOptions{
		ListerWatcher: lw, ObjectType: objType, Handler: h, ResyncPeriod: resyncPeriod,
	})
}

// NewIndexerInformer is NewInformer with indexes.
func NewIndexerInformer(lw ListerWatcher, objType runtime.Object, resyncPeriod time.Duration, h ResourceEventHandler, indexers Indexers) (Indexer, Controller) {
	return newInformer(InformerOptions{
		ListerWatcher: lw, ObjectType: objType, Handler: h, ResyncPeriod: resyncPeriod, Indexers: indexers,
	})
}

// NewTransformingInformer is NewInformer with a transform, which is called with
// each version of an object before it is stored.
func NewTransformingInformer(lw ListerWatcher, objType runtime.Object, resyncPeriod time.Duration, h ResourceEventHandler, transformer TransformFunc) (Store, Controller) {
	return newInformer(InformerOptions{
		ListerWatcher: lw, ObjectType: objType, Handler: h, ResyncPeriod: resyncPeriod, Transform: transformer,
	})
}

// NewTransformingIndexerInformer is NewTransformingInformer with indexes.
func NewTransformingIndexerInformer(lw ListerWatcher, objType runtime.Object, resyncPeriod time.Duration, h ResourceEventHandler, indexers Indexers, transformer TransformFunc) (Indexer, Controller) {
	return newInformer(InformerOptions{
		ListerWatcher: lw, ObjectType: objType, Handler: h, ResyncPeriod: resyncPeriod, Indexers: indexers, Transform: transformer,
	})
}

// informerController is a Controller that keeps a store of its own.
type informerController struct {
	*informerCore
	logger *klog.Logger
	// registration is the handler's; nil if there is none.
	registration kinglet.Registration

	// stop ends the run under way; guarded by informerCore.mu, nil before.
	stop context.CancelFunc
	// crash is the value that the handler panicked with, once it has.
	crash atomic.Pointer[any]
}

var _ Controller = (*informerController)(nil)

func newInformer(options InformerOptions) (*indexer, *informerController) {
	c := &informerController{
		informerCore: newCore([]ScopedListerWatcher{{ListerWatcher: options.ListerWatcher}}, options.ObjectType, coreOptions{
			indexers:        options.Indexers,
			minWatchTimeout: options.MinWatchTimeout,
			identifier:      options.Identifier,
			metrics:         options.InformerMetricsProvider,
		}),
		logger: options.Logger,
	}
	c.transform = options.Transform
	if options.Handler != nil {
		h := &handling{handler: options.Handler, name: handlerName(options.Handler), logger: ptr.Deref(options.Logger, klog.Background()), crashed: c.crashed}
		opts := h.options()
		opts.Resync = max(options.ResyncPeriod, 0)
		var err error
		if c.registration, err = c.informer.AddHandler(h, opts); err != nil {
			panic(fmt.Sprintf("BUG: informer of %s: its first handler: %v", c.description, err))
		}
	}
	return c.indexer, c
}

// Run is RunWithContext until stopCh is closed.
func (c *informerController) Run(stopCh <-chan struct{}) {
	c.RunWithContext(wait.ContextForChannel(stopCh))
}

// RunWithContext keeps the store equal to the source and calls the handler
// until ctx ends, and returns once everything that it started has ended. A
// second call is refused: it is logged and returns. If the handler panics, which
// is logged with handler and key, everything ends, and RunWithContext panics
// with the same value.
func (c *informerController) RunWithContext(ctx context.Context) {
	if c.logger != nil {
		ctx = klog.NewContext(ctx, *c.logger)
	}
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	if !c.begin(ctx, func() { c.stop = stop }) {
		return
	}
	c.run(ctx)
	if value := c.crash.Load(); value != nil {
		panic(*value)
	}
}

// crashed ends the run, and makes it panic with the handler's value. The
// handler's goroutine calls it, and does not call the handler again.
func (c *informerController) crashed(value any) {
	c.crash.Store(&value)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.stop()
}

// HasSynced reports whether the handler has returned from every object of the
// first list.
func (c *informerController) HasSynced() bool {
	select {
	case <-c.synced():
		return true
	default:
		saysNo(c.HasSyncedChecker)
		return false
	}
}

func (c *informerController) synced() <-chan struct{} {
	if c.registration != nil {
		return c.registration.Synced()
	}
	return c.informer.Synced()
}

// HasSyncedChecker returns HasSynced as a checker to wait for.
func (c *informerController) HasSyncedChecker() DoneChecker {
	return checker{name: fmt.Sprintf("Informer %T", c.example), done: c.synced(), status: c.Status}
}
