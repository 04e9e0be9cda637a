package apiserver

import (
	"fmt"
	"strconv"
	"sync"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/client-go/kubernetes/scheme"
)

// Resource is one kind of object that a Storage has.
type Resource struct {
	// GroupVersionResource is where it is served.
	schema.GroupVersionResource
	// Kind is the kind of its objects. If it is none of client-go's own, the resource is
	// served as a custom resource is: in JSON only, whatever has been added to client-go's
	// scheme.
	Kind string
	// ClusterScoped resources have no namespace.
	ClusterScoped bool
	// Status serves /status for a custom resource, whose other writes then leave the
	// status alone. A kind of client-go's has it if its Go type has a Status.
	Status bool
	// Fields returns the fields by which objects can be selected, besides
	// metadata.name and metadata.namespace. It must name all of them for an empty object
	// as well: a selector on any other field is refused, as on a real server.
	Fields func(obj runtime.Object) fields.Set
}

// Resources that most tests need.
var (
	// ConfigMaps are small and have no rules of their own.
	ConfigMaps = Resource{GroupVersionResource: corev1.SchemeGroupVersion.WithResource("configmaps"), Kind: "ConfigMap"}
	// Nodes have no namespace, and can be selected by whether they are unschedulable.
	Nodes = Resource{GroupVersionResource: corev1.SchemeGroupVersion.WithResource("nodes"), Kind: "Node", ClusterScoped: true, Fields: nodeFields}
	// Pods can be selected by the node that they are on and by their phase.
	Pods = Resource{GroupVersionResource: corev1.SchemeGroupVersion.WithResource("pods"), Kind: "Pod", Fields: podFields}
)

func podFields(obj runtime.Object) fields.Set {
	p, ok := obj.(*corev1.Pod)
	if !ok {
		return nil
	}
	return fields.Set{
		"spec.nodeName": p.Spec.NodeName, "spec.restartPolicy": string(p.Spec.RestartPolicy),
		"spec.schedulerName": p.Spec.SchedulerName, "spec.serviceAccountName": p.Spec.ServiceAccountName,
		"spec.hostNetwork": strconv.FormatBool(p.Spec.HostNetwork), "status.phase": string(p.Status.Phase),
		"status.podIP": p.Status.PodIP, "status.nominatedNodeName": p.Status.NominatedNodeName,
		"spec.host":     p.Spec.NodeName, // for old clients
		"status.podIPs": "",              // known, and never set
	}
}

func nodeFields(obj runtime.Object) fields.Set {
	n, ok := obj.(*corev1.Node)
	if !ok {
		return nil
	}
	return fields.Set{"spec.unschedulable": strconv.FormatBool(n.Spec.Unschedulable)}
}

// gvk is that of an object.
func (r *Resource) gvk() schema.GroupVersionKind { return r.GroupVersion().WithKind(r.Kind) }

// builtin has client-go's kinds alone. Programs add the types of their custom resources to
// client-go's scheme, which makes no server serve them otherwise.
var builtin = sync.OnceValue(func() *runtime.Scheme {
	s := runtime.NewScheme()
	if err := scheme.AddToScheme(s); err != nil {
		panic(fmt.Sprintf("BUG: client-go's scheme: %v", err))
	}
	return s
})

var codecs = sync.OnceValue(func() serializer.CodecFactory { return serializer.NewCodecFactory(builtin()) })

// custom reports whether the kind is none of client-go's own.
func (r *Resource) custom() bool { return !builtin().Recognizes(r.gvk()) }

// newObject returns an empty object.
func (r *Resource) newObject() runtime.Object {
	if obj, err := builtin().New(r.gvk()); err == nil {
		return obj
	}
	u := &unstructured.Unstructured{}
	u.SetGroupVersionKind(r.gvk())
	return u
}

// newList returns a list of items, which are shared with it.
func (r *Resource) newList(items []runtime.Object, lm metav1.ListMeta) (runtime.Object, error) {
	gvk := r.GroupVersion().WithKind(r.Kind + "List")
	var list runtime.Object
	if r.custom() {
		u := &unstructured.UnstructuredList{}
		u.SetGroupVersionKind(gvk)
		list = u
	} else {
		var err error
		if list, err = builtin().New(gvk); err != nil {
			return nil, fmt.Errorf("list of %s: %w", r.GroupResource(), err)
		}
	}
	if err := meta.SetList(list, items); err != nil {
		return nil, fmt.Errorf("list of %s: %w", r.GroupResource(), err)
	}
	m, err := meta.ListAccessor(list)
	if err != nil {
		return nil, fmt.Errorf("list of %s: %w", r.GroupResource(), err)
	}
	m.SetResourceVersion(lm.ResourceVersion)
	m.SetContinue(lm.Continue)
	m.SetRemainingItemCount(lm.RemainingItemCount)
	return list, nil
}

// fieldsOf are all by which obj can be selected.
func (r *Resource) fieldsOf(obj runtime.Object) fields.Set {
	set := fields.Set{}
	if r.Fields != nil {
		for k, v := range r.Fields(obj) {
			set[k] = v
		}
	}
	m := metaOf(obj)
	set["metadata.name"], set["metadata.namespace"] = m.GetName(), m.GetNamespace()
	return set
}

// metaOf is the metadata of an object of a Storage, which all have it.
func metaOf(obj runtime.Object) metav1.Object {
	m, err := meta.Accessor(obj)
	if err != nil {
		panic(fmt.Sprintf("BUG: %T was let into a Storage: %v", obj, err))
	}
	return m
}
