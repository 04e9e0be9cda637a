package ctrlruntime

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"

	kingletcache "github.com/kinglet-go/kinglet/cache"
)

// defaultSyncPeriod is controller-runtime's default.
const defaultSyncPeriod = 10 * time.Hour

// settings are cache.Options by kind.
type settings struct {
	cache.Options
	byKind map[schema.GroupVersionKind]cache.ByObject

	mu sync.Mutex
	// namespaces are set by SetNamespaces; guarded by mu.
	namespaces map[schema.GroupVersionKind]map[string]cache.Config
}

// entry returns the entry of ByObject for a kind, with the namespaces of SetNamespaces.
func (s *settings) entry(gvk schema.GroupVersionKind) (by cache.ByObject, named bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	by, named = s.byKind[gvk]
	if namespaces, ok := s.namespaces[gvk]; ok {
		by.Namespaces, named = namespaces, true
	}
	return by, named
}

// setNamespaces sets the namespaces of a kind, or with nil restores those of the
// options. It returns the ones that were set before.
func (s *settings) setNamespaces(gvk schema.GroupVersionKind, namespaces map[string]cache.Config) (before map[string]cache.Config) {
	s.mu.Lock()
	defer s.mu.Unlock()
	before = s.namespaces[gvk]
	if namespaces == nil {
		delete(s.namespaces, gvk)
		return before
	}
	if s.namespaces == nil {
		s.namespaces = make(map[schema.GroupVersionKind]map[string]cache.Config)
	}
	s.namespaces[gvk] = namespaces
	return before
}

// kindSettings are the settings of a kind.
type kindSettings struct {
	// namespaced is set if the kind is namespaced, restricted if namespaces were named
	// for it; then the cache does not know namespaces without settings.
	namespaced, restricted bool
	// configs are the settings by namespace, with metav1.NamespaceAll for the rest.
	// They are never changed. They are pointers so that a read does not allocate for
	// them.
	configs map[string]*cache.Config
	// ownTransform is set for a namespace whose Transform is not one of the cache's
	// options for the kind or for all kinds.
	ownTransform map[string]bool
}

// named returns a copy of cfg that names the program in its requests.
func named(cfg *rest.Config) *rest.Config {
	cfg = rest.CopyConfig(cfg)
	cfg.UserAgent = cmp.Or(cfg.UserAgent, rest.DefaultKubernetesUserAgent())
	return cfg
}

// newSettings fills in the defaults that a cache needs, and checks the options.
func newSettings(cfg *rest.Config, opts cache.Options) (*settings, error) {
	cfg = named(cfg)
	var err error
	if opts.HTTPClient == nil {
		if opts.HTTPClient, err = rest.HTTPClientFor(cfg); err != nil {
			return nil, fmt.Errorf("could not create HTTP client from config: %w", err)
		}
	}
	opts.Scheme = cmp.Or(opts.Scheme, scheme.Scheme)
	if opts.Mapper == nil {
		if opts.Mapper, err = apiutil.NewDynamicRESTMapper(cfg, opts.HTTPClient); err != nil {
			return nil, fmt.Errorf("could not create RESTMapper from config: %w", err)
		}
	}
	s := &settings{Options: opts, byKind: make(map[schema.GroupVersionKind]cache.ByObject, len(opts.ByObject))}
	s.DefaultNamespaces = maps.Clone(opts.DefaultNamespaces)
	var errs []error
	for obj, by := range opts.ByObject {
		gvk, err := apiutil.GVKForObject(obj, opts.Scheme)
		if err != nil {
			errs = append(errs, fmt.Errorf("failed to get GVK for type %T: %w", obj, err))
			continue
		}
		if _, twice := s.byKind[gvk]; twice {
			errs = append(errs, fmt.Errorf("two entries of ByObject are of kind %s", gvk))
		}
		by.Namespaces = maps.Clone(by.Namespaces)
		s.byKind[gvk] = by
		// A missing definition may appear before the kind is used.
		if _, err := s.namespaced(gvk); err != nil && !meta.IsNoMatchError(err) {
			errs = append(errs, fmt.Errorf("failed to determine if %T is namespaced: %w", obj, err))
		} else if err == nil {
			errs = append(errs, s.check(gvk))
		}
	}
	return s, errors.Join(errs...)
}

func (s *settings) namespaced(gvk schema.GroupVersionKind) (bool, error) {
	return apiutil.IsGVKNamespaced(gvk, s.Mapper)
}

// check returns an error if the ByObject entry of a kind does not fit the kind's scope.
func (s *settings) check(gvk schema.GroupVersionKind) error {
	namespaced, err := s.namespaced(gvk)
	if by, _ := s.entry(gvk); err == nil && !namespaced && by.Namespaces != nil {
		return fmt.Errorf("%s is not namespaced, but its ByObject.Namespaces setting is not nil", gvk)
	}
	return err
}

