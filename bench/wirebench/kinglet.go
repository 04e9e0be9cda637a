package main

import (
	"context"
	"sync"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	"github.com/kinglet-go/kinglet"
	"github.com/kinglet-go/kinglet/source"
)

var podsResource = corev1.SchemeGroupVersion.WithResource("pods")

func startKinglet(ctx context.Context, s *setup, cfg *rest.Config, a *audience) (running, error) {
	if s.DropIn {
		return startDropIn(ctx, s, cfg, a)
	}
	switch s.Form {
	case unstructured:
		return kingletOf(ctx, s, cfg, a, nil, nodeOfUnstructured)
	case metadataOnly:
		return kingletOf(ctx, s, cfg, a, nil, appOf)
	}
	// What an option of the source can do is not left to a transform.
	if s.Shape == dropped {
		return kingletOf(ctx, s, cfg, a, nil, nodeOf)
	}
	return kingletOf(ctx, s, cfg, a, transforms[s.Shape], nodeOf)
}

// kingletOptions are the source's.
func kingletOptions(s *setup) source.Options {
	opts := source.Options{OwnConnection: s.Transport == http1 && !s.SharedConnection}
	if s.Shape == dropped {
		opts.Drop = []string{source.DropManagedFields}
	}
	return opts
}

// kingletOf is one of Ts, that fn makes what they are to be unless it is nil.
func kingletOf[T metav1.Object](
	ctx context.Context, s *setup, cfg *rest.Config, a *audience, fn func(T) (T, error), second func(T) []string,
) (running, error) {
	src, err := source.FromConfig[T](cfg, podsResource, kingletOptions(s))
	if err != nil {
		return nil, err
	}
	if fn != nil {
		src = source.Map(src, fn)
	}
	return runKinglet(ctx, s, src, a, second)
}

// kingletInformer is one at work.
type kingletInformer[T metav1.Object] struct {
	informer *kinglet.Informer[T]
	cancel   context.CancelFunc
	done     sync.WaitGroup
}

func runKinglet[T metav1.Object](ctx context.Context, s *setup, src source.Source[T], a *audience, second func(T) []string) (running, error) {
	inf, err := kinglet.New(src, kinglet.Options[T]{
		Indexers: map[string]kinglet.IndexFunc[T]{
			byNamespace: func(obj T) ([]string, error) { return []string{obj.GetNamespace()}, nil },
			secondIndex: func(obj T) ([]string, error) { return second(obj), nil },
		},
		OnError:          a.failed,
		DisableWatchList: s.Lists,
	})
	if err != nil {
		return nil, err
	}
	opts := kinglet.HandlerOptions{}
	if !s.Folding {
		// More than there are events: nothing folds.
		opts.EveryVersion, opts.Bound = true, 2+(s.Rounds+2)*max(s.Pods.Pods, 1)
	}
	for _, l := range a.listeners {
		_, err := inf.AddHandler(kinglet.HandlerFuncs[T]{
			OnAdd:    func(_ context.Context, obj T, _ bool) { l.heard(obj.GetResourceVersion()) },
			OnUpdate: func(_ context.Context, _, obj T) { l.heard(obj.GetResourceVersion()) },
			OnDelete: func(context.Context, kinglet.DeletedObject[T]) { l.deleted() },
		}, opts)
		if err != nil {
			return nil, err
		}
	}
	k := &kingletInformer[T]{informer: inf}
	ctx, k.cancel = context.WithCancel(ctx)
	k.done.Go(func() {
		if err := inf.Run(ctx); err != nil {
			a.failed(err)
		}
	})
	return k, nil
}

func (k *kingletInformer[T]) get(namespace, name string) metav1.Object {
	obj, ok := k.informer.Store().Get(kinglet.Key{Namespace: namespace, Name: name})
	if !ok {
		return nil
	}
	return obj
}

func (k *kingletInformer[T]) len() int { return k.informer.Store().Len() }

func (k *kingletInformer[T]) stop() {
	k.cancel()
	k.done.Wait()
}
