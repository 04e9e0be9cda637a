package ctrlruntime

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"
	logf "sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/kinglet-go/kinglet"
)

// Get copies the object under key into out, with apiVersion and kind. If deep copies
// are disabled, it shares the object's memory with out, without them. Get makes an
// informer of out's kind and form if there is none, and blocks until the objects of the
// kind, or of the key's namespace, have been listed.
//
// Errors are controller-runtime's: *cache.ErrCacheNotStarted before Start;
// *cache.ErrResourceNotCached with Options.ReaderFailOnMissingInformer or
// RefuseImplicit; a timeout if ctx ends while Get waits, or has already ended when Get
// makes an informer; a NotFound that names the kind; another error for a namespace that
// the cache does not hold. A kind that the server does not list is a *UnlistableError,
// whatever ctx is.
func (c *Cache) Get(ctx context.Context, key client.ObjectKey, out client.Object, opts ...client.GetOption) error {
	gvk, err := apiutil.GVKForObject(out, c.settings.Scheme)
	if err != nil {
		return err
	}
	var get client.GetOptions
	get.ApplyOptions(opts)
	var obj any
	var ok bool
	in := func(s *namespaceSet) (string, error) {
		if !s.namespaced {
			key.Namespace = metav1.NamespaceAll
		}
		if _, _, known := s.settings(key.Namespace); s.restricted && !known {
			return "", fmt.Errorf("unable to get: %v because of unknown namespace for the cache", key)
		}
		return key.Namespace, nil
	}
	k, err := c.read(ctx, gvk, formOf(out), in, func(k *kind, _ *namespaceSet) error {
		at := kinglet.Key{Namespace: key.Namespace, Name: key.Name}
		inf := k.informer.Kinglet()
		if inf.OwnWritesUnsure() && !optedOut(&get) {
			if err := inf.AwaitOwnWrites(ctx, at); err != nil {
				return err
			}
		}
		obj, ok = inf.Store().Get(at)
		return nil
	})
	if err != nil {
		return err
	}
	if !ok {
		return apierrors.NewNotFound(schema.GroupResource{Group: gvk.Group, Resource: gvk.Kind}, key.Name)
	}
	if k.kindInformer.convert != nil {
		if k.kindInformer.partial(obj) {
			return k.getWhole(ctx, kinglet.Key{Namespace: key.Namespace, Name: key.Name}, out, get.UnsafeDisableDeepCopy)
		}
		obj, _ = k.kindInformer.convert(obj)
	}
	f := filling{kind: k, asked: get.UnsafeDisableDeepCopy}
	return f.object(out, obj, key.Namespace)
}

// read calls from with a kind whose objects have been listed, in the namespace that in
// returns. If the namespaces change meanwhile, read starts over, so that the last call
// of from sees what is held of the namespace throughout.
func (c *Cache) read(ctx context.Context, gvk schema.GroupVersionKind, f form, in func(*namespaceSet) (string, error), from func(*kind, *namespaceSet) error) (*kind, error) {
	k, started := c.existing(gvk, f)
	if k == nil && !c.implicit {
		return nil, &cache.ErrResourceNotCached{GVK: gvk}
	}
	var made bool
	if k == nil {
		var err error
		if k, started, made, err = c.makeKind(gvk, f); err != nil {
			return nil, err
		}
		if made {
			c.reportImplicit(gvk, f)
		}
	}
	for {
		s := k.now.Load()
		ns, err := in(s)
		if err != nil {
			return nil, err
		}
		if !started {
			return nil, &cache.ErrCacheNotStarted{}
		}
		if err := k.endedBefore(ctx, made); err != nil {
			return nil, err
		}
		switch err := k.listedIn(ctx, s, ns, true); {
		case err == nil:
		case err == errReplaced:
			continue
		default:
			return nil, k.notSynced(err)
		}
		if err := from(k, s); k.now.Load() == s {
			return k, err
		}
	}
}

// shares reports whether objects of a namespace are handed out without a copy.
func (k *kind) shares(ns string, asked *bool) bool {
	if asked != nil && *asked {
		return true
	}
	_, config, known := k.settings(ns)
	return known && config.UnsafeDisableDeepCopy != nil && *config.UnsafeDisableDeepCopy
}

