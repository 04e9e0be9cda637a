package cache

import (
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/klog/v2"
)

// ListAll calls appendFn with each object of a store whose labels match. It
// fails at the first object without metadata, unless the selector matches
// everything.
func ListAll(store Store, selector labels.Selector, appendFn AppendFunc) error {
	if labels.MatchesNothing(selector) {
		return nil
	}
	return appendMatching(store.List(), "", selector, appendFn)
}

// ListAllByNamespace is ListAll for one namespace, or for all of them if it is
// empty. It finds the objects through NamespaceIndex; without that index it
// scans all objects, and logs that.
func ListAllByNamespace(indexer Indexer, namespace string, selector labels.Selector, appendFn AppendFunc) error {
	if labels.MatchesNothing(selector) {
		return nil
	}
	if namespace == metav1.NamespaceAll {
		return ListAll(indexer, selector, appendFn)
	}
	objs, err := indexer.Index(NamespaceIndex, &metav1.ObjectMeta{Namespace: namespace})
	if err != nil {
		klog.TODO().Info("Listing one namespace without the index for it", "namespace", namespace, "err", err)
		return appendMatching(indexer.List(), namespace, selector, appendFn)
	}
	return appendMatching(objs, "", selector, appendFn)
}

// appendMatching calls appendFn with the objects of a namespace that a
// selector matches; an empty namespace stands for all.
func appendMatching(objs []any, namespace string, selector labels.Selector, appendFn AppendFunc) error {
	if namespace == "" && selector.Empty() {
		for _, obj := range objs {
			appendFn(obj)
		}
		return nil
	}
	for _, obj := range objs {
		m, err := meta.Accessor(obj)
		if err != nil {
			return err
		}
		if (namespace == "" || m.GetNamespace() == namespace) && selector.Matches(labels.Set(m.GetLabels())) {
			appendFn(obj)
		}
	}
	return nil
}

// NewGenericLister returns a lister of an Indexer's objects, which must be
// runtime.Objects. Its NotFound errors name the resource.
func NewGenericLister(indexer Indexer, resource schema.GroupResource) GenericLister {
	return &genericLister{indexer: indexer, resource: resource}
}

// genericLister lists all namespaces or one.
type genericLister struct {
	indexer  Indexer
	resource schema.GroupResource
}

func (l *genericLister) List(selector labels.Selector) (ret []runtime.Object, err error) {
	err = ListAll(l.indexer, selector, func(obj any) { ret = append(ret, obj.(runtime.Object)) })
	return ret, err
}

func (l *genericLister) Get(name string) (runtime.Object, error) { return l.get(name, name) }

func (l *genericLister) get(key, name string) (runtime.Object, error) {
	obj, exists, err := l.indexer.GetByKey(key)
	if err != nil {
		return nil, err
	}
	if !exists {
		return nil, apierrors.NewNotFound(l.resource, name)
	}
	return obj.(runtime.Object), nil
}

func (l *genericLister) ByNamespace(namespace string) GenericNamespaceLister {
	return &genericNamespaceLister{all: l, namespace: namespace}
}

type genericNamespaceLister struct {
	all       *genericLister
	namespace string
}

func (l *genericNamespaceLister) List(selector labels.Selector) (ret []runtime.Object, err error) {
	err = ListAllByNamespace(l.all.indexer, l.namespace, selector, func(obj any) { ret = append(ret, obj.(runtime.Object)) })
	return ret, err
}

func (l *genericNamespaceLister) Get(name string) (runtime.Object, error) {
	return l.all.get(l.namespace+"/"+name, name)
}
