package torture_test

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes/scheme"
	typedcorev1 "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/rest"
	kc "k8s.io/client-go/tools/cache"

	"github.com/kinglet-go/kinglet"
	"github.com/kinglet-go/kinglet/cache"
	"github.com/kinglet-go/kinglet/kinglettest/torture"
	"github.com/kinglet-go/kinglet/source"
)

// roleEngine is an informer for plans of roles. start returns what runs it and what its
// store shows: the state by name.
type roleEngine struct {
	name  string
	start func(w *roles) (run func(context.Context), show func() map[string]string, err error)
}

// roleEngines returns the engines, client-go's first.
func roleEngines() []roleEngine {
	return []roleEngine{
		{"client-go", func(w *roles) (func(context.Context), func() map[string]string, error) {
			lw, example, err := listerWatcher(w, func(g kc.Getter) kc.ListerWatcher {
				return kc.NewListWatchFromClient(g, "configmaps", "", fields.Everything())
			})
			if err != nil {
				return nil, nil, err
			}
			return sharedRole(kc.NewSharedIndexInformer(lw, example, 0, kc.Indexers{}))
		}},
		{"kinglet's cache", func(w *roles) (func(context.Context), func() map[string]string, error) {
			lw, example, err := listerWatcher(w, func(g kc.Getter) kc.ListerWatcher {
				return cache.NewListWatchFromClient(g, "configmaps", "", fields.Everything())
			})
			if err != nil {
				return nil, nil, err
			}
			return sharedRole(cache.NewSharedIndexInformer(lw, example, 0, kc.Indexers{}))
		}},
		{"kinglet", func(w *roles) (func(context.Context), func() map[string]string, error) {
			switch w.plan.kind {
			case wire:
				return typedRole(source.FromConfig[torture.Object](w.config(), w.resource.GroupVersionResource, source.Options{}))
			case custom:
				if w.plan.seed%2 == 0 {
					return typedRole(source.FromConfig[*unstructured.Unstructured](w.config(), w.resource.GroupVersionResource, source.Options{}))
				}
			}
			lw, _, err := listerWatcher(w, nil)
			if err != nil {
				return nil, nil, err
			}
			if w.plan.kind == custom {
				return typedRole(source.FromListerWatcher[*unstructured.Unstructured](lw, source.Options{}))
			}
			return typedRole(source.FromListerWatcher[torture.Object](lw, source.Options{}))
		}},
	}
}

// listerWatcher returns what a program makes of a client.
func listerWatcher(w *roles, fromClient func(kc.Getter) kc.ListerWatcher) (kc.ListerWatcher, runtime.Object, error) {
	if w.plan.kind == fakes {
		lw := functions(w.fake.CoreV1().ConfigMaps("").List, w.fake.CoreV1().ConfigMaps("").Watch)
		return kc.ToListWatcherWithWatchListSemantics(lw, w.fake), &corev1.ConfigMap{}, nil
	}
	cfg := w.config()
	switch w.plan.kind {
	case custom:
		client, err := dynamic.NewForConfig(cfg)
		if err != nil {
			return nil, nil, err
		}
		r := client.Resource(w.resource.GroupVersionResource)
		example := &unstructured.Unstructured{}
		example.SetGroupVersionKind(w.resource.GroupVersion().WithKind(w.resource.Kind))
		return functions(r.List, r.Watch), example, nil
	case wire:
		gv := corev1.SchemeGroupVersion
		cfg.APIPath, cfg.GroupVersion, cfg.NegotiatedSerializer = "/api", &gv, scheme.Codecs.WithoutConversion()
		client, err := rest.RESTClientFor(cfg)
		if err != nil {
			return nil, nil, err
		}
		return fromClient(client), &corev1.ConfigMap{}, nil
	}
	client, err := typedcorev1.NewForConfig(cfg)
	if err != nil {
		return nil, nil, err
	}
	return functions(client.ConfigMaps("").List, client.ConfigMaps("").Watch), &corev1.ConfigMap{}, nil
}

// functions is a ListWatch of a client's methods, as generated informers have it.
func functions[L runtime.Object](list func(context.Context, metav1.ListOptions) (L, error),
	watching func(context.Context, metav1.ListOptions) (watch.Interface, error),
) *kc.ListWatch {
	return &kc.ListWatch{
		ListWithContextFunc:  func(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) { return list(ctx, o) },
		WatchFuncWithContext: func(ctx context.Context, o metav1.ListOptions) (watch.Interface, error) { return watching(ctx, o) },
	}
}

func sharedRole(inf kc.SharedIndexInformer) (func(context.Context), func() map[string]string, error) {
	err := inf.SetWatchErrorHandlerWithContext(func(context.Context, *kc.Reflector, error) {})
	return inf.RunWithContext, func() map[string]string {
		shown := map[string]string{}
		for _, o := range inf.GetStore().List() {
			m := o.(metav1.Object)
			shown[m.GetName()] = m.GetLabels()[stateLabel]
		}
		return shown
	}, err
}

func typedRole[T metav1.Object](src source.Source[T], err error) (func(context.Context), func() map[string]string, error) {
	if err != nil {
		return nil, nil, err
	}
	inf, err := kinglet.New(src, kinglet.Options[T]{OnError: func(error) {}})
	if err != nil {
		return nil, nil, err
	}
	return func(ctx context.Context) { _ = inf.Run(ctx) }, func() map[string]string {
		shown := map[string]string{}
		for o := range inf.Store().All() {
			shown[o.GetName()] = o.GetLabels()[stateLabel]
		}
		return shown
	}, nil
}
