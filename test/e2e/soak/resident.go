package main

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/kinglet-go/kinglet"
	"github.com/kinglet-go/kinglet/cache"
	"github.com/kinglet-go/kinglet/source"
	"github.com/kinglet-go/kinglet/test/internal/history"
)

// resident is an informer that runs throughout, with its handlers.
type resident struct {
	name      string
	of        *collection
	run       kinglet.Runnable
	held      func() history.Objects
	suspect   func() []kinglet.Quarantined
	histories []*history.History
	// pending returns how many records wait for the first history, which is the one that
	// is stalled, and how many guarantee 5 allows.
	pending func() (n, most int)
}

// collections are the collections of the residents.
type collections struct{ pods, configMaps, untyped *collection }

func (p *plane) collections() collections {
	pods, configMaps := corev1.SchemeGroupVersion.WithResource("pods"), corev1.SchemeGroupVersion.WithResource("configmaps")
	return collections{
		pods: &collection{"pods", pods, func(ctx context.Context) (runtime.Object, error) {
			return p.client.CoreV1().Pods("").List(ctx, metav1.ListOptions{})
		}},
		configMaps: &collection{"configmaps", configMaps, func(ctx context.Context) (runtime.Object, error) {
			return p.client.CoreV1().ConfigMaps("").List(ctx, metav1.ListOptions{})
		}},
		untyped: &collection{"configmaps, unstructured", configMaps, func(ctx context.Context) (runtime.Object, error) {
			return p.dynamic.Resource(configMaps).List(ctx, metav1.ListOptions{})
		}},
	}
}

// residents makes one informer of each kind.
func (s *soak) residents() ([]*resident, error) {
	p, c := s.plane, s.plane.collections()
	type build func() (*resident, error)
	var out []*resident
	for _, b := range []build{
		func() (*resident, error) {
			return typed[*corev1.Pod](s, "typed pods", p.pooled(), c.pods, source.Options{})
		},
		func() (*resident, error) {
			return typed[*corev1.ConfigMap](s, "typed configmaps", p.apart(), c.configMaps, source.Options{})
		},
		func() (*resident, error) {
			return typed[*corev1.ConfigMap](s, "typed configmaps, no delay", p.apart(), c.configMaps, source.Options{MaxDelay: new(time.Duration)})
		},
		func() (*resident, error) {
			return typed[*unstructured.Unstructured](s, "unstructured configmaps", p.pooled(), c.untyped, source.Options{})
		},
		func() (*resident, error) { return s.fastPath("drop-in pods, fast path", p.apart(), c.pods) },
		func() (*resident, error) {
			cfg := p.apart()
			cfg.Wrap(source.WrapTransport)
			return s.closures("drop-in configmaps, interceptor", cfg, c.configMaps)
		},
		func() (*resident, error) { return s.closures("drop-in configmaps, closures", p.pooled(), c.configMaps) },
	} {
		r, err := b()
		if err != nil {
			return nil, err
		}
		out = append(out, r)
	}
	return out, nil
}

// typed makes a typed resident, with a handler that folds and one that receives every
// version.
func typed[T metav1.Object](s *soak, name string, cfg *rest.Config, of *collection, so source.Options) (*resident, error) {
	src, err := source.FromConfig[T](cfg, of.gvr, so)
	if err != nil {
		return nil, err
	}
	inf, err := kinglet.New(src, kinglet.Options[T]{
		Name:            name,
		MinWatchTimeout: leastWatch,
		OnError:         s.reported,
		Indexers: map[string]kinglet.IndexFunc[T]{
			"namespace": func(obj T) ([]string, error) { return []string{obj.GetNamespace()}, nil },
		},
	})
	if err != nil {
		return nil, err
	}
	folding, every := history.New(name+", folding"), history.New(name+", every version")
	reg, err := inf.AddHandler(history.Typed[T]{History: folding}, kinglet.HandlerOptions{Name: folding.Name})
	if err != nil {
		return nil, err
	}
	_, err = inf.AddHandler(history.Typed[T]{History: every}, kinglet.HandlerOptions{
		Name: every.Name, EveryVersion: true, Bound: 1 << 16, Overflow: kinglet.OverflowFoldUpdates,
	})
	if err != nil {
		return nil, err
	}
	return &resident{
		name: name, of: of, run: inf, suspect: inf.Quarantined, histories: []*history.History{folding, every},
		held: func() history.Objects {
			snap := inf.Snapshot()
			out := make(history.Objects, snap.Len())
			for obj := range snap.All() {
				out[history.KeyOf(obj)] = obj
			}
			return out
		},
		pending: func() (n, most int) {
			// It allows one record for each key that was delivered or exists.
			_, delivered := folding.Told()
			return reg.Pending(), delivered + inf.Store().Len() + reg.InFlight()
		},
	}, nil
}

