package main

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/kinglet-go/kinglet"
	"github.com/kinglet-go/kinglet/cache"
	"github.com/kinglet-go/kinglet/source"
	"github.com/kinglet-go/kinglet/test/internal/history"
)

const (
	// visit is how long an informer has to sync while there is trouble.
	visit = 3 * time.Second
	// farewell is how long an informer may take to stop.
	farewell = time.Minute
)

// visitors are informers that are started and stopped by the hundreds.
type visitors struct {
	cfg     *rest.Config
	lw      func(namespace string) cache.ListerWatcher
	onError func(error)

	started, synced atomic.Uint64
}

func newVisitors(cfg *rest.Config, onError func(error)) (*visitors, error) {
	client, err := kubernetes.NewForConfig(cfg)
	if err != nil {
		return nil, err
	}
	return &visitors{cfg: cfg, onError: onError,
		lw: func(namespace string) cache.ListerWatcher {
			return cache.NewListWatchFromClient(client.CoreV1().RESTClient(), "configmaps", namespace, nil)
		}}, nil
}

// run starts waves of n informers until ctx ends, and returns what was wrong.
func (v *visitors) run(ctx context.Context, n int, between time.Duration) error {
	for ctx.Err() == nil {
		if err := v.wave(ctx, n); err != nil {
			return err
		}
		pause(ctx, between)
	}
	return nil
}

// wave starts n informers together, lets each sync if it can, and stops it.
func (v *visitors) wave(ctx context.Context, n int) error {
	errs := make(chan error, n)
	var all sync.WaitGroup
	for i := range n {
		all.Go(func() { errs <- v.one(ctx, i) })
	}
	all.Wait()
	close(errs)
	for err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

// one runs one informer, of kind i.
func (v *visitors) one(ctx context.Context, i int) error {
	inf, err := v.informer(i)
	if err != nil {
		return err
	}
	v.started.Add(1)
	running, stop := context.WithCancel(ctx)
	defer stop()
	ended := make(chan error, 1)
	go func() { ended <- inf.Run(running) }()
	waiting, cancel := context.WithTimeout(ctx, visit)
	defer cancel()
	if inf.WaitSynced(waiting) == nil {
		v.synced.Add(1)
	}
	stop()
	timer := time.NewTimer(farewell)
	defer timer.Stop()
	select {
	case err := <-ended:
		return err
	case <-timer.C:
		return fmt.Errorf("guarantee 9: an informer has not ended %v after it was stopped: %+v", farewell, inf.Status())
	}
}

func (v *visitors) informer(i int) (kinglet.Runnable, error) {
	namespace := churnNamespace(i % namespaces)
	switch i % 3 {
	case 0:
		return visitor[*corev1.ConfigMap](v, "configmaps", namespace)
	case 1:
		return visitor[*corev1.Pod](v, "pods", "")
	}
	inf := cache.NewSharedIndexInformer(v.lw(namespace), &corev1.ConfigMap{}, 0, cache.Indexers{})
	err := inf.SetWatchErrorHandlerWithContext(func(_ context.Context, _ *cache.Reflector, err error) { v.onError(err) })
	if err != nil {
		return nil, err
	}
	if _, err := inf.AddEventHandler(history.Plain{History: history.New("visitor")}); err != nil {
		return nil, err
	}
	return &dropInRun{inf, inf.(cache.Observable)}, nil
}

func visitor[T metav1.Object](v *visitors, resource, namespace string) (kinglet.Runnable, error) {
	src, err := source.FromConfig[T](v.cfg, corev1.SchemeGroupVersion.WithResource(resource), source.Options{Namespace: namespace})
	if err != nil {
		return nil, err
	}
	inf, err := kinglet.New(src, kinglet.Options[T]{OnError: v.onError})
	if err != nil {
		return nil, err
	}
	_, err = inf.AddHandler(history.Typed[T]{History: history.New("visitor")}, kinglet.HandlerOptions{})
	return inf, err
}

// configMapsOf lists and watches ConfigMaps as generated code does, with
// closures around a client.
func configMapsOf(cfg *rest.Config, namespace string) (*cache.ListWatch, error) {
	client, err := kubernetes.NewForConfig(cfg)
	if err != nil {
		return nil, err
	}
	maps := client.CoreV1().ConfigMaps(namespace)
	return &cache.ListWatch{
		ListWithContextFunc: func(ctx context.Context, lo metav1.ListOptions) (runtime.Object, error) {
			return maps.List(ctx, lo)
		},
		WatchFuncWithContext: func(ctx context.Context, lo metav1.ListOptions) (watch.Interface, error) {
			return maps.Watch(ctx, lo)
		},
	}, nil
}
