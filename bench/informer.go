package main

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	uns "k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/dynamic"
	typedv1 "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/rest"
	clientgo "k8s.io/client-go/tools/cache"
	runtimecache "sigs.k8s.io/controller-runtime/pkg/cache"

	"github.com/kinglet-go/kinglet"
	"github.com/kinglet-go/kinglet/bench/internal/replay"
	"github.com/kinglet-go/kinglet/cache"
	"github.com/kinglet-go/kinglet/source"
)

// setup is what an informer is measured at. The zero value is one of typed pods, whole,
// over plain HTTP/1.1.
type setup struct {
	encoding replay.Encoding
	// secure is TLS with HTTP/2.
	secure bool
	// delay is the MaxDelay of kinglet's source; nil is the default.
	delay *time.Duration
	// untyped is of Unstructured.
	untyped bool
	// transform makes what is stored; whole leaves all.
	transform transform
	// handlers are as many; 0 is one.
	handlers int
	// folding leaves kinglet's handlers as they are by default: versions that a handler
	// is too slow for may fold. Otherwise it has to deliver each.
	folding bool
	// bound is how many events a handler that folds nothing may be behind.
	bound     int
	namespace string
}

type transform int

const (
	whole transform = iota
	// managedFieldsDropped is an option of kinglet's source, and a function for client-go.
	managedFieldsDropped
	// emptied writes deep into the object, to what pods of one template have in common:
	// no value of a variable gets into memory, and no managed fields.
	emptied
	// lean is an option of kinglet's source: see slimFields.
	lean
)

// apply may write into what it is given, as transforms do.
func (t transform) apply(p *corev1.Pod) (*corev1.Pod, error) {
	if t == lean {
		return slim(p), nil
	}
	if t != whole {
		p.ManagedFields = nil
	}
	if t == emptied {
		for i := range p.Spec.Containers {
			env := p.Spec.Containers[i].Env
			for k := range env {
				env[k].Value = ""
			}
		}
	}
	return p, nil
}

// config is that of a client of at.
func (s *setup) config(at replay.Endpoint) *rest.Config {
	cfg := &rest.Config{Host: at.Plain, QPS: -1}
	if s.secure {
		cfg.Host, cfg.CAData = at.Secure, at.CA
	}
	cfg.Host += "/" + string(s.encoding)
	cfg.ContentType = s.encoding.MediaType()
	return cfg
}

// running is an informer at work.
type running interface {
	// get returns what the store holds under a key; nil if nothing.
	get(namespace, name string) metav1.Object
	len() int
	// version is the resource version that the informer has reached.
	version() string
	// stop returns when everything has ended.
	stop()
}

// start starts an engine's informer of pods with two indexes, whose handlers are the
// audience's.
func (s *setup) start(ctx context.Context, engine string, cfg *rest.Config, a *audience) (running, error) {
	switch engine {
	case clientGo:
		lw, example, err := s.listWatch(cfg)
		if err != nil {
			return nil, err
		}
		return s.runShared(ctx, clientgo.NewSharedIndexInformer(lw, example, 0, sharedIndexers), a)
	case dropIn:
		return s.startDropIn(ctx, cfg, a)
	case runtimes:
		return s.startRuntimes(ctx, cfg, a)
	}
	if engine == kinglets || strings.HasPrefix(engine, delayed) {
		if s.untyped {
			return startTyped(ctx, s, cfg, a, nil, nodeOfUnstructured)
		}
		if s.transform == emptied {
			return startTyped(ctx, s, cfg, a, s.transform.apply, nodeOf)
		}
		return startTyped(ctx, s, cfg, a, nil, nodeOf)
	}
	return nil, errors.New("no informer is called " + engine)
}

// The indexers that every informer has: by namespace, and by node, or by application where
// the node is not known.
const (
	byNamespace = "namespace"
	secondIndex = "node"
)

func nodeOf(p *corev1.Pod) []string { return []string{p.Spec.NodeName} }

func nodeOfUnstructured(u *uns.Unstructured) []string {
	node, _, _ := uns.NestedString(u.Object, "spec", "nodeName")
	return []string{node}
}

