package main

import (
	"context"
	"errors"
	"fmt"
	"math"
	"sync"
	"sync/atomic"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"

	"github.com/kinglet-go/kinglet"
	"github.com/kinglet-go/kinglet/source"
)

// audience counts what handlers heard, and what went wrong.
type audience struct {
	want   int64
	adds   atomic.Int64
	mu     sync.Mutex
	errors []error // guarded by mu
}

func (a *audience) failed(err error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.errors = append(a.errors, err)
}

// check returns what is wrong once everybody has synced.
func (a *audience) check() error {
	a.mu.Lock()
	defer a.mu.Unlock()
	if got := a.adds.Load(); got != a.want {
		a.errors = append(a.errors, fmt.Errorf("handlers were told of %d objects, not %d", got, a.want))
	}
	return errors.Join(a.errors...)
}

// kinglets are kinglet's informers.
type kinglets struct {
	audience
	set           *kinglet.Set
	registrations []kinglet.Registration
	cancel        context.CancelFunc
	done          sync.WaitGroup
}

// status returns how long it takes to read the status of each, once caches are warm.
func (k *kinglets) status() time.Duration {
	best := time.Duration(math.MaxInt64)
	for range 20 {
		began := time.Now()
		k.set.Status()
		best = min(best, time.Since(began))
	}
	return best
}

func startKinglet(ctx context.Context, client *rest.RESTClient, n, objects int) (idle, error) {
	k := &kinglets{set: kinglet.NewSet(), audience: audience{want: int64(n) * int64(objects)}}
	for i := range n {
		src, err := source.FromREST[*corev1.ConfigMap](client, "configmaps", source.Options{Namespace: namespaceOf(i)})
		if err != nil {
			return nil, err
		}
		inf, err := kinglet.New(src, kinglet.Options[*corev1.ConfigMap]{
			Indexers: map[string]kinglet.IndexFunc[*corev1.ConfigMap]{
				"namespace": func(cm *corev1.ConfigMap) ([]string, error) { return []string{cm.Namespace}, nil },
				"app":       func(cm *corev1.ConfigMap) ([]string, error) { return []string{cm.Labels["app"]}, nil },
			},
			OnError: k.failed,
		})
		if err != nil {
			return nil, err
		}
		reg, err := inf.AddHandler(kinglet.HandlerFuncs[*corev1.ConfigMap]{
			OnAdd: func(context.Context, *corev1.ConfigMap, bool) { k.adds.Add(1) },
		}, kinglet.HandlerOptions{})
		if err != nil {
			return nil, err
		}
		k.registrations = append(k.registrations, reg)
		if err := k.set.Add(inf); err != nil {
			return nil, err
		}
	}
	ctx, k.cancel = context.WithCancel(ctx)
	k.done.Go(func() {
		if err := k.set.Run(ctx); err != nil {
			k.failed(err)
		}
	})
	return k, nil
}

func (k *kinglets) synced(ctx context.Context) error {
	for _, reg := range k.registrations {
		if err := reg.WaitSynced(ctx); err != nil {
			return err
		}
	}
	return k.check()
}

func (k *kinglets) behind(version string) (n int) {
	for _, st := range k.set.Status() {
		if st.ResourceVersion != version {
			n++
		}
	}
	return n
}

func (k *kinglets) stop() {
	k.cancel()
	k.done.Wait()
}

// clientGos are client-go's informers.
type clientGos struct {
	audience
	informers     []cache.SharedIndexInformer
	registrations []cache.ResourceEventHandlerRegistration
	cancel        context.CancelFunc
	done          sync.WaitGroup
}

func startClientGo(ctx context.Context, client *rest.RESTClient, n, objects int) (idle, error) {
	c := &clientGos{audience: audience{want: int64(n) * int64(objects)}}
	for i := range n {
		lw := cache.NewListWatchFromClient(client, "configmaps", namespaceOf(i), fields.Everything())
		inf := cache.NewSharedIndexInformer(lw, &corev1.ConfigMap{}, 0, cache.Indexers{
			cache.NamespaceIndex: cache.MetaNamespaceIndexFunc,
			"app":                func(obj any) ([]string, error) { return []string{obj.(*corev1.ConfigMap).Labels["app"]}, nil },
		})
		reg, err := inf.AddEventHandler(cache.ResourceEventHandlerFuncs{AddFunc: func(any) { c.adds.Add(1) }})
		if err != nil {
			return nil, err
		}
		c.informers = append(c.informers, inf)
		c.registrations = append(c.registrations, reg)
	}
	ctx, c.cancel = context.WithCancel(ctx)
	for _, inf := range c.informers {
		c.done.Go(func() { inf.RunWithContext(ctx) })
	}
	return c, nil
}

func (c *clientGos) synced(ctx context.Context) error {
	for _, reg := range c.registrations {
		if !cache.WaitForCacheSync(ctx.Done(), reg.HasSynced) {
			return errors.New("client-go's informers have not synced")
		}
	}
	return c.check()
}

func (c *clientGos) behind(version string) (n int) {
	for _, inf := range c.informers {
		if inf.LastSyncResourceVersion() != version {
			n++
		}
	}
	return n
}

func (c *clientGos) stop() {
	c.cancel()
	c.done.Wait()
}
