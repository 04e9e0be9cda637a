//go:build e2e

package e2e

import (
	"context"
	"flag"
	"fmt"
	"testing"
	"time"

	"go.uber.org/goleak"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/kinglet-go/kinglet"
	"github.com/kinglet-go/kinglet/kinglettest"
	"github.com/kinglet-go/kinglet/source"
	"github.com/kinglet-go/kinglet/test/internal/history"
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
	first, second, third := history.New("first"), history.New("second"), history.New("late third")
	for _, h := range []*history.History{first, second} {
		_, err := pods.AddHandler(history.Typed[*corev1.Pod]{History: h}, kinglet.HandlerOptions{Name: h.Name})
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
	must(t, first.Until(ctx, "done with v0", allReady("v0")))
	t.Logf("%d pods ready after %v", deployments*replicas, time.Since(began).Round(time.Millisecond))

	roll(t, ctx, client, "v1", 0, deployments)
	must(t, second.Until(ctx, "half done with v1", halfReady("v1")))
	late, err := pods.AddHandler(history.Typed[*corev1.Pod]{History: third}, kinglet.HandlerOptions{Name: third.Name})
	must(t, err)
	must(t, late.WaitSynced(ctx))

	// In the middle of a rollout.
	roll(t, ctx, client, "v2", 0, deployments)
	must(t, first.Until(ctx, "half done with v2", halfReady("v2")))
	must(t, cluster.Stop("kube-apiserver"))
	t.Log("API server stopped; status:", describe(pods.Status()))
	if n := pods.Store().Len(); n == 0 {
		t.Error("the store was emptied by a server that could not be reached")
	}
	must(t, cluster.Start("kube-apiserver"))
	roll(t, ctx, client, "v3", 0, deployments)

	for _, h := range []*history.History{first, second, third} {
		must(t, h.Until(ctx, "done with v3", allReady("v3")))
	}
	settled(t, ctx, client, pods)
	for _, h := range []*history.History{first, second, third} {
		checkHistory(t, h, pods.Snapshot())
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
	tick := history.New("comparison")
	reg, err := pods.AddHandler(history.Typed[*corev1.Pod]{History: tick}, kinglet.HandlerOptions{Name: tick.Name})
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
		must(t, tick.Until(ctx, "where the server is", reaches(list)))
	}
}

// reaches says that a handler has been told of every version in list.
func reaches(list *corev1.PodList) func(history.Objects) bool {
	return func(last history.Objects) bool {
		for i := range list.Items {
			p := &list.Items[i]
			if held := last[kinglet.Key{Namespace: p.Namespace, Name: p.Name}]; held != nil && history.Older(held, p) {
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

// checkHistory compares what a handler was told with the store, and its history with
// guarantee 4.
func checkHistory(t *testing.T, h *history.History, snap kinglet.Snapshot[*corev1.Pod]) {
	t.Helper()
	held := history.Objects{}
	for p := range snap.All() {
		held[history.KeyOf(p)] = p
	}
	differ, wrong := h.Compare(held)
	for _, what := range append(differ, wrong...) {
		t.Error(what)
	}
	calls, _ := h.Told()
	t.Logf("%s: told %d times", h.Name, calls)
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
