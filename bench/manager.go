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

	"github.com/kinglet-go/kinglet/bench/internal/replay"
	"github.com/kinglet-go/kinglet/ctrlruntime"
	"github.com/kinglet-go/kinglet/internal/tests/testpods"
)

// managed is a manager at work, and what is known of its server.
type managed struct {
	job     *job
	pods    *testpods.Collection
	control replay.Control
	figures measure

	// newCache and newClient are the two lines of the manager's options that tell the
	// engines apart.
	newCache  cache.NewCacheFunc
	newClient client.NewClientFunc

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

// managing has a manager to measure, which do starts.
func managing(do func(context.Context, *managed) error) func(context.Context, *job) (measure, error) {
	return func(ctx context.Context, j *job) (measure, error) {
		c := testpods.NewCollection(*j.row.server)
		ctx, cancel := context.WithTimeout(ctx, phaseTimeout)
		defer cancel()
		w := &managed{job: j, pods: c, control: replay.Control{Endpoint: j.Endpoint}, figures: measure{},
			newCache: cache.New, newClient: client.New}
		if j.Engine == kinglets {
			w.newCache, w.newClient = ctrlruntime.NewCache, ctrlruntime.NewClient
		}
		defer w.stop()
		return w.figures, do(ctx, w)
	}
}

// config is that of a client of the server, over TLS and HTTP/2 if it is to be secure,
// and over plain HTTP/1.1 otherwise.
func (w *managed) config(secure bool) *rest.Config {
	at := w.job.Endpoint
	cfg := &rest.Config{Host: at.Plain, QPS: -1}
	if secure {
		cfg.Host, cfg.CAData = at.Secure, at.CA
	}
	cfg.Host += "/" + string(replay.Protobuf)
	return cfg
}

// start is startWith for all pods of the server.
func (w *managed) start(ctx context.Context, cfg *rest.Config, opts cache.Options, fields map[string]client.IndexerFunc) error {
	return w.startWith(ctx, cfg, opts, fields, w.pods.Len())
}

// startWith makes a manager with a handler of pods and indexes by fields, and runs it.
// It returns when the handler has been told of n pods.
func (w *managed) startWith(ctx context.Context, cfg *rest.Config, opts cache.Options, fields map[string]client.IndexerFunc, n int) (err error) {
	ctrl.SetLogger(logr.Discard())
	w.manager, err = ctrl.NewManager(cfg, ctrl.Options{
		NewCache:       w.newCache,
		NewClient:      w.newClient,
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
func (w *managed) expect(n int) <-chan struct{} {
	reached := make(chan struct{})
	w.reached.Store(&reached)
	w.goal.Store(w.told.Load() + int64(n))
	return reached
}

func (w *managed) hear() {
	if w.told.Add(1) == w.goal.Load() {
		close(*w.reached.Load())
	}
}

func (w *managed) wait(ctx context.Context, reached <-chan struct{}) error {
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
func (w *managed) stop() {
	if w.cancel != nil {
		w.cancel()
		<-w.ended
	}
}