var sharedIndexers = clientgo.Indexers{
	byNamespace: clientgo.MetaNamespaceIndexFunc,
	secondIndex: func(obj any) ([]string, error) {
		if p, ok := obj.(*corev1.Pod); ok {
			return nodeOf(p), nil
		}
		return nodeOfUnstructured(obj.(*uns.Unstructured)), nil
	},
}

// sharedInformer is client-go's, or the drop-in's, which has the same interface.
type sharedInformer struct {
	informer clientgo.SharedIndexInformer
	cancel   context.CancelFunc
	done     sync.WaitGroup
}

func (s *setup) runShared(ctx context.Context, inf clientgo.SharedIndexInformer, a *audience) (running, error) {
	if s.transform != whole {
		err := inf.SetTransform(func(obj any) (any, error) {
			if p, ok := obj.(*corev1.Pod); ok {
				return s.transform.apply(p)
			}
			return obj, nil
		})
		if err != nil {
			return nil, err
		}
	}
	for _, l := range a.listeners {
		if _, err := inf.AddEventHandler(l.clientGoHandler()); err != nil {
			return nil, err
		}
	}
	c := &sharedInformer{informer: inf}
	ctx, c.cancel = context.WithCancel(ctx)
	c.done.Go(func() { inf.RunWithContext(ctx) })
	return c, nil
}

// listWatch lists and watches through a generated client or a dynamic one, as
// the informers of the same names do.
func (s *setup) listWatch(cfg *rest.Config) (clientgo.ListerWatcher, runtime.Object, error) {
	var lw *clientgo.ListWatch
	var client any
	var example runtime.Object
	if s.untyped {
		c, err := dynamic.NewForConfig(cfg)
		if err != nil {
			return nil, nil, err
		}
		of := c.Resource(podsResource).Namespace(s.namespace)
		client, example, lw = c, &uns.Unstructured{}, closures(of.List, of.Watch)
	} else {
		c, err := typedv1.NewForConfig(cfg)
		if err != nil {
			return nil, nil, err
		}
		of := c.Pods(s.namespace)
		client, example, lw = c, &corev1.Pod{}, closures(of.List, of.Watch)
	}
	return clientgo.ToListWatcherWithWatchListSemantics(lw, client), example, nil
}

func closures[L runtime.Object](list func(context.Context, metav1.ListOptions) (L, error), watch func(context.Context, metav1.ListOptions) (watch.Interface, error)) *clientgo.ListWatch {
	return &clientgo.ListWatch{
		ListWithContextFunc:  func(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) { return list(ctx, o) },
		WatchFuncWithContext: watch,
	}
}

// startDropIn is client-go's program with one import changed. Typed objects come through
// a ListWatch of a client; unstructured ones through closures, as a dynamic informer has
// them, so that the client has to let the wire be read: see source.WrapTransport.
func (s *setup) startDropIn(ctx context.Context, cfg *rest.Config, a *audience) (running, error) {
	cfg.Wrap(source.WrapTransport)
	if !s.untyped {
		c, err := typedv1.NewForConfig(cfg)
		if err != nil {
			return nil, err
		}
		lw := cache.NewListWatchFromClient(c.RESTClient(), "pods", s.namespace, nil)
		return s.runShared(ctx, cache.NewSharedIndexInformer(lw, &corev1.Pod{}, 0, sharedIndexers), a)
	}
	lw, example, err := s.listWatch(cfg)
	if err != nil {
		return nil, err
	}
	return s.runShared(ctx, cache.NewSharedIndexInformer(lw, example, 0, sharedIndexers), a)
}

// startRuntimes starts controller-runtime's informer.
func (s *setup) startRuntimes(ctx context.Context, cfg *rest.Config, a *audience) (running, error) {
	mapper := meta.NewDefaultRESTMapper(nil)
	mapper.Add(corev1.SchemeGroupVersion.WithKind("Pod"), meta.RESTScopeNamespace)
	c, err := runtimecache.New(cfg, runtimecache.Options{
		Mapper:            mapper,
		DefaultNamespaces: map[string]runtimecache.Config{s.namespace: {}},
	})
	if err != nil {
		return nil, err
	}
	r := &runtimeInformer{}
	ctx, r.cancel = context.WithCancel(ctx)
	r.done.Go(func() {
		if err := c.Start(ctx); err != nil {
			a.failed(err)
		}
	})
	inf, err := c.GetInformer(ctx, &corev1.Pod{}, runtimecache.BlockUntilSynced(false))
	if err == nil {
		_, err = inf.AddEventHandler(a.listeners[0].clientGoHandler())
	}
	if err != nil {
		r.stop()
		return nil, err
	}
	return r, nil
}

