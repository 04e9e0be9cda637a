package ctrlruntime

import (
	"bytes"
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes/scheme"
	toolscache "k8s.io/client-go/tools/cache"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/klog/v2/textlogger"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	logf "sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	kingletcache "github.com/kinglet-go/kinglet/cache"
	"github.com/kinglet-go/kinglet/ctrlruntime"
	"github.com/kinglet-go/kinglet/internal/testclock"
	"github.com/kinglet-go/kinglet/kinglettest/apiserver"
)

var configMapKind = corev1.SchemeGroupVersion.WithKind("ConfigMap")

// onlyPods makes everything wait for pods, and for nothing else.
func onlyPods() ctrlruntime.Options {
	return ctrlruntime.Options{Required: []schema.GroupVersionKind{podKind}}
}

// forbidding refuses a resource while *forbidden is set.
func (w *world) forbidding(resource string, forbidden *bool) {
	w.refuse = func(r *apiserver.Request) error {
		if *forbidden && r.Resource.Resource == resource {
			return apierrors.NewForbidden(r.Resource, "", errors.New("not for you"))
		}
		return nil
	}
}

func TestAKindThatIsForbiddenHoldsUpNobodyUnlessItIsRequired(t *testing.T) {
	for name, required := range map[string]bool{"required": true, "optional": false} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { forbiddenKind(t, required) })
		})
	}
}

func forbiddenKind(t *testing.T, required bool) {
	w := newWorld(t)
	w.create(pod("a", "p", "n1", nil), configMap("a", "c", nil))
	forbidden := true
	w.forbidding("configmaps", &forbidden)
	opts := onlyPods()
	if required {
		opts.Required = append(opts.Required, configMapKind)
	}
	failures := 0
	c, end := w.run(opts.NewCache, cache.Options{DefaultWatchErrorHandler: func(context.Context, *toolscache.Reflector, error) { failures++ }})
	defer end()
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	began := time.Now()
	informer, err := c.GetInformer(ctx, &corev1.ConfigMap{})
	if required {
		if !apierrors.IsTimeout(err) || c.WaitForCacheSync(ctx) {
			t.Errorf("a required kind was not waited for: %v", err)
		}
		return
	}
	if err != nil || informer.HasSynced() || time.Since(began) > time.Second {
		t.Fatalf("after %v: synced %v, %v", time.Since(began), informer.HasSynced(), err)
	}
	queue := workqueue.NewTypedRateLimitingQueue(workqueue.DefaultTypedControllerRateLimiter[reconcile.Request]())
	defer queue.ShutDown()
	kind := source.Kind(c, &corev1.ConfigMap{}, &handler.TypedEnqueueRequestForObject[*corev1.ConfigMap]{})
	if err := kind.Start(ctx, queue); err != nil {
		t.Fatal(err)
	}
	if err := kind.WaitForSync(ctx); err != nil || !c.WaitForCacheSync(ctx) || ctx.Err() != nil {
		t.Errorf("a controller of the kind has not started: %v", err)
	}
	short, stop := context.WithTimeout(context.Background(), time.Second)
	defer stop()
	if err := c.Get(short, keyed("a", "c"), &corev1.ConfigMap{}); !apierrors.IsTimeout(err) {
		t.Errorf("a read of it: %v", err)
	}
	if st := informer.(kingletcache.Observable).Status(); !apierrors.IsForbidden(st.LastError) {
		t.Errorf("its status has %v", st.LastError)
	}
	synctest.Wait()
	if failures == 0 || queue.Len() != 0 {
		t.Errorf("%d failures were reported, %d requests came", failures, queue.Len())
	}
	w.mu.Lock()
	forbidden = false
	w.mu.Unlock()
	if err := c.Get(context.Background(), keyed("a", "c"), &corev1.ConfigMap{}); err != nil {
		t.Error("after it was granted:", err)
	}
	synctest.Wait()
	if queue.Len() != 1 || !informer.HasSynced() {
		t.Errorf("%d requests, synced %v", queue.Len(), informer.HasSynced())
	}
}

// definitions is a mapper that learns of kinds.
type definitions struct {
	meta.RESTMapper
	defined chan struct{}
}

func (d *definitions) RESTMapping(gk schema.GroupKind, versions ...string) (*meta.RESTMapping, error) {
	select {
	case <-d.defined:
	default:
		if gk.Kind == "ConfigMap" || gk.Kind == "Node" {
			return nil, &meta.NoKindMatchError{GroupKind: gk, SearchedVersions: versions}
		}
	}
	return d.RESTMapper.RESTMapping(gk, versions...)
}

func TestAKindWhoseDefinitionComesLaterIsListedThen(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.create(pod("a", "p", "n1", nil), configMap("a", "c", nil), configMap("b", "c", nil))
		refusals := logged()
		d := &definitions{mapper(), make(chan struct{})}
		c, err := onlyPods().NewCache(w.server.Config(), cache.Options{Mapper: d, Scheme: scheme.Scheme, DefaultNamespaces: spaces("a", "c")})
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(context.Background())
		ended := make(chan error, 1)
		go func() { ended <- c.Start(ctx) }()
		synctest.Wait()
		h, nodes := newTold(t, c, &corev1.ConfigMap{}), newTold(t, c, &corev1.Node{})
		if err := c.IndexField(ctx, &corev1.ConfigMap{}, "a", func(obj client.Object) []string {
			return []string{obj.(*corev1.ConfigMap).Data["a"]}
		}); err != nil {
			t.Fatal(err)
		}
		if err := c.Get(ctx, keyed("a", "p"), &corev1.Pod{}); err != nil {
			t.Error(err)
		}
		if i, err := c.GetInformer(ctx, &corev1.ConfigMap{}); err != nil || i.HasSynced() || !c.WaitForCacheSync(ctx) {
			t.Errorf("it is waited for, %v", err)
		}
		if err := c.Get(ctx, keyed("a", "c"), &corev1.ConfigMap{}); !meta.IsNoMatchError(err) {
			t.Errorf("a read of it: %v", err)
		}
		testclock.Pass(10 * time.Minute)
		if n := refusals(); n != 2 {
			t.Errorf("%d lines of the log are about two kinds", n)
		}
		w.setNamespaces(c, &corev1.ConfigMap{}, spaces("b"))
		close(d.defined)
		testclock.Pass(2 * time.Minute)
		expectTold(t, h, "add b/c")
		expectTold(t, nodes, "")
		var list corev1.ConfigMapList
		if err := c.List(ctx, &list, client.MatchingFields{"a": "b"}); err != nil || len(list.Items) != 1 {
			t.Errorf("%v, %v", list.Items, err)
		}
		w.create(&corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n"}})
		expectTold(t, nodes, "add /n")
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
}

// lines is the log of controller-runtime, whose logger can be set only once.
type lines struct {
	mu  sync.Mutex
	all bytes.Buffer
}

func (l *lines) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.all.Write(b)
}

// refusals counts the lines about kinds that are refused.
func (l *lines) refusals() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return bytes.Count(l.all.Bytes(), []byte("ctrlruntime.Options.Required"))
}

var theLog = sync.OnceValue(func() *lines {
	l := &lines{}
	logf.SetLogger(textlogger.NewLogger(textlogger.NewConfig(textlogger.Output(l))))
	return l
})

// logged returns a function that counts the lines about refused kinds from now on.
func logged() func() int {
	l := theLog()
	before := l.refusals()
	return func() int { return l.refusals() - before }
}
