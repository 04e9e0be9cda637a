package rules

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kinglet-go/kinglet"
	"github.com/kinglet-go/kinglet/controller"
	"github.com/kinglet-go/kinglet/internal/testclock"
	"github.com/kinglet-go/kinglet/kinglettest/apiserver"
	"github.com/kinglet-go/kinglet/prometheus"
	"github.com/kinglet-go/kinglet/source"
	"github.com/kinglet-go/kinglet/status"
	"github.com/kinglet-go/kinglet/store"
)

type configMap = *corev1.ConfigMap

// world is an informer of config maps with a handler, a controller, and their metrics.
type world struct {
	*testing.T
	storage *apiserver.Storage
	server  *apiserver.Server
	inf     *kinglet.Informer[configMap]
	ctrl    *controller.Controller[string]
	metrics *prometheus.Collector
	samples *samples
	mu      sync.Mutex
	// inject is what goes wrong with each request. Guarded by mu, as all below.
	inject apiserver.Inject
	// show, if not nil, changes what is said of the informer.
	show func(*status.Informer)
	// They have the handler, and runs of the controller, wait.
	holdHandler, holdRuns chan struct{}
}

// shown is the informer with what show makes of it.
type shown struct{ w *world }

func (s shown) Status() kinglet.Status {
	st := s.w.inf.Status()
	s.w.mu.Lock()
	defer s.w.mu.Unlock()
	if s.w.show != nil {
		s.w.show(&st)
	}
	return st
}

func (s shown) Inspect() status.Details { return s.w.inf.Inspect() }

// showing has f change what is said of the informer.
func (w *world) showing(f func(*status.Informer)) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.show = f
}

// live runs body in a bubble, with all of it started, and returns what was scraped. Its
// series have instance as label.
func live(t *testing.T, instance string, opts kinglet.Options[configMap], script apiserver.Script, body func(w *world)) *samples {
	t.Helper()
	all := &samples{instance: instance}
	synctest.Test(t, func(t *testing.T) {
		w := &world{T: t, storage: apiserver.NewStorage(apiserver.ConfigMaps), samples: all, inject: script.Inject()}
		for i := range 20 {
			w.put(i, "0")
		}
		w.server = apiserver.New(w.storage, apiserver.Options{Inject: func(r *apiserver.Request) *apiserver.Fault {
			w.mu.Lock()
			defer w.mu.Unlock()
			return w.inject(r)
		}})
		defer w.server.Close()
		src, err := source.FromConfig[configMap](w.server.Config(), apiserver.ConfigMaps.GroupVersionResource, source.Options{})
		w.must(err)
		opts.Name, opts.OnError = "configmaps", func(error) {}
		w.inf, err = kinglet.New(src, opts)
		w.must(err)
		_, err = w.inf.AddHandler(kinglet.HandlerFunc[configMap](func(ctx context.Context, changes []store.Change[configMap]) {
			w.await(ctx, &w.holdHandler)
			for _, c := range changes {
				_ = w.ctrl.Add(c.Key.Name) // it fails once the controller has ended
			}
		}), kinglet.HandlerOptions{Name: "enqueue"})
		w.must(err)
		w.ctrl, err = controller.New(controller.ReconcilerFunc[string](func(ctx context.Context, key string) (controller.Result, error) {
			w.await(ctx, &w.holdRuns)
			if key == "o1" {
				return controller.Result{}, fmt.Errorf("on purpose")
			}
			return controller.Result{}, nil
		}), controller.Options[string]{
			Name:    "rollout",
			OnError: func(error) {},
		})
		w.must(err)

		set := kinglet.NewSet()
		set.Observe(shown{w})
		set.ObserveController(w.ctrl)
		w.metrics = prometheus.NewCollector(set, prometheus.Options{Detailed: true})
		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan error, 2)
		go func() { ended <- w.inf.Run(ctx) }()
		go func() { ended <- w.ctrl.Run(ctx) }()
		body(w)
		stop()
		for range 2 {
			w.must(<-ended)
		}
	})
	return all
}

// await returns when hold, if there is one, is closed, or ctx ends.
func (w *world) await(ctx context.Context, hold *chan struct{}) {
	w.mu.Lock()
	closed := *hold
	w.mu.Unlock()
	if closed == nil {
		return
	}
	select {
	case <-closed:
	case <-ctx.Done():
	}
}

// hold has what looks at hold wait, until the function that is returned is called.
func (w *world) hold(hold *chan struct{}) (release func()) {
	w.mu.Lock()
	defer w.mu.Unlock()
	closed := make(chan struct{})
	*hold = closed
	return func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		*hold = nil
		close(closed)
	}
}

func (w *world) must(err error) {
	w.Helper()
	if err != nil {
		w.Fatal(err)
	}
}

func (w *world) put(i int, value string) {
	w.Helper()
	obj := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: fmt.Sprintf("o%d", i)}, Data: map[string]string{"value": value}}
	if _, err := w.storage.Update(obj); err != nil {
		_, err = w.storage.Create(obj)
		w.must(err)
	}
}

// pass lets time pass, with a write and a scrape each interval.
func (w *world) pass(d time.Duration) {
	w.Helper()
	for n := 0; d > 0; d -= interval {
		n++
		w.put(n%5, time.Now().String())
		testclock.Elapse(interval)
		w.samples.scrape(w.T, w.metrics)
	}
}

// script has everything that goes wrong from here on.
func (w *world) script(s apiserver.Script) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.inject = s.Inject()
}
