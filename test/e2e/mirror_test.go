//go:build e2e

package e2e

import (
	"context"
	"flag"
	"fmt"
	"maps"
	"slices"
	"testing"
	"time"

	"go.uber.org/goleak"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/kinglet-go/kinglet"
	"github.com/kinglet-go/kinglet/kinglettest"
	"github.com/kinglet-go/kinglet/reflector/resourceversion"
	"github.com/kinglet-go/kinglet/source"
)

var program = flag.String("cluster", "", "the kinglet-cluster program; built if empty")

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const (
	deployments = 10
	replicas    = 100 // 10 × 100 = 1,000 pods
	namespace   = "e2e"
)

// The whole of it: two handlers and a late third mirror 1,000 pods through
// rollouts, while the API server is stopped hard and started again; at the end
// the store and every handler equal the server, object by object.
func TestStoreEqualsServerAfterRolloutsAndAServerRestart(t *testing.T) {
	t.Parallel()
	cluster := kinglettest.StartCluster(t, kinglettest.ClusterOptions{Program: *program, Nodes: 20})
	config := cluster.Config(t)
	config.QPS, config.Burst = 200, 400
	client := kubernetes.NewForConfigOrDie(config)
	ctx, cancel := context.WithTimeout(t.Context(), 8*time.Minute)
	defer cancel()

	src, err := source.FromConfig[*corev1.Pod](config, corev1.SchemeGroupVersion.WithResource("pods"), source.Options{})
	must(t, err)
	pods, err := kinglet.New(src, kinglet.Options[*corev1.Pod]{
		Indexers: map[string]kinglet.IndexFunc[*corev1.Pod]{
			"node": func(p *corev1.Pod) ([]string, error) { return []string{p.Spec.NodeName}, nil },
		},
		OnError: func(err error) { t.Log("reported:", err) },
	})
	must(t, err)
	first, second, third := newHistory("first"), newHistory("second"), newHistory("late third")
	for _, h := range []*history{first, second} {
		_, err := pods.AddHandler(h, kinglet.HandlerOptions{Name: h.name})
		must(t, err)
	}
	set := kinglet.NewSet(pods)
	running, stop := context.WithCancel(ctx)
	ended := make(chan error, 1)
	go func() { ended <- set.Run(running) }()
	defer func() {
		stop()
		must(t, <-ended)
	}()
	must(t, set.WaitSynced(ctx))

	began := time.Now()
	createDeployments(t, ctx, client)
	must(t, first.until(ctx, allReady("v0")))
	t.Logf("%d pods ready after %v", deployments*replicas, time.Since(began).Round(time.Millisecond))

	roll(t, ctx, client, "v1", 0, deployments)
	must(t, second.until(ctx, halfReady("v1")))
	late, err := pods.AddHandler(third, kinglet.HandlerOptions{Name: third.name})
	must(t, err)
	must(t, late.WaitSynced(ctx))

	// In the middle of a rollout.
	roll(t, ctx, client, "v2", 0, deployments)
	must(t, first.until(ctx, halfReady("v2")))
	must(t, cluster.Stop("kube-apiserver"))
	t.Log("API server stopped; status:", describe(pods.Status()))
	if n := pods.Store().Len(); n == 0 {
		t.Error("the store was emptied by a server that could not be reached")
	}
	must(t, cluster.Start("kube-apiserver"))
	roll(t, ctx, client, "v3", 0, deployments)

	for _, h := range []*history{first, second, third} {
		must(t, h.until(ctx, allReady("v3")))
	}
	settled(t, ctx, client, pods)
	for _, h := range []*history{first, second, third} {
		h.check(t, pods.Snapshot())
	}
	st := pods.Status()
	t.Logf("%d objects, %d events, %d lists, %d watches in %v", st.Objects, st.Events, st.Lists, st.Watches, time.Since(began).Round(time.Second))
	if err := pods.Snapshot().Check(); err != nil {
		t.Error("the store is not consistent:", err)
	}
}

// settled compares store and server, object by object, at one version.
func settled(t *testing.T, ctx context.Context, client kubernetes.Interface, pods *kinglet.Informer[*corev1.Pod]) {
	t.Helper()
	tick := newHistory("comparison")
	reg, err := pods.AddHandler(tick, kinglet.HandlerOptions{Name: tick.name})
	must(t, err)
	defer func() { reg.Remove(); <-reg.Done() }()
	for {
		// The rollout is over, but the last status may still be on its way:
		// the comparison counts when the server is where the store is.
		list, err := client.CoreV1().Pods("").List(ctx, metav1.ListOptions{})
		must(t, err)
		if differ := difference(list, pods.Snapshot()); len(differ) == 0 {
			t.Logf("store and server are equal: %d pods, every field", len(list.Items))
			return
		} else if ctx.Err() != nil {
			t.Fatalf("store and server differ: %v", differ[:min(len(differ), 10)])
		}
		must(t, tick.until(ctx, reaches(list)))
	}
}

// reaches says that a handler has been told of every version in list.
func reaches(list *corev1.PodList) func(map[kinglet.Key]*corev1.Pod) bool {
	return func(last map[kinglet.Key]*corev1.Pod) bool {
		for i := range list.Items {
			p := &list.Items[i]
			if held := last[kinglet.Key{Namespace: p.Namespace, Name: p.Name}]; held != nil && older(held, p) {
				return false
			}
		}
		return true
	}
}

func difference(list *corev1.PodList, snap kinglet.Snapshot[*corev1.Pod]) []string {
	var differ []string
	seen := map[kinglet.Key]bool{}
	for i := range list.Items {
		want := &list.Items[i]
		key := kinglet.Key{Namespace: want.Namespace, Name: want.Name}
		seen[key] = true
		got, ok := snap.Get(key)
		if !ok {
			differ = append(differ, fmt.Sprintf("%s is missing", key))
		} else if !equality.Semantic.DeepEqual(want, got) {
			differ = append(differ, fmt.Sprintf("%s: server %s, store %s", key, want.ResourceVersion, got.ResourceVersion))
		}
	}
	for key := range snap.Keys() {
		if !seen[key] {
			differ = append(differ, fmt.Sprintf("%s is in the store only", key))
		}
	}
	return differ
}

// check compares what a handler was told with the store, and its history with
// guarantee 4.
func (h *history) check(t *testing.T, snap kinglet.Snapshot[*corev1.Pod]) {
	t.Helper()
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, v := range h.violations {
		t.Error(v)
	}
	keys := slices.SortedFunc(maps.Keys(h.last), kinglet.Key.Compare)
	if want := slices.Collect(snap.Keys()); !slices.Equal(keys, want) {
		t.Errorf("%s: was told of %d pods, the store has %d", h.name, len(keys), len(want))
	}
	for _, key := range keys {
		if p, _ := snap.Get(key); p != h.last[key] {
			t.Errorf("%s: %s was told of another version than the store's", h.name, key)
		}
	}
	t.Logf("%s: %v, %d pods in all", h.name, h.counts, len(h.told))
}

func older(a, b *corev1.Pod) bool {
	order, ok := resourceversion.Compare(a.ResourceVersion, b.ResourceVersion)
	return ok && order < 0
}

func describe(s kinglet.Status) string {
	return fmt.Sprintf("%s, %d objects, last error %v", s.Phase, s.Objects, s.LastError)
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
