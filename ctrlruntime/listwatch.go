package ctrlruntime

import (
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"

	kingletcache "github.com/kinglet-go/kinglet/cache"
)

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
		if config.LabelSelector != nil {
			options.LabelSelector = config.LabelSelector.String()
		}
		if config.FieldSelector != nil {
			all := []string{config.FieldSelector.String(), options.FieldSelector}
			// A consistency check selects one object by its name.
			options.FieldSelector = strings.Join(slices.DeleteFunc(all, func(s string) bool { return s == "" }), ",")
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
