package main

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/kinglet-go/kinglet"
	"github.com/kinglet-go/kinglet/cache"
	"github.com/kinglet-go/kinglet/source"
)

const (
	// visit is how long an informer has to sync while there is trouble.
	visit = 3 * time.Second
	// farewell is how long an informer may take to stop.
	farewell = time.Minute
)

// visitors are informers that are started and stopped by the hundreds.
type visitors struct {
	soak   *soak
	cfg    *rest.Config
	client kubernetes.Interface // of cfg

	started, synced atomic.Uint64
}

func newVisitors(s *soak) (*visitors, error) {
	cfg := s.plane.pooled()
	client, err := kubernetes.NewForConfig(cfg)
	return &visitors{soak: s, cfg: cfg, client: client}, err
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

// informer makes one as residents are.
func (v *visitors) informer(i int) (run kinglet.Runnable, err error) {
	var r *resident
	c, namespace := v.soak.plane.collections(), churnNamespace(i%namespaces)
	switch i % 3 {
	case 0:
		r, err = typed[*corev1.ConfigMap](v.soak, "visitor", v.cfg, c.configMaps, source.Options{Namespace: namespace})
	case 1:
		r, err = typed[*corev1.Pod](v.soak, "visitor", v.cfg, c.pods, source.Options{})
	default:
		lw := cache.NewListWatchFromClient(v.client.CoreV1().RESTClient(), "configmaps", namespace, nil)
		r, err = v.soak.dropIn("visitor", lw, c.configMaps)
	}
	if err != nil {
		return nil, err
	}
	return r.run, nil
}