// List fills out with the objects that opts select, from one moment and in key order:
// copies with apiVersion and kind, or the held objects if deep copies are disabled. It
// copies only what it returns. Limit is applied last, and there is no continue token.
// Field selectors must be exact, and each of their fields needs IndexField. The list
// has the resource version of the moment if one source has delivered all of its
// objects.
//
// List blocks as Get does, and returns the same errors. With RefuseImplicit, a list that
// selects objects of which only metadata is held (Options.ByObject) fails with a
// *PartialError.
func (c *Cache) List(ctx context.Context, out client.ObjectList, opts ...client.ListOption) error {
	gvk, err := apiutil.GVKForObject(out, c.settings.Scheme)
	if err != nil {
		return err
	}
	gvk.Kind = strings.TrimSuffix(gvk.Kind, "List")
	var list client.ListOptions
	list.ApplyOptions(opts)
	in := func(s *namespaceSet) (string, error) {
		if s.restricted && list.Continue != "" {
			return "", errContinue
		}
		if !s.namespaced {
			return metav1.NamespaceAll, nil
		}
		if _, _, known := s.settings(list.Namespace); s.restricted && list.Namespace != "" && !known {
			return "", fmt.Errorf("unable to list: %v because of unknown namespace for the cache", list.Namespace)
		}
		return list.Namespace, nil
	}
	var snap kinglet.Snapshot[any]
	var version string
	k, err := c.read(ctx, gvk, formOf(out), in, func(k *kind, s *namespaceSet) error {
		inf := k.informer.Kinglet()
		if inf.OwnWritesUnsure() && !optedOut(&list) {
			at := kinglet.Key{Namespace: list.Namespace}
			if !s.namespaced {
				at.Namespace = metav1.NamespaceAll
			}
			if err := inf.AwaitOwnWrites(ctx, at); err != nil {
				return err
			}
		}
		snap = inf.Snapshot()
		version = s.version(snap, list.Namespace)
		return nil
	})
	if err != nil {
		return err
	}
	if list.Continue != "" {
		return errContinue
	}
	found, err := k.selected(snap, &list, inAnyOrder(opts))
	if err != nil {
		return err
	}
	var objs []client.Object
	var partial, short int
	for stored := range found {
		if list.Limit > 0 && int64(len(objs)) >= list.Limit {
			break
		}
		obj, ok := stored.(client.Object)
		if !ok {
			return fmt.Errorf("cache contained %T, which is not an Object", stored)
		}
		if list.LabelSelector != nil && !list.LabelSelector.Matches(labels.Set(obj.GetLabels())) {
			continue
		}
		if k.kindInformer.partial(obj) {
			partial++
			if k.lean.short(obj) {
				short++
			}
			continue
		}
		converted, _ := k.kindInformer.converted(obj)
		objs = append(objs, converted.(client.Object))
	}
	refuses := c.options.Implicit == RefuseImplicit
	if list.FieldSelector != nil && k.kindInformer.hides && (refuses || k.lean.budget != nil) {
		partial, short = k.partial(snap, &list)
	}
	switch {
	case short > 0:
		return &PartialError{Kind: gvk, Objects: short, Short: true}
	case refuses && partial > 0:
		return &PartialError{Kind: gvk, Objects: partial}
	}
	f := filling{kind: k, asked: list.UnsafeDisableDeepCopy}
	if err := f.list(out, objs); err != nil {
		return err
	}
	out.SetResourceVersion(version)
	out.SetContinue("continue-not-supported")
	return nil
}

var errContinue = errors.New("continue list option is not supported by the cache")

// version returns the resource version of the objects of a namespace, or of all of them.
func (s *namespaceSet) version(snap kinglet.Snapshot[any], ns string) string {
	if id, _, known := s.settings(ns); known && (len(s.configs) == 1 || ns != metav1.NamespaceAll) {
		return snap.ResourceVersion(id)
	}
	if len(s.configs) == 1 {
		for id := range s.configs {
			return snap.ResourceVersion(id)
		}
	}
	return ""
}

// Implicit is what a Get or List does if its kind and form have no informer yet. An
// informer that is made for it lists and holds all objects of the kind, which may be
// far more than the reader needs.
type Implicit uint8

const (
	// WarnImplicit makes an informer, and reports the kind and the reader once.
	WarnImplicit Implicit = iota
	// AllowImplicit makes an informer, as controller-runtime does.
	AllowImplicit
	// RefuseImplicit fails with *cache.ErrResourceNotCached, as with
	// cache.Options.ReaderFailOnMissingInformer.
	RefuseImplicit
)

// reportImplicit reports a read that has made an informer.
func (c *Cache) reportImplicit(gvk schema.GroupVersionKind, f form) {
	if c.options.Implicit != WarnImplicit {
		return
	}
	reader := caller()
	if c.options.OnImplicit != nil {
		c.options.OnImplicit(gvk, reader)
		return
	}
	logf.Log.WithName("kinglet").Info("A read has made an informer of all objects of a kind; watch the kind, or read it by the manager's API reader",
		"kind", describe(gvk, f), "reader", reader)
}

// caller returns the function, file and line that reads from the cache: the closest
// caller outside this package and controller-runtime.
func caller() string {
	var pcs [32]uintptr
	frames := runtime.CallersFrames(pcs[:runtime.Callers(2, pcs[:])])
	for {
		frame, more := frames.Next()
		inside := strings.HasPrefix(frame.Function, "github.com/kinglet-go/kinglet/ctrlruntime.") ||
			strings.HasPrefix(frame.Function, "sigs.k8s.io/controller-runtime/")
		if frame.Function != "" && !inside {
			return fmt.Sprintf("%s, %s:%d", frame.Function, frame.File, frame.Line)
		}
		if !more {
			return "unknown"
		}
	}
}
