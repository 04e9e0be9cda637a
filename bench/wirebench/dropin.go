package main

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	uns "k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/dynamic"
	typedv1 "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/rest"

	"github.com/kinglet-go/kinglet/cache"
	"github.com/kinglet-go/kinglet/source"
)

// startDropIn is startClientGo with the import changed: the indexers, the
// handlers and all that is called of the informer are the same code.
func startDropIn(ctx context.Context, s *setup, cfg *rest.Config, a *audience) (running, error) {
	lw, example, err := dropInSource(s, cfg)
	if err != nil {
		return nil, err
	}
	return runClientGo(ctx, s, cache.NewSharedIndexInformer(lw, example, 0, clientGoIndexers), a)
}

// dropInSource makes typed objects' ListWatch from a client, as programs
// without generated informers do. Unstructured ones are listed and watched
// through closures, as a dynamic informer has them, so that the client has to
// let the wire be read: see source.WrapTransport.
func dropInSource(s *setup, cfg *rest.Config) (cache.ListerWatcher, runtime.Object, error) {
	if s.Form == typed {
		c, err := typedv1.NewForConfig(cfg)
		if err != nil {
			return nil, nil, err
		}
		return cache.NewListWatchFromClient(c.RESTClient(), "pods", metav1.NamespaceAll, nil), &corev1.Pod{}, nil
	}
	cfg.Wrap(source.WrapTransport)
	c, err := dynamic.NewForConfig(cfg)
	if err != nil {
		return nil, nil, err
	}
	of := c.Resource(podsResource)
	lw := &cache.ListWatch{
		ListWithContextFunc:  func(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) { return of.List(ctx, o) },
		WatchFuncWithContext: func(ctx context.Context, o metav1.ListOptions) (watch.Interface, error) { return of.Watch(ctx, o) },
	}
	return cache.ToListWatcherWithWatchListSemantics(lw, c), &uns.Unstructured{}, nil
}
