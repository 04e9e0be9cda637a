package ctrlruntime

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync/atomic"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"

	"github.com/kinglet-go/kinglet"
	kingletcache "github.com/kinglet-go/kinglet/cache"
	"github.com/kinglet-go/kinglet/reflector"
)

// SetNamespaces sets the namespaces of which a cache holds the objects of obj's kind,
// in all of its forms. It may be called before Start, while the cache runs, and before
// the kind has an informer. Its effect is that of the same namespaces in
// cache.Options.ByObject: what a cache.Config leaves open comes from there, and
// metav1.NamespaceAll stands for all namespaces that are not named. It also applies to
// informers that are made later. Informers, their handlers and their indexes stay.
//
// A new namespace is listed and watched; until it has been listed, reads of it block,
// as they do after Start. The objects of a namespace that is gone are deleted for
// handlers, in a DeletedFinalStateUnknown, and reads of it fail like those of a
// namespace that was never named; both have happened when SetNamespaces returns. A
// namespace whose selectors, Transform or EnableWatchBookmarks change is listed again,
// and handlers receive the difference. The others cause no request. The entry of
// metav1.NamespaceAll excludes the named namespaces by its field selector, so it is
// listed again whenever the names change. The informer keeps its SyncPeriod.
//
// Functions cannot be compared: each call lists a namespace again whose Config has a
// Transform. One that the Config leaves to the options stays the same.
//
// SetNamespaces blocks while another call is under way, until ctx ends, and then until
// the requests for removed namespaces have ended; it does not wait for lists. If the
// error is about obj or namespaces, which must not be empty, nothing has changed;
// otherwise it wraps kinglet.ErrStopped. It is a *ForeignCacheError for a cache of
// another package.
func SetNamespaces(ctx context.Context, c cache.Cache, obj client.Object, namespaces map[string]cache.Config) error {
	ours, ok := c.(*Cache)
	if !ok {
		return &ForeignCacheError{Cache: c}
	}
	gvk, err := apiutil.GVKForObject(obj, ours.settings.Scheme)
	if err != nil {
		return fmt.Errorf("namespaces of a %T: %w", obj, err)
	}
	if err := ours.setNamespaces(ctx, gvk, namespaces); err != nil {
		return fmt.Errorf("namespaces of %s: %w", gvk, err)
	}
	return nil
}

