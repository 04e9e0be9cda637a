package cache

import (
	"context"
	"errors"
	"reflect"
	goruntime "runtime"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/rest"
	kc "k8s.io/client-go/tools/cache"
	"k8s.io/client-go/util/watchlist"

	"github.com/kinglet-go/kinglet/source"
)

// ListWatch is a ListerWatcher made of functions. One function to list and one
// to watch are enough; where both variants are set, a call uses the one of its
// own kind. Its methods are as safe for concurrent use as its functions.
//
// Informers and reflectors of this package read the answers to a ListWatch from
// NewListWatchFromClient or NewFilteredListWatchFromClient from the wire: its functions
// use a copy of the client, see source.WrapClient. A function that replaces one of them
// and calls it gets the objects, decoded by the client.
type ListWatch struct {
	// ListFunc and WatchFunc take no context, so what they began may outlive its
	// caller. Prefer the ones with a context.
	ListFunc  ListFunc
	WatchFunc WatchFunc

	ListWithContextFunc  ListWithContextFunc
	WatchFuncWithContext WatchFuncWithContext

	// DisableChunking asks for lists in one piece: reflectors and informers of this
	// package list without a limit through such a ListWatch.
	DisableChunking bool

	// made is what the constructor made the functions for; nil without a constructor.
	made *collection
}

var (
	_ ListerWatcher            = (*ListWatch)(nil)
	_ ListerWatcherWithContext = (*ListWatch)(nil)
)

// errNoFunction is returned by a ListWatch that has no function for a call.
var errNoFunction = errors.New("the ListWatch has no function for it")

// NewListWatchFromClient returns a ListWatch of one resource of c, in one
// namespace or, if that is empty, all of them, limited to what fieldSelector
// selects; nil selects everything.
func NewListWatchFromClient(c Getter, resource string, namespace string, fieldSelector fields.Selector) *ListWatch {
	selector := ""
	if fieldSelector != nil {
		selector = fieldSelector.String()
	}
	return NewFilteredListWatchFromClient(c, resource, namespace, func(options *metav1.ListOptions) {
		options.FieldSelector = selector
	})
}

// NewFilteredListWatchFromClient returns a ListWatch of one resource of c, in one
// namespace or, if that is empty, all of them. optionsModifier, if not nil, is
// applied last to the options of every request; it must be safe for concurrent use.
func NewFilteredListWatchFromClient(c Getter, resource string, namespace string, optionsModifier func(options *metav1.ListOptions)) *ListWatch {
	return listWatchOf(newCollection(c, resource, namespace, optionsModifier))
}

// NewMetadataListWatchFromClient is NewFilteredListWatchFromClient for metadata
// alone: it lists *metav1.PartialObjectMetadata of kind gvk. The client's
// configuration must be metadata.ConfigFor with the group and version of the
// resource. Its informers need an example that has the kind.
func NewMetadataListWatchFromClient(c Getter, gvk schema.GroupVersionKind, resource string, namespace string, optionsModifier func(options *metav1.ListOptions)) *ListWatch {
	made := newCollection(c, resource, namespace, optionsModifier)
	made.metadata = gvk
	return listWatchOf(made)
}

func listWatchOf(made *collection) *ListWatch {
	return &ListWatch{
		ListFunc: func(options metav1.ListOptions) (runtime.Object, error) {
			return made.list(context.Background(), options)
		},
		WatchFunc: func(options metav1.ListOptions) (watch.Interface, error) {
			return made.watch(context.Background(), options)
		},
		ListWithContextFunc:  made.list,
		WatchFuncWithContext: made.watch,
		made:                 made,
	}
}

// List lists once. It blocks until the server has answered.
func (lw *ListWatch) List(options metav1.ListOptions) (runtime.Object, error) {
	switch {
	case lw.ListFunc != nil:
		return lw.ListFunc(options)
	case lw.ListWithContextFunc != nil:
		return lw.ListWithContextFunc(context.Background(), options)
	}
	return nil, errNoFunction
}

