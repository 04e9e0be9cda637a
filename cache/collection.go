package cache

import (
	"context"
	"reflect"
	goruntime "runtime"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/rest"

	"github.com/kinglet-go/kinglet/source"
)

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

// request returns a request for list or watch, which calls it. Only what a ListWatch asks
// itself may be read from the wire: a function that was put in place of list or watch,
// and calls it, may look at the objects.
func (c *collection) request(options *metav1.ListOptions) *rest.Request {
	if c.modify != nil {
		c.modify(options)
	}
	client := c.client
	if strings.HasPrefix(callerOf(2), listWatchMethods) {
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
	req := c.request(&options)
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
