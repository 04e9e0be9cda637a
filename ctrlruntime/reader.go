package ctrlruntime

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"

	"github.com/kinglet-go/kinglet"
)

// Get copies the object under key into out, with apiVersion and kind, or shares its
// memory without them if deep copies are disabled. It makes an informer of the kind
// and form of out if there is none, and blocks until its objects, or those of the
// key's namespace, have been listed.
//
// Errors are controller-runtime's: *cache.ErrCacheNotStarted before Start;
// *cache.ErrResourceNotCached with Options.ReaderFailOnMissingInformer or RefuseImplicit; a timeout if
// ctx ends while it waits; a NotFound that names the kind; another error for a
// namespace that the cache does not hold.
func (c *Cache) Get(ctx context.Context, key client.ObjectKey, out client.Object, opts ...client.GetOption) error {
	gvk, err := apiutil.GVKForObject(out, c.settings.Scheme)
	if err != nil {
		return err
	}
	var get client.GetOptions
	get.ApplyOptions(opts)
	k, err := c.readable(ctx, gvk, formOf(out), func(k *kind) (string, error) {
		if !k.namespaced {
			key.Namespace = metav1.NamespaceAll
		}
		if _, _, known := k.settings(key.Namespace); k.restricted && !known {
			return "", fmt.Errorf("unable to get: %v because of unknown namespace for the cache", key)
		}
		return key.Namespace, nil
	})
	if err != nil {
		return err
	}
	obj, ok := k.informer.Kinglet().Store().Get(kinglet.Key{Namespace: key.Namespace, Name: key.Name})
	if !ok {
		return apierrors.NewNotFound(schema.GroupResource{Group: gvk.Group, Resource: gvk.Kind}, key.Name)
	}
	return k.fill(out, obj, k.shares(key.Namespace, get.UnsafeDisableDeepCopy))
}

// readable returns the kind for a read of the namespace that in returns, once its
// objects have been listed.
func (c *Cache) readable(ctx context.Context, gvk schema.GroupVersionKind, f form, in func(*kind) (string, error)) (*kind, error) {
	k, started := c.held(gvk, f)
	if k == nil && !c.implicit {
		return nil, &cache.ErrResourceNotCached{GVK: gvk}
	}
	if k == nil {
		var made bool
		var err error
		if k, started, made, err = c.makeKind(gvk, f); err != nil {
			return nil, err
		}
		if made {
			c.reportImplicit(gvk, f)
		}
	}
	ns, err := in(k)
	if err != nil {
		return nil, err
	}
	if !started {
		return nil, &cache.ErrCacheNotStarted{}
	}
	if ns == metav1.NamespaceAll {
		return k, k.wait(ctx)
	}
	return k, k.waitFor(ctx, ns)
}

// shares reports whether objects of a namespace are handed out without a copy.
func (k *kind) shares(ns string, asked *bool) bool {
	if asked != nil && *asked {
		return true
	}
	_, config, known := k.settings(ns)
	return known && config.UnsafeDisableDeepCopy != nil && *config.UnsafeDisableDeepCopy
}

// fill makes out the object, or a copy of it.
func (k *kind) fill(out client.Object, held any, shared bool) error {
	obj, ok := held.(runtime.Object)
	if !ok {
		return fmt.Errorf("cache contained %T, which is not an Object", held)
	}
	from, into := reflect.ValueOf(obj), reflect.ValueOf(out)
	if from.Type() != into.Type() {
		return fmt.Errorf("cache had type %s, but %s was asked for", from.Type(), into.Type())
	}
	if shared {
		into.Elem().Set(from.Elem())
		return nil
	}
	copierOf(from.Type()).into(obj, from, into)
	out.GetObjectKind().SetGroupVersionKind(k.gvk)
	return nil
}

// List fills out with the objects that opts select, of one moment, in key order, as
// copies with apiVersion and kind, or as they are held if deep copies are disabled.
// Nothing is copied that is not returned. Limit is applied last, and there is no
// continue token. Field selectors must be exact, and each of their fields needs
// IndexField. The list has the resource version of the moment, if one source has
// brought all of the objects.
//
// It blocks as Get does, and its errors are as Get's.
func (c *Cache) List(ctx context.Context, out client.ObjectList, opts ...client.ListOption) error {
	gvk, err := apiutil.GVKForObject(out, c.settings.Scheme)
	if err != nil {
		return err
	}
	gvk.Kind = strings.TrimSuffix(gvk.Kind, "List")
	var list client.ListOptions
	list.ApplyOptions(opts)
	k, err := c.readable(ctx, gvk, formOf(out), func(k *kind) (string, error) {
		if k.restricted && list.Continue != "" {
			return "", errContinue
		}
		if !k.namespaced {
			return metav1.NamespaceAll, nil
		}
		if _, _, known := k.settings(list.Namespace); k.restricted && list.Namespace != "" && !known {
			return "", fmt.Errorf("unable to list: %v because of unknown namespace for the cache", list.Namespace)
		}
		return list.Namespace, nil
	})
	if err != nil {
		return err
	}
	if list.Continue != "" {
		return errContinue
	}
	snap := k.informer.Kinglet().Snapshot()
	found, err := selected(snap, &list)
	if err != nil {
		return err
	}
	var objs []client.Object
	for held := range found {
		if list.Limit > 0 && int64(len(objs)) >= list.Limit {
			break
		}
		obj, ok := held.(client.Object)
		if !ok {
			return fmt.Errorf("cache contained %T, which is not an Object", held)
		}
		if list.LabelSelector == nil || list.LabelSelector.Matches(labels.Set(obj.GetLabels())) {
			objs = append(objs, obj)
		}
	}
	if err := k.fillList(out, objs, list.UnsafeDisableDeepCopy); err != nil {
		return err
	}
	out.SetResourceVersion(k.version(snap, list.Namespace))
	out.SetContinue("continue-not-supported")
	return nil
}

var errContinue = errors.New("continue list option is not supported by the cache")

// version returns the resource version of the objects of a namespace, or of all of them.
func (k *kind) version(snap kinglet.Snapshot[any], ns string) string {
	if !k.several {
		return snap.ResourceVersion("")
	}
	if id, _, known := k.settings(ns); known && ns != metav1.NamespaceAll {
		return snap.ResourceVersion(id)
	}
	return ""
}