// ListWithContext is List, but ends with ctx if the function honours it.
func (lw *ListWatch) ListWithContext(ctx context.Context, options metav1.ListOptions) (runtime.Object, error) {
	switch {
	case lw.ListWithContextFunc != nil:
		return lw.ListWithContextFunc(lw.from(ctx), options)
	case lw.ListFunc != nil:
		return lw.ListFunc(options)
	}
	return nil, errNoFunction
}

// Watch begins a watch, and blocks until the server has answered. The caller must
// stop the watch.
func (lw *ListWatch) Watch(options metav1.ListOptions) (watch.Interface, error) {
	switch {
	case lw.WatchFunc != nil:
		return lw.WatchFunc(options)
	case lw.WatchFuncWithContext != nil:
		return lw.WatchFuncWithContext(context.Background(), options)
	}
	return nil, errNoFunction
}

// WatchWithContext is Watch, but the watch ends with ctx if the function honours it.
func (lw *ListWatch) WatchWithContext(ctx context.Context, options metav1.ListOptions) (watch.Interface, error) {
	switch {
	case lw.WatchFuncWithContext != nil:
		return lw.WatchFuncWithContext(lw.from(ctx), options)
	case lw.WatchFunc != nil:
		return lw.WatchFunc(options)
	}
	return nil, errNoFunction
}

// ToListerWithContext returns l itself if it takes a context, else a Lister
// that ignores the context.
func ToListerWithContext(l Lister) ListerWithContext { return kc.ToListerWithContext(l) }

// ToWatcherWithContext returns w itself if it takes a context, else a Watcher
// that ignores the context.
func ToWatcherWithContext(w Watcher) WatcherWithContext { return kc.ToWatcherWithContext(w) }

// ToListerWatcherWithContext returns lw itself if it takes a context for both,
// else one that uses the context where lw does.
func ToListerWatcherWithContext(lw ListerWatcher) ListerWatcherWithContext {
	return kc.ToListerWatcherWithContext(lw)
}

// ToListWatcherWithWatchListSemantics returns lw together with what client
// reports about itself: a client that never answers a watch-list (KEP-3157),
// such as a fake client, is not asked for one.
func ToListWatcherWithWatchListSemantics(lw *ListWatch, client any) ListerWatcher {
	return &clientListWatch{ListWatch: lw, noWatchList: watchlist.DoesClientNotSupportWatchListSemantics(client)}
}

// clientListWatch is a ListWatch that knows whether its client supports
// watch-lists.
type clientListWatch struct {
	*ListWatch
	noWatchList bool
}

// IsWatchListSemanticsUnSupported is client-go's name for it.
func (lw *clientListWatch) IsWatchListSemanticsUnSupported() bool { return lw.noWatchList }

// collection is one resource of a REST client: what a ListWatch from a client lists
// and watches.
type collection struct {
	client    Getter
	wire      Getter // client, or its copy whose answers an Interceptor reads
	resource  string
	namespace string                    // empty for all of them
	modify    func(*metav1.ListOptions) // may be nil
	// metadata is the kind of the objects if only their metadata is asked for.
	metadata schema.GroupVersionKind
}

// The headers of requests for metadata alone.
const (
	acceptMetadataList = "application/vnd.kubernetes.protobuf;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1," +
		"application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1,application/json"
	acceptMetadata = "application/vnd.kubernetes.protobuf;as=PartialObjectMetadata;g=meta.k8s.io;v=v1," +
		"application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1,application/json"
)

// newCollection returns a collection. A fake clientset returns a nil pointer for a
// client.
func newCollection(client Getter, resource, namespace string, modify func(*metav1.ListOptions)) *collection {
	made := &collection{client: client, wire: client, resource: resource, namespace: namespace, modify: modify}
	if c, ok := client.(*rest.RESTClient); ok && c != nil {
		made.wire = source.WrapClient(c)
	}
	return made
}