// runtimeInformer is controller-runtime's. Rows of rates look at nothing but its events.
type runtimeInformer struct {
	running
	cancel context.CancelFunc
	done   sync.WaitGroup
}

func (r *runtimeInformer) stop() {
	r.cancel()
	r.done.Wait()
}

func (c *sharedInformer) get(namespace, name string) metav1.Object {
	obj, ok, err := c.informer.GetIndexer().GetByKey(namespace + "/" + name)
	if err != nil || !ok {
		return nil
	}
	return obj.(metav1.Object)
}

func (c *sharedInformer) len() int        { return len(c.informer.GetIndexer().ListKeys()) }
func (c *sharedInformer) version() string { return c.informer.LastSyncResourceVersion() }

func (c *sharedInformer) stop() {
	c.cancel()
	c.done.Wait()
}

var podsResource = corev1.SchemeGroupVersion.WithResource("pods")

// typedInformer is kinglet's.
type typedInformer[T metav1.Object] struct {
	informer *kinglet.Informer[T]
	cancel   context.CancelFunc
	done     sync.WaitGroup
}

// startTyped starts one of Ts that fn makes what they are to be, unless it is nil.
func startTyped[T metav1.Object](
	ctx context.Context, s *setup, cfg *rest.Config, a *audience, fn func(T) (T, error), second func(T) []string,
) (running, error) {
	opts := source.Options{Namespace: s.namespace, MaxDelay: s.delay}
	if s.transform == managedFieldsDropped {
		opts.Drop = []string{source.DropManagedFields}
	} else if s.transform == lean {
		opts.Keep = slimFields
	}
	src, err := source.FromConfig[T](cfg, podsResource, opts)
	if err != nil {
		return nil, err
	}
	if fn != nil {
		src = source.Map(src, fn)
	}
	inf, err := kinglet.New(src, kinglet.Options[T]{
		Indexers: map[string]kinglet.IndexFunc[T]{
			byNamespace: func(obj T) ([]string, error) { return []string{obj.GetNamespace()}, nil },
			secondIndex: func(obj T) ([]string, error) { return second(obj), nil },
		},
		OnError: a.failed,
	})
	if err != nil {
		return nil, err
	}
	delivery := kinglet.HandlerOptions{}
	if !s.folding {
		delivery.EveryVersion, delivery.Bound = true, s.bound
	}
	for _, l := range a.listeners {
		_, err := inf.AddHandler(kinglet.HandlerFuncs[T]{
			OnAdd:    func(_ context.Context, obj T, _ bool) { l.handle(obj.GetResourceVersion()) },
			OnUpdate: func(_ context.Context, _, obj T) { l.handle(obj.GetResourceVersion()) },
			OnDelete: func(context.Context, kinglet.DeletedObject[T]) { l.deleted() },
		}, delivery)
		if err != nil {
			return nil, err
		}
	}
	k := &typedInformer[T]{informer: inf}
	ctx, k.cancel = context.WithCancel(ctx)
	k.done.Go(func() {
		if err := inf.Run(ctx); err != nil {
			a.failed(err)
		}
	})
	return k, nil
}

func (k *typedInformer[T]) get(namespace, name string) metav1.Object {
	obj, ok := k.informer.Store().Get(kinglet.Key{Namespace: namespace, Name: name})
	if !ok {
		return nil
	}
	return obj
}

func (k *typedInformer[T]) len() int        { return k.informer.Store().Len() }
func (k *typedInformer[T]) version() string { return k.informer.Status().ResourceVersion }

func (k *typedInformer[T]) stop() {
	k.cancel()
	k.done.Wait()
}

// stopAll stops informers at the same time.
func stopAll(all []running) {
	var done sync.WaitGroup
	for _, r := range slices.Backward(all) {
		done.Go(r.stop)
	}
	done.Wait()
}