func (c *Cache) setNamespaces(ctx context.Context, gvk schema.GroupVersionKind, namespaces map[string]cache.Config) error {
	if len(namespaces) == 0 {
		return errors.New("none are named: name metav1.NamespaceAll to hold all of them, or remove the informer to hold nothing")
	}
	namespaced, err := c.settings.namespaced(gvk)
	if err != nil && !meta.IsNoMatchError(err) {
		return err
	}
	if err == nil && !namespaced {
		return errors.New("the kind is not namespaced")
	}
	select {
	case c.turn <- struct{}{}:
		defer func() { <-c.turn }()
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	before := c.settings.setNamespaces(gvk, maps.Clone(namespaces))
	changes, err := c.nextNamespaceSets(gvk)
	if err != nil {
		c.settings.setNamespaces(gvk, before)
		c.storagesOf(gvk) // storages that were made with the refused settings are made again
		return err
	}
	var errs []error
	for h, next := range changes {
		if err := h.change(next); !c.unused(h) {
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}

// nextNamespaceSets makes the next namespaces of a kind's storages from its settings. A storage
// that is being made at that moment has to be made again.
func (c *Cache) nextNamespaceSets(gvk schema.GroupVersionKind) (map[*storage]*namespaceSet, error) {
	changes := map[*storage]*namespaceSet{}
	for _, h := range c.storagesOf(gvk) {
		before := h.now.Load()
		next, err := c.newNamespaceSet(h, before)
		if err != nil {
			return nil, err
		}
		if h.shown() && next.transformed() && !h.lean.hides() {
			return nil, errShown
		}
		changes[h] = next
	}
	return changes, nil
}

// storagesOf returns the storages of a kind. Those that are being made at that moment
// have to be made again.
func (c *Cache) storagesOf(gvk schema.GroupVersionKind) (all []*storage) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.generations[gvk]++
	seen := map[*storage]bool{}
	for _, kinds := range c.kinds {
		if k := kinds[gvk]; k != nil && !seen[k.storage] {
			seen[k.storage] = true
			k.generation = c.generations[gvk]
			all = append(all, k.storage)
		}
	}
	return all
}

// metadataOf reports whether a storage is shown as metadata.
func (c *Cache) metadataOf(h *storage) bool {
	c.mu.RLock()
	defer c.mu.RUnlock()
	m := c.kinds[metadataOnly][h.gvk]
	return m != nil && m.storage == h
}

// unused reports whether a storage has ended because no kind reads it any more.
func (c *Cache) unused(h *storage) bool {
	c.mu.RLock()
	defer c.mu.RUnlock()
	return h.kinds == 0
}

// change gives the informer other scopes. Reads use the next namespaces from the start, so
// that they never look for what the informer no longer holds.
func (h *storage) change(next *namespaceSet) error {
	before := h.now.Swap(next)
	close(before.replaced)
	err := h.informer.SetScopes(next.inOrder()...)
	h.setListed(next)
	return err
}

// keeps returns the source of a namespace if it is the same in the next namespaces.
func (s *namespaceSet) keeps(ns string, next *namespaceSet) (had kingletcache.ScopedListerWatcher, ok bool) {
	if s == nil {
		return had, false
	}
	config, was := s.configs[ns]
	if !was || !sameRequests(config, next.configs[ns]) {
		return had, false
	}
	if s.ownTransform[ns] || next.ownTransform[ns] {
		return had, false // functions cannot be compared
	}
	named := func(a, b *cache.Config) bool { return true }
	if ns == metav1.NamespaceAll && !maps.EqualFunc(s.configs, next.configs, named) {
		return had, false
	}
	return s.scopes[ns], true
}

// sameRequests reports whether two settings request the same objects.
func sameRequests(a, b *cache.Config) bool {
	selector := func(s fmt.Stringer) string {
		if s == nil {
			return ""
		}
		return s.String()
	}
	bookmarks := func(c *cache.Config) bool { return c.EnableWatchBookmarks == nil || *c.EnableWatchBookmarks }
	return selector(a.LabelSelector) == selector(b.LabelSelector) && selector(a.FieldSelector) == selector(b.FieldSelector) &&
		bookmarks(a) == bookmarks(b)
}

// namespaceSet has the namespaces of a storage at one time, with their settings. They are not
// changed, but replaced.
type namespaceSet struct {
	kindSettings
	// scopes are the informer's scopes, by namespace.
	scopes map[string]kingletcache.ScopedListerWatcher
	// kept are the channels of listed that are taken over from the previous namespaces.
	kept map[string]<-chan struct{}
	// applied is closed when the informer has the scopes, and listed is set. A channel
	// of listed is closed when the objects of its namespace have been listed.
	applied chan struct{}
	listed  map[string]<-chan struct{}
	// replaced is closed when there are other namespaces.
	replaced chan struct{}
	// all is set once everything has been listed.
	all atomic.Bool
}

// settings returns the settings of a namespace. known is false if its objects are not
// held.
func (s *namespaceSet) settings(ns string) (id string, config *cache.Config, known bool) {
	if config, ok := s.configs[ns]; ok {
		return ns, config, true
	}
	if config, ok := s.configs[metav1.NamespaceAll]; ok {
		return metav1.NamespaceAll, config, true
	}
	return "", nil, false
}

// scope returns the part of the store that the settings under ns apply to.
func (s *namespaceSet) scope(ns string) kinglet.Scope {
	if ns != metav1.NamespaceAll {
		return kinglet.NamespaceScope(ns)
	}
	if len(s.configs) == 1 {
		return kinglet.Scope{}
	}
	configs := s.configs
	return kinglet.Scope{Contains: func(key kinglet.Key) bool {
		_, named := configs[key.Namespace]
		return !named || key.Namespace == metav1.NamespaceAll
	}}
}

// inOrder returns the scopes in the order of their IDs.
func (s *namespaceSet) inOrder() []kingletcache.ScopedListerWatcher {
	var scopes []kingletcache.ScopedListerWatcher
	for _, id := range slices.Sorted(maps.Keys(s.scopes)) {
		scopes = append(scopes, s.scopes[id])
	}
	return scopes
}

// errReplaced means that the namespaces that a read waited for have been replaced.
var errReplaced = errors.New("the namespaces of the kind have changed")

// UnlistableError reports a read of a kind that the server does not list: for half a
// second or more it has answered all lists with 404 or 405. A reader that waited for the
// list would wait for ever.
type UnlistableError struct {
	// Kind is what was to be read, and Resource what was to be listed for it.
	Kind     schema.GroupVersionKind
	Resource schema.GroupVersionResource
	// Err is the server's last answer. It is not unwrapped: a NotFound for the resource
	// says nothing about an object.
	Err error
}

// Error implements error.
func (e *UnlistableError) Error() string {
	return fmt.Sprintf("%s cannot be read from a cache, because the server does not list %s: %v (read it live: by the manager's API reader, or with the kind in client.CacheOptions.DisableFor)",
		e.Kind, e.Resource.GroupResource(), e.Err)
}

// listedIn blocks until the objects of a namespace have been listed or, with
// metav1.NamespaceAll, those of all namespaces. The error is errReplaced if the namespaces
// are replaced meanwhile. For a read, it is a *UnlistableError if the server does not
// list the kind.
func (h *storage) listedIn(ctx context.Context, s *namespaceSet, ns string, forRead bool) error {
	if s.all.Load() {
		return nil
	}
	if id, _, known := s.settings(ns); known && ns != metav1.NamespaceAll {
		return h.listedUnder(ctx, s, id, forRead)
	}
	for id := range s.configs {
		if err := h.listedUnder(ctx, s, id, forRead); err != nil {
			return err
		}
	}
	s.all.Store(true)
	return nil
}

// listedUnder blocks until the scope of an ID has been listed.
func (h *storage) listedUnder(ctx context.Context, s *namespaceSet, id string, forRead bool) error {
	listed, kept := s.kept[id]
	if !kept {
		if err := h.await(ctx, s, id, s.applied, forRead); err != nil {
			return err
		}
		listed = s.listed[id]
	}
	return h.await(ctx, s, id, listed, forRead)
}

// lookEvery is how often a read that waits looks whether the server refuses the list.
const lookEvery = 100 * time.Millisecond

func (h *storage) await(ctx context.Context, s *namespaceSet, id string, done <-chan struct{}, forRead bool) error {
	select {
	case <-done:
		return nil
	default:
	}
	var reason error
	var look <-chan time.Time
	var seen refusals
	if forRead {
		look, reason = time.Tick(lookEvery), h.refused(id, &seen)
	}
	for reason == nil {
		select {
		case <-done:
			return nil
		case <-s.replaced:
			reason = errReplaced
		case <-h.ended:
			reason = kinglet.ErrStopped
		case <-ctx.Done():
			reason = context.Cause(ctx)
		case <-look:
			reason = h.refused(id, &seen)
		}
	}
	select {
	case <-done: // done counts if several have happened
		return nil
	default:
	}
	if _, refused := reason.(*UnlistableError); refused || reason == errReplaced {
		return reason
	}
	failed := h.unlisted(reason)
	if one, ok := h.informer.Kinglet().SourceStatus(id); ok {
		failed.Phase, failed.LastError = one.Phase, one.LastError
	}
	return failed
}

// refusedFor is how long a server has to refuse all lists: less than the reflector waits
// after a failure, 800 ms, so that the lists before and after such a wait are enough.
const refusedFor = time.Second / 2

// refusals is what a read that waits has seen: since when all lists were refused, and how
// often something else had failed before.
type refusals struct {
	since  time.Time
	others uint64
}

// refused returns a *UnlistableError if the server has refused every list of a scope for
// refusedFor, and nil otherwise. A shorter time may be a moment in which the server does not
// know a definition, and a 403 may be followed by a grant.
func (h *storage) refused(id string, seen *refusals) error {
	st, ok := h.informer.Kinglet().SourceStatus(id)
	if !ok {
		st = h.informer.Kinglet().Status().Status
	}
	if !apierrors.IsNotFound(st.LastError) && !apierrors.IsMethodNotSupported(st.LastError) {
		return nil
	}
	others := st.Errors
	for _, of := range st.ErrorsBy {
		others -= of[reflector.Code400] + of[reflector.Code404] // a 405 counts as 400
	}
	switch {
	case others != seen.others:
		*seen = refusals{st.LastErrorTime, others}
	case others == 0:
		seen.since = st.FailingSince
	}
	if st.LastErrorTime.Sub(seen.since) < refusedFor {
		return nil
	}
	err := st.LastError
	if failed, ok := errors.AsType[*reflector.Error](err); ok {
		err = failed.Err
	}
	return &UnlistableError{Kind: h.gvk, Resource: h.gvk.GroupVersion().WithResource(h.lists.Load().resource), Err: err}
}

// unlisted returns the error of a wait that ended before a list did.
func (h *storage) unlisted(reason error) *kinglet.NotSyncedError {
	st := h.informer.Status()
	return &kinglet.NotSyncedError{Name: st.Name, Phase: st.Phase, LastError: st.LastError, Err: reason}
}
