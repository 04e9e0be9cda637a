package ctrlruntime

import (
	"context"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	toolscache "k8s.io/client-go/tools/cache"
	logf "sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/kinglet-go/kinglet"
	kingletcache "github.com/kinglet-go/kinglet/cache"
)

// optional reports whether nothing is to wait for a kind if the server refuses it.
func (c *Cache) optional(gvk schema.GroupVersionKind) bool {
	return c.options.Required != nil && !slices.Contains(c.options.Required, gvk)
}

// refuses reports whether a list error will persist until somebody changes the cluster:
// the kind is not allowed, or does not exist.
func refuses(err error) bool {
	return meta.IsNoMatchError(err) || apierrors.IsForbidden(err) || apierrors.IsNotFound(err) || apierrors.IsMethodNotSupported(err)
}

// expected returns a function that selects failures to be logged less often: refusals
// of an optional kind. It is nil if there are none.
func (h *holding) expected() func(error) bool {
	if !h.optional {
		return nil
	}
	return refuses
}

// watchErrorHandler returns the handler for the failures of a holding's lists and
// watches; nil for client-go's default.
func (c *Cache) watchErrorHandler(h *holding) toolscache.WatchErrorHandlerWithContext {
	handler := c.settings.DefaultWatchErrorHandler
	if !h.optional {
		return handler
	}
	return func(ctx context.Context, r *toolscache.Reflector, err error) {
		refused := refuses(err)
		if refused {
			h.refuse(err)
		}
		switch {
		case handler != nil:
			handler(ctx, r, err)
		case !refused:
			toolscache.DefaultWatchErrorHandler(ctx, r, err)
		}
	}
}

// refuse records that the server refuses the kind, and logs it once.
func (h *holding) refuse(err error) {
	h.refusal.Do(func() {
		close(h.refused)
		if h.informer.HasSynced() {
			return // nobody waits for it
		}
		logf.Log.WithName("kinglet").Info("The server refuses a kind that is not in ctrlruntime.Options.Required; nothing waits for it until it can be listed",
			"kind", describe(h.gvk, h.form), "error", err.Error())
	})
}

// waitUnlessRefused is wait, but returns nil once the server has refused an optional
// kind.
func (k *kind) waitUnlessRefused(ctx context.Context) error {
	if !k.optional {
		return k.wait(ctx)
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	done := make(chan error, 1)
	go func() { done <- k.wait(ctx) }()
	select {
	case err := <-done:
		return err
	case <-k.refused:
		cancel()
		<-done
		return nil
	}
}

// optionalRegistration is a handler of a kind that nothing waits for once it is
// refused.
type optionalRegistration struct {
	toolscache.ResourceEventHandlerRegistration
	holding *holding
}

// HasSynced reports whether the handler has received the initial list, or the server
// has refused the kind.
func (r *optionalRegistration) HasSynced() bool {
	select {
	case <-r.holding.refused:
		return true
	default:
		return r.ResourceEventHandlerRegistration.HasSynced()
	}
}

// HasSyncedChecker returns a DoneChecker for HasSynced.
func (r *optionalRegistration) HasSyncedChecker() toolscache.DoneChecker {
	inner, done := r.ResourceEventHandlerRegistration.HasSyncedChecker(), make(chan struct{})
	go func() {
		select {
		case <-inner.Done():
		case <-r.holding.refused:
		case <-r.holding.ended:
			return
		}
		close(done)
	}()
	return optionalChecker{inner.Name(), done}
}

// ShutdownChan is closed once the handler has returned for the last time: see
// kinglet's cache.ShutDownEventHandler.
func (r *optionalRegistration) ShutdownChan() <-chan struct{} {
	return r.ResourceEventHandlerRegistration.(interface{ ShutdownChan() <-chan struct{} }).ShutdownChan()
}

type optionalChecker struct {
	name string
	done chan struct{}
}

func (c optionalChecker) Name() string          { return c.name }
func (c optionalChecker) Done() <-chan struct{} { return c.done }

// definitionScope is the scope ID of a source that waits for a kind's definition.
const definitionScope = "definition"

// undefinedSpaces returns the spaces of a kind without a definition. Their only source
// lists nothing: it fails, with the backoff of lists, until the definition exists.
func (c *Cache) undefinedSpaces(h *holding, missing error) *spaces {
	list := func(ctx context.Context, _ metav1.ListOptions) (runtime.Object, error) {
		if _, err := c.settings.of(h.gvk); err != nil {
			return nil, err
		}
		// define replaces this source, and waits for it to end.
		h.defining.Do(func() { c.running.Go(func() { c.define(h) }) })
		<-ctx.Done()
		return nil, ctx.Err()
	}
	return &spaces{
		undefined: missing, replaced: make(chan struct{}), applied: make(chan struct{}),
		scopes: map[string]kingletcache.ScopedListerWatcher{definitionScope: {
			Scope:         kinglet.Scope{ID: definitionScope, Contains: func(kinglet.Key) bool { return false }},
			ListerWatcher: kingletcache.ToListWatcherWithWatchListSemantics(&kingletcache.ListWatch{ListWithContextFunc: list}, noWatchList{}),
		}},
	}
}

// define gives a holding the sources of its settings, once its kind has a definition.
func (c *Cache) define(h *holding) {
	if c.takeTurn(c.ctx) != nil {
		return
	}
	defer c.endTurn()
	next, err := c.newSpaces(h, nil)
	if err == nil {
		err = c.record(h)
	}
	if err == nil {
		err = h.change(next)
	}
	if err != nil && c.ctx.Err() == nil && !h.informer.IsStopped() {
		logf.Log.WithName("kinglet").Error(err, "A kind that has a definition now cannot be listed", "kind", describe(h.gvk, h.form))
	}
}

// record is recordLocked, unless the holding has ended.
func (c *Cache) record(h *holding) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if h.kinds == 0 {
		return nil
	}
	return c.recordLocked(h)
}
