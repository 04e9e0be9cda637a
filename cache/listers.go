package cache

import (
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	kc "k8s.io/client-go/tools/cache"
)

// Listers only read what they are given, so they are client-go's.

// ListAll calls appendFn with each object of a store whose labels match. It
// fails at the first object without metadata, unless the selector matches
// everything.
func ListAll(store Store, selector labels.Selector, appendFn AppendFunc) error {
	return kc.ListAll(store, selector, appendFn)
}

// ListAllByNamespace is ListAll for one namespace, or for all of them if it is
// empty. It finds the objects through NamespaceIndex; without that index it
// scans all objects, and logs that.
func ListAllByNamespace(indexer Indexer, namespace string, selector labels.Selector, appendFn AppendFunc) error {
	return kc.ListAllByNamespace(indexer, namespace, selector, appendFn)
}

// NewGenericLister returns a lister of an Indexer's objects, which must be
// runtime.Objects. Its NotFound errors name the resource.
func NewGenericLister(indexer Indexer, resource schema.GroupResource) GenericLister {
	return kc.NewGenericLister(indexer, resource)
}
