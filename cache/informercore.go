package cache

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"reflect"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/klog/v2"

	"github.com/kinglet-go/kinglet"
	"github.com/kinglet-go/kinglet/reflector"
	"github.com/kinglet-go/kinglet/source"
)

// informerCore is the common part of this package's informers: a kinglet informer, and
// what may be set until it starts.
type informerCore struct {
	coreOptions
	example  runtime.Object
	informer *kinglet.Informer[any]
	// demand is the informer's; nil if there is none, and held are the options of its sources.
	demand   *kinglet.OnDemand[any]
	held     source.Options
	indexer  *indexer
	reporter *reporter

	// changing is held while scopes are added or removed, and while sources are decided on
	// for the start. It is locked before mu.
	changing sync.Mutex

	mu sync.Mutex
	// The fields below are guarded by mu.

	// ctx is what the informer runs under; nil before.
	ctx context.Context
	// stopped: Run has returned.
	stopped bool
	// scopes are the informer's sources, by the IDs of their scopes. changing guards them
	// against changes as well.
	scopes     map[string]*lateSource
	transform  TransformFunc
	watchError WatchErrorHandlerWithContext
	// shell stands for the reflector in watch error handlers; set with ctx.
	shell *shell
}

// coreOptions are the settings that are known when an informerCore is made.
type coreOptions struct {
	// name is the reflector's; the caller's file and line if empty.
	name string
	// description names the type of the objects; that of the example if empty.
	description     string
	indexers        Indexers
	minWatchTimeout time.Duration
	// identifier is the name under which the informer has metrics, and metrics is their
	// provider.
	identifier InformerNameAndResource
	metrics    InformerMetricsProvider
	// onDemand is ScopedInformerOptions.OnDemand.
	onDemand *kinglet.OnDemandOptions[any]
	// sharing is ScopedInformerOptions.Sharing; one of the informer's own if nil.
	sharing *source.Sharing
	// scheme may be nil.
	scheme *runtime.Scheme
	// detection is kinglet.Options.MutationDetection, if not zero. onMutation may be nil.
	detection  kinglet.MutationDetection
	onMutation func(*kinglet.MutationError)
}

func newCore(scopes []ScopedListerWatcher, example runtime.Object, opts coreOptions) *informerCore {
	e := &informerCore{coreOptions: opts, example: example, reporter: newReporter()}
	if e.sharing == nil {
		e.sharing = source.OwnSharing()
	}
	if e.name == "" {
		e.name = callerName()
	}
	if e.description == "" {
		e.description = describeType(example)
	}
	timeout, _ := watchTimeouts(opts.minWatchTimeout)
	options := kinglet.Options[any]{
		Name:              e.description,
		KeyFunc:           informerKey,
		RememberKeys:      true,
		UID:               uidOf,
		Indexers:          storeIndexers(opts.indexers),
		OnError:           e.report,
		OnReadPath:        e.readBy,
		Logger:            slog.New(phaseLogger{e}),
		MinWatchTimeout:   timeout,
		DisableWatchList:  !watchListEnabled(),
		MutationDetection: opts.detection,
	}
	if opts.detection == (kinglet.MutationDetection{}) {
		options.MutationDetection.All = mutationDetectionWanted()
	}
	e.scopes = make(map[string]*lateSource, len(scopes))
	sources := func(held source.Options) (all []kinglet.ScopedSource[any]) {
		e.held = held
		for _, s := range scopes {
			late := e.lateScope(s)
			e.scopes[s.Scope.ID] = late
			all = append(all, late.in(s.Scope))
		}
		return all
	}
	var err error
	if opts.onDemand == nil {
		e.informer, err = kinglet.NewScoped(options, sources(source.Options{})...)
	} else {
		demand := *opts.onDemand
		demand.Options = options
		if e.demand, err = kinglet.NewScopedOnDemand(demand, sources); err == nil {
			e.informer = e.demand.Informer
		}
	}
	if err != nil {
		// The options above are valid whatever the caller passed.
		panic(fmt.Sprintf("BUG: informer of %s: %v", e.description, err))
	}
	e.indexer = newIndexerOver(e.informer.WritableStore(), DeletionHandlingMetaNamespaceKeyFunc, opts.indexers, e.report)
	// It tells those of its own writes that reads show by other indexes now.
	e.indexer.indexes = e.informer
	e.indexer.scopes = e.scopeIDs
	e.indexer.version = versionMetric(opts.identifier, opts.metrics)
	return e
}

// uidOf reads the UID of anything that has one.
func uidOf(obj any) types.UID {
	if m, err := meta.Accessor(obj); err == nil {
		return m.GetUID()
	}
	return ""
}

// begin decides on the sources, and calls settle under the same lock. It returns false if
// the informer was started before.
func (e *informerCore) begin(ctx context.Context, settle func()) bool {
	e.changing.Lock()
	defer e.changing.Unlock()
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.ctx != nil {
		klog.FromContext(ctx).Info("Warning: the informer has been started before, and runs only once", "type", e.description)
		return false
	}
	e.ctx = ctx
	e.shell = newShell(e.name, e.description, e.LastSyncResourceVersion)
	for _, late := range e.scopes {
		e.decideLocked(late)
	}
	settle()
	return true
}