// groupVersionResource returns the resource that is listed; empty if the client
// does not report its group and version.
func (c *collection) groupVersionResource() schema.GroupVersionResource {
	client, ok := c.client.(rest.Interface)
	if v := reflect.ValueOf(c.client); !ok || v.Kind() == reflect.Pointer && v.IsNil() {
		return schema.GroupVersionResource{}
	}
	return client.APIVersion().WithResource(c.resource)
}

// forSource is the key of the ListWatch that a source asks, in the context of its calls.
type forSource struct{}

// from returns ctx without the ListWatch that a source asks if that is not lw: then another
// ListerWatcher called lw.
func (lw *ListWatch) from(ctx context.Context) context.Context {
	if asked, _ := ctx.Value(forSource{}).(*ListWatch); asked == nil || asked == lw {
		return ctx
	}
	return context.WithValue(ctx, forSource{}, (*ListWatch)(nil))
}

// request returns a request for list or watch, which calls it. The wire may be read only if
// a source asks the ListWatch itself: a function that replaces list or watch and calls the
// original may look at the objects, and so may a ListerWatcher that wraps this one.
func (c *collection) request(ctx context.Context, options *metav1.ListOptions) *rest.Request {
	if c.modify != nil {
		c.modify(options)
	}
	client := c.client
	if asked, _ := ctx.Value(forSource{}).(*ListWatch); asked != nil && strings.HasPrefix(callerOf(2), listWatchMethods) {
		client = c.wire
	}
	return client.Get().
		Namespace(c.namespace).
		Resource(c.resource).
		VersionedParams(options, metav1.ParameterCodec)
}

// listWatchMethods begins the names of a ListWatch's methods.
var listWatchMethods = reflect.TypeFor[ListWatch]().PkgPath() + ".(*ListWatch)."

// callerOf returns the name of the function that called the one that is skip above its
// own caller.
func callerOf(skip int) string {
	var pcs [8]uintptr
	frames := goruntime.CallersFrames(pcs[:goruntime.Callers(skip+1, pcs[:])])
	frames.Next()
	caller, _ := frames.Next()
	return caller.Function
}

func (c *collection) list(ctx context.Context, options metav1.ListOptions) (runtime.Object, error) {
	req := c.request(ctx, &options)
	if c.metadata.Empty() {
		list, err := req.Do(ctx).Get()
		if u, ok := list.(*unstructured.Unstructured); ok && u.IsList() {
			err = nameKinds(u)
		}
		return list, err
	}
	list := &metav1.PartialObjectMetadataList{}
	if err := req.SetHeader("Accept", acceptMetadataList).Do(ctx).Into(list); err != nil {
		return nil, err
	}
	for i := range list.Items {
		list.Items[i].SetGroupVersionKind(c.metadata)
	}
	return list, nil
}

// nameKinds gives the items of a list the kind that servers write once, in the list.
func nameKinds(list *unstructured.Unstructured) error {
	gvk := list.GroupVersionKind()
	gvk.Kind = strings.TrimSuffix(gvk.Kind, "List")
	return list.EachListItem(func(obj runtime.Object) error {
		if obj.GetObjectKind().GroupVersionKind().Kind == "" {
			obj.GetObjectKind().SetGroupVersionKind(gvk)
		}
		return nil
	})
}

func (c *collection) watch(ctx context.Context, options metav1.ListOptions) (watch.Interface, error) {
	options.Watch = true
	req := c.request(ctx, &options)
	if c.metadata.Empty() {
		return req.Watch(ctx)
	}
	w, err := req.SetHeader("Accept", acceptMetadata).Watch(ctx)
	if err != nil {
		return nil, err
	}
	return watch.Filter(w, func(ev watch.Event) (watch.Event, bool) {
		if m, ok := ev.Object.(*metav1.PartialObjectMetadata); ok {
			m.SetGroupVersionKind(c.metadata)
		}
		return ev, true
	}), nil
}
