package cache

import (
	"context"
	"errors"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"
)

// ListWatch is a ListerWatcher made of functions. One function to list and one
// to watch are enough; where both variants are set, a call uses the one of its
// own kind. Its methods are as safe for concurrent use as its functions.
//
// One that NewListWatchFromClient or NewFilteredListWatchFromClient made also
// remembers its REST client. As long as nobody replaces ListWithContextFunc or
// WatchFuncWithContext, informers and reflectors of this package read its
// collection from the wire themselves: see package source, FromREST.
type ListWatch struct {
	// ListFunc and WatchFunc take no context, so that what they began goes on
	// after the end of its caller. Prefer the ones with a context.
	ListFunc  ListFunc
	WatchFunc WatchFunc

	ListWithContextFunc  ListWithContextFunc
	WatchFuncWithContext WatchFuncWithContext

	// DisableChunking asks for lists in one piece: what this package runs on
	// such a ListWatch never sets a limit.
	DisableChunking bool

	// made is what the constructor made the functions for; nil if they are the
	// caller's own.
	made *collection
}

var (
	_ ListerWatcher            = (*ListWatch)(nil)
	_ ListerWatcherWithContext = (*ListWatch)(nil)
)

// errNoFunction is returned by a ListWatch that lacks what is asked of it.
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

// NewFilteredListWatchFromClient returns a ListWatch of one resource of c, in
// one namespace or, if that is empty, all of them. optionsModifier, if not nil,
// has the last word on the options of every request; it must be safe for
// concurrent use.
func NewFilteredListWatchFromClient(c Getter, resource string, namespace string, optionsModifier func(options *metav1.ListOptions)) *ListWatch {
	return listWatchOf(&collection{client: c, resource: resource, namespace: namespace, modify: optionsModifier})
}

// NewMetadataListWatchFromClient is NewFilteredListWatchFromClient of the metadata
// alone: of *metav1.PartialObjectMetadata of kind gvk. The client's configuration is
// metadata.ConfigFor with the group and version of the resource. Informers of it
// are made with an example that has the kind.
func NewMetadataListWatchFromClient(c Getter, gvk schema.GroupVersionKind, resource string, namespace string, optionsModifier func(options *metav1.ListOptions)) *ListWatch {
	return listWatchOf(&collection{client: c, resource: resource, namespace: namespace, modify: optionsModifier, metadata: gvk})
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

// ListWithContext is List, and ends with ctx if the function honours it.
func (lw *ListWatch) ListWithContext(ctx context.Context, options metav1.ListOptions) (runtime.Object, error) {
	switch {
	case lw.ListWithContextFunc != nil:
		return lw.ListWithContextFunc(ctx, options)
	case lw.ListFunc != nil:
		return lw.ListFunc(options)
	}
	return nil, errNoFunction
}

// Watch begins a watch, and blocks until the server has answered. Whoever
// takes the watch has to stop it.
func (lw *ListWatch) Watch(options metav1.ListOptions) (watch.Interface, error) {
	switch {
	case lw.WatchFunc != nil:
		return lw.WatchFunc(options)
	case lw.WatchFuncWithContext != nil:
		return lw.WatchFuncWithContext(context.Background(), options)
	}
	return nil, errNoFunction
}

// WatchWithContext is Watch, and the watch ends with ctx if the function
// honours it.
func (lw *ListWatch) WatchWithContext(ctx context.Context, options metav1.ListOptions) (watch.Interface, error) {
	switch {
	case lw.WatchFuncWithContext != nil:
		return lw.WatchFuncWithContext(ctx, options)
	case lw.WatchFunc != nil:
		return lw.WatchFunc(options)
	}
	return nil, errNoFunction
}

// readable returns the collection that a source of its own may read in place
// of calling lw's functions, or nil if one of them is somebody else's.
func (lw *ListWatch) readable() *collection {
	made := lw.made
	if made == nil || !made.listsWith(lw.ListWithContextFunc) || !made.watchesWith(lw.WatchFuncWithContext) {
		return nil
	}
	return made
}