// fastPath makes a resident of the drop-in that reads from the wire.
func (s *soak) fastPath(name string, cfg *rest.Config, of *collection) (*resident, error) {
	cfg.ContentType, cfg.AcceptContentTypes = protobuf, protobufAndJSON
	client, err := kubernetes.NewForConfig(cfg)
	if err != nil {
		return nil, err
	}
	lw := cache.NewListWatchFromClient(client.CoreV1().RESTClient(), of.gvr.Resource, "", nil)
	return s.dropIn(name, lw, of)
}

// closures makes a resident of the drop-in with closures, as generated code does.
func (s *soak) closures(name string, cfg *rest.Config, of *collection) (*resident, error) {
	client, err := kubernetes.NewForConfig(cfg)
	if err != nil {
		return nil, err
	}
	maps := client.CoreV1().ConfigMaps("")
	return s.dropIn(name, &cache.ListWatch{
		ListWithContextFunc: func(ctx context.Context, lo metav1.ListOptions) (runtime.Object, error) {
			return maps.List(ctx, lo)
		},
		WatchFuncWithContext: func(ctx context.Context, lo metav1.ListOptions) (watch.Interface, error) {
			return maps.Watch(ctx, lo)
		},
	}, of)
}

func (s *soak) dropIn(name string, lw cache.ListerWatcher, of *collection) (*resident, error) {
	var example runtime.Object = &corev1.ConfigMap{}
	if of.name == "pods" {
		example = &corev1.Pod{}
	}
	inf := cache.NewSharedIndexInformer(lw, example, 0, cache.Indexers{cache.NamespaceIndex: cache.MetaNamespaceIndexFunc})
	err := inf.SetWatchErrorHandlerWithContext(func(_ context.Context, _ *cache.Reflector, err error) { s.reported(err) })
	if err != nil {
		return nil, err
	}
	first, second := history.New(name+", first"), history.New(name+", second")
	for _, l := range []*history.History{first, second} {
		if _, err := inf.AddEventHandler(history.Plain{History: l}); err != nil {
			return nil, err
		}
	}
	observable, ok := inf.(cache.Observable)
	if !ok {
		return nil, fmt.Errorf("%s: %T is not a cache.Observable", name, inf)
	}
	return &resident{
		name: name, of: of, run: &dropInRun{inf, observable}, suspect: observable.Quarantined, histories: []*history.History{first, second},
		held: func() history.Objects {
			out := history.Objects{}
			for _, obj := range inf.GetStore().List() {
				m := obj.(metav1.Object)
				out[history.KeyOf(m)] = m
			}
			return out
		},
	}, nil
}

// dropInRun is an informer of the drop-in as a kinglet.Runnable.
type dropInRun struct {
	cache.SharedIndexInformer
	cache.Observable
}

// Run implements kinglet.Runnable.
func (d *dropInRun) Run(ctx context.Context) error {
	d.RunWithContext(ctx)
	return nil
}

// WaitSynced implements kinglet.Runnable.
func (d *dropInRun) WaitSynced(ctx context.Context) error {
	if !cache.WaitForCacheSync(ctx.Done(), d.HasSynced) {
		st := d.Status()
		return &kinglet.NotSyncedError{Name: st.Name, Phase: st.Phase, LastError: st.LastError, Err: context.Cause(ctx)}
	}
	return nil
}