// decideLocked decides on the source of late. Without a transform of its own, late has
// that of SetTransform.
func (e *informerCore) decideLocked(late *lateSource) {
	transform := late.transform
	if transform == nil {
		transform = e.transform
	}
	items, err := e.source(late)
	if err != nil {
		late.decide(nil, false, err)
		return
	}
	items.counts, items.meter = e.meters()
	late.reduce = reducing(items.Traits().Reduce, e.example)
	late.decide(mapped(items, transform), transform != nil, nil)
	if late.whole == nil {
		return
	}
	whole, err := e.source(late.whole)
	if err != nil {
		late.whole.decide(nil, false, err)
		return
	}
	late.whole.decide(mapped(whole.Source, transform), transform != nil, nil)
}

func (e *informerCore) source(late *lateSource) (*itemSource, error) {
	opts := late.fields
	opts.Name, opts.Sharing, opts.Scheme = e.description, e.sharing, e.scheme
	return newSource(late.lw, e.example, opts)
}

// reducing returns reduce as a Traits.Reduce of what a transform made of the objects, all of
// the example's type. It may be nil.
func reducing(reduce func(any) (any, error), example runtime.Object) func(any) (any, error) {
	if reduce == nil {
		return nil
	}
	return func(obj any) (any, error) {
		if of := reflect.TypeOf(example); reflect.TypeOf(obj) != of {
			return nil, fmt.Errorf("the transform returned a %T, which cannot be made metadata as a %v can", obj, of)
		}
		return reduce(obj)
	}
}

// mapped returns a source whose objects go through a transform, which may be nil.
func mapped(src source.Source[any], transform TransformFunc) source.Source[any] {
	if transform == nil {
		return src
	}
	return source.Map(src, transformed(transform))
}

// meters returns what counts a source's calls in the informer's metrics, nil if it has none.
func (e *informerCore) meters() (*reflectorMetrics, *meter) {
	counts := newReflectorMetrics(e.name)
	if counts == nil && !e.identifier.Reserved() {
		return nil, nil
	}
	return counts, &meter{
		queue:   newQueueMetrics(e.identifier, e.metrics),
		version: e.LastSyncResourceVersion,
		moved: func(version string) {
			counts.moved(version)
			e.indexer.saw(version)
		},
	}
}

// run keeps the store equal to the source until ctx ends. begin must have been called.
func (e *informerCore) run(ctx context.Context) {
	defer func() {
		e.mu.Lock()
		defer e.mu.Unlock()
		e.stopped = true
	}()
	defer e.reporter.wait()
	defer allRunning.Observe(e)()
	if err := e.informer.Run(ctx); err != nil {
		e.report(err)
	}
}

// state returns the fields that are guarded by mu and read often.
func (e *informerCore) state() (ctx context.Context, sh *shell, handler WatchErrorHandlerWithContext) {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.ctx, e.shell, e.watchError
}

// report handles errors inside the informer. Errors of its lists and watches go to the
// watch error handler, those of which client-go tells it; all others are logged.
func (e *informerCore) report(err error) {
	ctx, sh, handler := e.state()
	if ctx == nil {
		ctx = context.Background()
	}
	_, ok := errors.AsType[*reflector.Error](err)
	message, at := kept(err)
	switch {
	case message != "":
		e.reporter.report(func() { klog.FromContext(ctx).V(at).Info(message, "type", e.description, "err", err) })
	case ok && handler != nil:
		sh.handle(ctx, nil, handler, watchError(e.name, e.description, err))
	case ok:
		e.reporter.report(func() { sh.handle(ctx, nil, nil, watchError(e.name, e.description, err)) })
	default:
		if mutated, ok := errors.AsType[*kinglet.MutationError](err); ok {
			if e.onMutation == nil {
				// Setting the environment variable for it means that a run that meets
				// this must fail.
				panic(mutated)
			}
			e.reporter.report(func() { e.onMutation(mutated) })
			return
		}
		e.reporter.report(func() {
			utilruntime.HandleErrorWithContext(ctx, err, "Informer", "type", e.description)
		})
	}
}

// readBy logs a change of how objects are read.
func (e *informerCore) readBy(before, now kinglet.ReadPath) {
	ctx, _, _ := e.state()
	if ctx == nil {
		ctx = context.Background()
	}
	logReadPath(klog.FromContext(ctx), e.description, before, now)
}

// LastSyncResourceVersion returns the version of the source that the store has reached,
// empty before the first list. Writes of the program to the store move the store's own
// version, LastStoreSyncResourceVersion, but not this one.
func (e *informerCore) LastSyncResourceVersion() string {
	return e.informer.Status().ResourceVersion
}

// Status implements Observable.
func (e *informerCore) Status() kinglet.Status { return e.informer.Status() }

// Quarantined implements Observable.
func (e *informerCore) Quarantined() []kinglet.Quarantined { return e.informer.Quarantined() }

// CheckConsistency implements Observable.
func (e *informerCore) CheckConsistency(ctx context.Context) (kinglet.ConsistencyReport, error) {
	return e.informer.CheckConsistency(ctx)
}
