package main

import (
	"context"
	"fmt"
	"net/http"
	"sync/atomic"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/client-go/rest"
	toolscache "k8s.io/client-go/tools/cache"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	"github.com/kinglet-go/kinglet/bench/internal/pods"
	"github.com/kinglet-go/kinglet/bench/internal/replay"
	"github.com/kinglet-go/kinglet/ctrlruntime"
)

// side is a program: two lines of the manager's options tell them apart.
type side struct {
	name      string
	newCache  cache.NewCacheFunc
	newClient client.NewClientFunc
}

// The sides' names, as they are printed.
const (
	theirs = "controller-runtime"
	ours   = "kinglet"
)

var sides = []side{{theirs, cache.New, client.New}, {ours, ctrlruntime.NewCache, ctrlruntime.NewClient}}

func sideOf(name string) (side, error) {
	for _, s := range sides {
		if s.name == name {
			return s, nil
		}
	}
	return side{}, fmt.Errorf("no side %q", name)
}

// world is a manager at work, and what is known of its server.
type world struct {
	job     *job
	side    side
	pods    *pods.Collection
	control replay.Control
	figures Measure

	manager ctrl.Manager
	cancel  context.CancelFunc
	// ended is closed when the manager has ended, with err.
	ended chan struct{}
	err   error
	// told counts the calls of the handler.
	told atomic.Int64
	// goal is the number of calls that closes reached.
	goal    atomic.Int64
	reached atomic.Pointer[chan struct{}]
}

// config is that of a client of the server, over TLS and HTTP/2 if it is to be secure,
// and over plain HTTP/1.1 otherwise.
func (w *world) config(secure bool) *rest.Config {
	at := w.job.Endpoint
	cfg := &rest.Config{Host: at.Plain, QPS: -1}
	if secure {
		cfg.Host, cfg.CAData = at.Secure, at.CA
	}
	cfg.Host += "/" + string(replay.Protobuf)
	return cfg
}

// start is startWith for all pods of the server.
func (w *world) start(ctx context.Context, cfg *rest.Config, opts cache.Options, fields map[string]client.IndexerFunc) error {
	return w.startWith(ctx, cfg, opts, fields, w.pods.Len())
}

// startWith makes a manager with a handler of pods and indexes by fields, and runs it.
// It returns when the handler has been told of n pods.
func (w *world) startWith(ctx context.Context, cfg *rest.Config, opts cache.Options, fields map[string]client.IndexerFunc, n int) (err error) {
	ctrl.SetLogger(logr.Discard())
	w.manager, err = ctrl.NewManager(cfg, ctrl.Options{
		NewCache:       w.side.newCache,
		NewClient:      w.side.newClient,
		Cache:          opts,
		Metrics:        metricsserver.Options{BindAddress: "0"},
		MapperProvider: mapper,
	})
	if err != nil {
		return err
	}
	for field, extract := range fields {
		if err := w.manager.GetFieldIndexer().IndexField(ctx, &corev1.Pod{}, field, extract); err != nil {
			return err
		}
	}
	informer, err := w.manager.GetCache().GetInformer(ctx, &corev1.Pod{})
	if err != nil {
		return err
	}
	all := w.expect(n)
	_, err = informer.AddEventHandler(toolscache.ResourceEventHandlerFuncs{
		AddFunc:    func(any) { w.hear() },
		UpdateFunc: func(any, any) { w.hear() },
	})
	if err != nil {
		return err
	}
	ctx, w.cancel = context.WithCancel(ctx)
	w.ended = make(chan struct{})
	go func() {
		defer close(w.ended)
		w.err = w.manager.Start(ctx)
	}()
	return w.wait(ctx, all)
}

// mapper knows the resources of the server, which has no discovery.
func mapper(*rest.Config, *http.Client) (meta.RESTMapper, error) {
	m := meta.NewDefaultRESTMapper(nil)
	for _, kind := range [...]string{"Pod", "PodList"} {
		m.Add(corev1.SchemeGroupVersion.WithKind(kind), meta.RESTScopeNamespace)
	}
	return m, nil
}

// expect returns a channel that is closed when the handler has been called n times
// more.
func (w *world) expect(n int) <-chan struct{} {
	reached := make(chan struct{})
	w.reached.Store(&reached)
	w.goal.Store(w.told.Load() + int64(n))
	return reached
}

func (w *world) hear() {
	if w.told.Add(1) == w.goal.Load() {
		close(*w.reached.Load())
	}
}

func (w *world) wait(ctx context.Context, reached <-chan struct{}) error {
	select {
	case <-reached:
		return nil
	case <-w.ended:
		return fmt.Errorf("the manager has ended, with error %v", w.err)
	case <-ctx.Done():
		return fmt.Errorf("the handler was called %d times, not %d: %w", w.told.Load(), w.goal.Load(), context.Cause(ctx))
	}
}

// stop returns when the manager has ended.
func (w *world) stop() {
	if w.cancel != nil {
		w.cancel()
		<-w.ended
	}
}
