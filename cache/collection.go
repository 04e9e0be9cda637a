package cache

import (
	"context"
	"reflect"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/rest"
)

// collection is one resource of a REST client: what a ListWatch from a client lists
// and watches.
type collection struct {
	client    Getter
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

// groupVersionResource returns the resource that is listed; empty if the client
// does not report its group and version. A fake clientset returns a nil pointer for
// a client.
func (c *collection) groupVersionResource() schema.GroupVersionResource {
	client, ok := c.client.(rest.Interface)
	if v := reflect.ValueOf(c.client); !ok || v.Kind() == reflect.Pointer && v.IsNil() {
		return schema.GroupVersionResource{}
	}
	return client.APIVersion().WithResource(c.resource)
}

func (c *collection) request(options *metav1.ListOptions) *rest.Request {
	if c.modify != nil {
		c.modify(options)
	}
	return c.client.Get().
		Namespace(c.namespace).
		Resource(c.resource).
		VersionedParams(options, metav1.ParameterCodec)
}

func (c *collection) list(ctx context.Context, options metav1.ListOptions) (runtime.Object, error) {
	if c.answers(ctx) {
		return nil, nil
	}
	req := c.request(&options)
	if c.metadata.Empty() {
		return req.Do(ctx).Get()
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

func (c *collection) watch(ctx context.Context, options metav1.ListOptions) (watch.Interface, error) {
	if c.answers(ctx) {
		return nil, nil
	}
	options.Watch = true
	req := c.request(&options)
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

// Go cannot compare functions, so it cannot tell directly whether a function is one
// of c's own. But the code pointer shows whether it is a list or watch of some
// collection, and such a function can safely be asked for its collection, without
// doing anything.

// whose is the context value by which a function is asked for its collection.
type whose struct{ collection *collection }

type whoseKey struct{}

// answers stores c in the question that ctx carries, and reports whether there is
// one.
func (c *collection) answers(ctx context.Context) bool {
	asks, ok := ctx.Value(whoseKey{}).(*whose)
	if ok {
		asks.collection = c
	}
	return ok
}

// listsWith reports whether f is c.list.
func (c *collection) listsWith(f ListWithContextFunc) bool {
	if !sameCode(f, ListWithContextFunc(c.list)) {
		return false
	}
	asks := &whose{}
	_, _ = f(context.WithValue(context.Background(), whoseKey{}, asks), metav1.ListOptions{})
	return asks.collection == c
}

// watchesWith reports whether f is c.watch.
func (c *collection) watchesWith(f WatchFuncWithContext) bool {
	if !sameCode(f, WatchFuncWithContext(c.watch)) {
		return false
	}
	asks := &whose{}
	_, _ = f(context.WithValue(context.Background(), whoseKey{}, asks), metav1.ListOptions{})
	return asks.collection == c
}

// sameCode reports whether two functions of one type, the second not nil, run
// the same code, if perhaps on other data.
func sameCode(f, g any) bool {
	return reflect.ValueOf(f).Pointer() == reflect.ValueOf(g).Pointer()
}
