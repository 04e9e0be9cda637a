// Package factories moves client-go's informer factories to kinglet: a factory that
// client-go makes has informers of its own, whatever package the program imports.
//
//	factory := informers.NewSharedInformerFactory(client, 0)
//	err := errors.Join(
//		factories.Typed(factory, client.CoreV1().Pods("")), // one line a type
//		factories.Typed(factory, client.AppsV1().Deployments("")),
//	)
//	things := factories.Dynamic(dynamicClient, 0, "", nil) // instead of NewFilteredDynamicSharedInformerFactory
//
// Everything else stays: listers, event handlers, Start, WaitForCacheSync and Shutdown.
// The fast path needs source.WrapTransport in the clients' configuration: see package
// cache.
//
// All functions are safe for concurrent use. None starts an informer.
package factories

import (
	"context"
	"fmt"
	"reflect"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/kinglet-go/kinglet/cache"
)

// Factory is a generated SharedInformerFactory, of Kubernetes or of custom resources. F is
// its NewInformerFunc.
type Factory[F any] interface {
	InformerFor(obj runtime.Object, newFunc F) cache.SharedIndexInformer
}

// Client is a generated client of one type T, whose lists are L.
type Client[T, L runtime.Object] interface {
	Get(ctx context.Context, name string, opts metav1.GetOptions) (T, error)
	collection[L]
}

// collection is what an informer asks.
type collection[L runtime.Object] interface {
	List(ctx context.Context, opts metav1.ListOptions) (L, error)
	Watch(ctx context.Context, opts metav1.ListOptions) (watch.Interface, error)
}

// Typed makes the factory's informer of T kinglet's, with the index by namespace that
// generated informers have. client is of the factory's namespace. tweak is called with
// the options of each request, as a factory's tweakListOptions is: the factory's own
// cannot be read, nor can its InformerName.
//
// It fails if the factory has an informer of T already: call it before anything asks for
// the type's informer or lister.
func Typed[T, L runtime.Object, C any, F ~func(C, time.Duration) cache.SharedIndexInformer](
	factory Factory[F], client Client[T, L], tweak ...func(*metav1.ListOptions),
) error {
	made := false
	example := reflect.New(reflect.TypeFor[T]().Elem()).Interface().(T)
	factory.InformerFor(example, func(clientset C, resync time.Duration) cache.SharedIndexInformer {
		made = true
		return cache.NewSharedIndexInformer(listWatch(clientset, client, tweak...), example, resync, byNamespace())
	})
	if !made {
		return fmt.Errorf("the factory has an informer of %T already", example)
	}
	return nil
}

// listWatch returns a ListWatch of a collection. clientset knows whether it supports
// watch-lists.
func listWatch[L runtime.Object](clientset any, client collection[L], tweak ...func(*metav1.ListOptions)) cache.ListerWatcher {
	tweaked := func(options metav1.ListOptions) metav1.ListOptions {
		for _, f := range tweak {
			if f != nil {
				f(&options)
			}
		}
		return options
	}
	return cache.ToListWatcherWithWatchListSemantics(&cache.ListWatch{
		ListWithContextFunc: func(ctx context.Context, options metav1.ListOptions) (runtime.Object, error) {
			return client.List(ctx, tweaked(options))
		},
		WatchFuncWithContext: func(ctx context.Context, options metav1.ListOptions) (watch.Interface, error) {
			return client.Watch(ctx, tweaked(options))
		},
	}, clientset)
}

func byNamespace() cache.Indexers {
	return cache.Indexers{cache.NamespaceIndex: cache.MetaNamespaceIndexFunc}
}