// of returns the settings of a kind that has a definition.
func (s *settings) of(gvk schema.GroupVersionKind) (k kindSettings, err error) {
	if err := s.check(gvk); err != nil {
		return k, err
	}
	if k.namespaced, err = s.namespaced(gvk); err != nil {
		return k, err
	}
	kind, named := s.entry(gvk)
	namespaces := kind.Namespaces
	if namespaces == nil {
		namespaces = s.DefaultNamespaces
	}
	own := cache.Config{
		LabelSelector:         kind.Label,
		FieldSelector:         kind.Field,
		Transform:             kind.Transform,
		UnsafeDisableDeepCopy: kind.UnsafeDisableDeepCopy,
		EnableWatchBookmarks:  kind.EnableWatchBookmarks,
		SyncPeriod:            kind.SyncPeriod,
	}
	defaults := cache.Config{
		LabelSelector:         s.DefaultLabelSelector,
		FieldSelector:         s.DefaultFieldSelector,
		Transform:             s.DefaultTransform,
		UnsafeDisableDeepCopy: s.DefaultUnsafeDisableDeepCopy,
		EnableWatchBookmarks:  s.DefaultEnableWatchBookmarks,
		SyncPeriod:            s.SyncPeriod,
	}
	if !k.namespaced || len(namespaces) == 0 {
		all := merged(own, defaults)
		k.configs = map[string]*cache.Config{metav1.NamespaceAll: &all}
		return k, nil
	}
	k.restricted = true
	k.configs, k.ownTransform = make(map[string]*cache.Config, len(namespaces)), make(map[string]bool)
	for ns, config := range namespaces {
		k.ownTransform[ns] = config.Transform != nil
		config = merged(config, own)
		if named {
			config = merged(config, s.DefaultNamespaces[ns])
		}
		config = merged(config, defaults)
		if ns == metav1.NamespaceAll {
			config.FieldSelector = butFor(namespaces, config.FieldSelector)
		}
		k.configs[ns] = &config
	}
	return k, nil
}

// merged returns c with its unset fields taken from defaults.
func merged(c, defaults cache.Config) cache.Config {
	if c.Transform == nil {
		c.Transform = defaults.Transform
	}
	c.LabelSelector = cmp.Or(c.LabelSelector, defaults.LabelSelector)
	c.FieldSelector = cmp.Or(c.FieldSelector, defaults.FieldSelector)
	c.UnsafeDisableDeepCopy = cmp.Or(c.UnsafeDisableDeepCopy, defaults.UnsafeDisableDeepCopy)
	c.EnableWatchBookmarks = cmp.Or(c.EnableWatchBookmarks, defaults.EnableWatchBookmarks)
	c.SyncPeriod = cmp.Or(c.SyncPeriod, defaults.SyncPeriod)
	return c
}

// butFor returns selector without the namespaces that are named.
func butFor(namespaces map[string]cache.Config, selector fields.Selector) fields.Selector {
	var all []fields.Selector
	for _, ns := range slices.Sorted(maps.Keys(namespaces)) {
		if ns != metav1.NamespaceAll {
			all = append(all, fields.OneTermNotEqualSelector("metadata.namespace", ns))
		}
	}
	if selector != nil {
		all = append(all, selector)
	}
	return fields.AndSelectors(all...)
}

// listWatches makes the ListerWatchers of one kind in one form.
type listWatches struct {
	client   rest.Interface
	gvk      schema.GroupVersionKind
	resource string
	form     form
}

func (c *Cache) listWatches(gvk schema.GroupVersionKind, f form) (*listWatches, error) {
	mapping, err := c.settings.Mapper.RESTMapping(gvk.GroupKind(), gvk.Version)
	if err != nil {
		return nil, err
	}
	l := &listWatches{gvk: gvk, form: f, resource: mapping.Resource.Resource}
	if f != metadataOnly {
		l.client, err = apiutil.RESTClientForGVK(gvk, f == untyped, f == untyped, c.config, c.codecs, c.settings.HTTPClient)
		return l, err
	}
	cfg := metadata.ConfigFor(c.config)
	gv := gvk.GroupVersion()
	cfg.GroupVersion, cfg.APIPath = &gv, "/apis"
	if gv.Group == "" {
		cfg.APIPath = "/api"
	}
	l.client, err = rest.RESTClientForConfigAndClient(cfg, c.settings.HTTPClient)
	return l, err
}

// of returns the ListerWatcher of a namespace with its settings.
func (l *listWatches) of(namespaced bool, namespace string, config cache.Config) kingletcache.ListerWatcher {
	if !namespaced {
		namespace = metav1.NamespaceAll
	} else if namespace == metav1.NamespaceAll {
		namespace = namespaceIn(config.FieldSelector)
	}
	bookmarks := config.EnableWatchBookmarks == nil || *config.EnableWatchBookmarks
	modify := func(options *metav1.ListOptions) {
		// A list of whole objects beside metadata selects more labels, and a consistency
		// check one object by its name.
		if config.LabelSelector != nil {
			options.LabelSelector = joined(config.LabelSelector.String(), options.LabelSelector)
		}
		if config.FieldSelector != nil {
			options.FieldSelector = joined(config.FieldSelector.String(), options.FieldSelector)
		}
		if !bookmarks {
			options.AllowWatchBookmarks = false
		}
	}
	var lw *kingletcache.ListWatch
	if l.form == metadataOnly {
		lw = kingletcache.NewMetadataListWatchFromClient(l.client, l.gvk, l.resource, namespace, modify)
	} else {
		lw = kingletcache.NewFilteredListWatchFromClient(l.client, l.resource, namespace, modify)
	}
	if !bookmarks {
		// The first part of a watch-list ends with a bookmark.
		return kingletcache.ToListWatcherWithWatchListSemantics(lw, noWatchList{})
	}
	return lw
}

// joined returns a selector of what all select.
func joined(selectors ...string) string {
	return strings.Join(slices.DeleteFunc(selectors, func(s string) bool { return s == "" }), ",")
}

// noWatchList is a client that refuses watch-lists, as client-go asks it.
type noWatchList struct{}

func (noWatchList) IsWatchListSemanticsUnSupported() bool { return true }

// namespaceIn returns the namespace that a selector limits objects to, if any. Requests
// are then for that namespace only, which needs fewer permissions.
func namespaceIn(selector fields.Selector) string {
	if selector == nil || selector.Empty() {
		return metav1.NamespaceAll
	}
	namespace, _ := selector.RequiresExactMatch("metadata.namespace")
	return namespace
}
