package main

import (
	"context"
	"sync"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	uns "k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/dynamic"
	typedv1 "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"
)

// clientGoInformer is one at work: client-go's, or the drop-in's, which has the
// same interface.
type clientGoInformer struct {
	informer cache.SharedIndexInformer
	cancel   context.CancelFunc
	done     sync.WaitGroup
}

func startClientGo(ctx context.Context, s *setup, cfg *rest.Config, a *audience) (running, error) {
	lw, example, err := clientGoSource(s, cfg)
	if err != nil {
		return nil, err
	}
	return runClientGo(ctx, s, cache.NewSharedIndexInformer(lw, example, 0, clientGoIndexers), a)
}

var clientGoIndexers = cache.Indexers{
	byNamespace: cache.MetaNamespaceIndexFunc,
	secondIndex: func(obj any) ([]string, error) {
		switch obj := obj.(type) {
		case *corev1.Pod:
			return nodeOf(obj), nil
		case *metav1.PartialObjectMetadata:
			return appOf(obj), nil
		}
		return nodeOfUnstructured(obj.(*uns.Unstructured)), nil
	},
}

// runClientGo gives an informer its handlers and starts it.
func runClientGo(ctx context.Context, s *setup, inf cache.SharedIndexInformer, a *audience) (running, error) {
	if fn := transforms[s.Shape]; fn != nil {
		err := inf.SetTransform(func(obj any) (any, error) {
			if p, ok := obj.(*corev1.Pod); ok {
				return fn(p)
			}
			return obj, nil
		})
		if err != nil {
			return nil, err
		}
	}
	for _, l := range a.listeners {
		heard := func(obj any) { l.heard(obj.(metav1.Object).GetResourceVersion()) }
		_, err := inf.AddEventHandler(cache.ResourceEventHandlerFuncs{
			AddFunc:    heard,
			UpdateFunc: func(_, obj any) { heard(obj) },
			DeleteFunc: func(any) { l.deleted() },
		})
		if err != nil {
			return nil, err
		}
	}
	c := &clientGoInformer{informer: inf}
	ctx, c.cancel = context.WithCancel(ctx)
	c.done.Go(func() { inf.RunWithContext(ctx) })
	return c, nil
}

// clientGoSource lists and watches through a generated client, a dynamic or
// a metadata one, as the informers of the same names do.
func clientGoSource(s *setup, cfg *rest.Config) (cache.ListerWatcher, runtime.Object, error) {
	lw := &cache.ListWatch{}
	var client any
	var example runtime.Object
	switch s.Form {
	case metadataOnly:
		c, err := metadata.NewForConfig(cfg)
		if err != nil {
			return nil, nil, err
		}
		client, example = c, &metav1.PartialObjectMetadata{}
		of := c.Resource(podsResource)
		lw.ListWithContextFunc = func(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) { return of.List(ctx, o) }
		lw.WatchFuncWithContext = func(ctx context.Context, o metav1.ListOptions) (watch.Interface, error) { return of.Watch(ctx, o) }
	case unstructured:
		c, err := dynamic.NewForConfig(cfg)
		if err != nil {
			return nil, nil, err
		}
		client, example = c, &uns.Unstructured{}
		of := c.Resource(podsResource)
		lw.ListWithContextFunc = func(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) { return of.List(ctx, o) }
		lw.WatchFuncWithContext = func(ctx context.Context, o metav1.ListOptions) (watch.Interface, error) { return of.Watch(ctx, o) }
	default:
		c, err := typedv1.NewForConfig(cfg)
		if err != nil {
			return nil, nil, err
		}
		client, example = c, &corev1.Pod{}
		of := c.Pods(metav1.NamespaceAll)
		lw.ListWithContextFunc = func(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) { return of.List(ctx, o) }
		lw.WatchFuncWithContext = func(ctx context.Context, o metav1.ListOptions) (watch.Interface, error) { return of.Watch(ctx, o) }
	}
	if s.Lists {
		client = listsOnly{}
	}
	return cache.ToListWatcherWithWatchListSemantics(lw, client), example, nil
}

// listsOnly is how client-go is told not to ask for initial events.
type listsOnly struct{}

// IsWatchListSemanticsUnSupported is what client-go asks.
func (listsOnly) IsWatchListSemanticsUnSupported() bool { return true }

func (c *clientGoInformer) get(namespace, name string) metav1.Object {
	obj, ok, err := c.informer.GetIndexer().GetByKey(namespace + "/" + name)
	if err != nil || !ok {
		return nil
	}
	return obj.(metav1.Object)
}

func (c *clientGoInformer) len() int { return len(c.informer.GetIndexer().ListKeys()) }

func (c *clientGoInformer) stop() {
	c.cancel()
	c.done.Wait()
}
