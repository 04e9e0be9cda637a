//go:build e2e

package e2e

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	kc "k8s.io/client-go/tools/cache"

	"github.com/kinglet-go/kinglet"
	"github.com/kinglet-go/kinglet/cache"
	"github.com/kinglet-go/kinglet/kinglettest"
	"github.com/kinglet-go/kinglet/kinglettest/apiserver"
	"github.com/kinglet-go/kinglet/reflector"
	"github.com/kinglet-go/kinglet/source"
)

// lost is how many writes there are between a backup and its restoration: more
// than an API server makes of its own accord while a test lasts.
const lost = 700

// restorable is a control plane of which only etcd and the API server run, so
// that its revision grows with what the test writes.
func restorable(t *testing.T) (*kinglettest.Cluster, *rest.Config) {
	cluster := kinglettest.StartCluster(t, kinglettest.ClusterOptions{Program: *program})
	for _, component := range []string{kinglettest.Churn, kinglettest.Nodes, kinglettest.Scheduler, kinglettest.ControllerManager} {
		must(t, cluster.Stop(component))
	}
	return cluster, cluster.Config(t)
}

func restore(t *testing.T, cluster *kinglettest.Cluster) {
	t.Helper()
	must(t, cluster.Stop(kinglettest.APIServer))
	must(t, cluster.Stop(kinglettest.Etcd))
	must(t, cluster.Restore("backup", 0))
	must(t, cluster.Start(kinglettest.Etcd))
	must(t, cluster.Start(kinglettest.APIServer))
}

// What a server answers after it was restored, to clients that knew it before:
// the API server in memory answers as a real one does.
func TestARestoredServerIsSilentOnWatchesFromVersionsThatItHasNotComeTo(t *testing.T) {
	t.Parallel()
	cluster, config := restorable(t)
	var real answers
	t.Run("real", func(t *testing.T) {
		real = afterRestoration(t, config,
			func() { value(cluster.Backup("backup"))(t) }, func() { restore(t, cluster) })
	})
	var ours answers
	t.Run("in memory", func(t *testing.T) {
		storage := apiserver.NewStorage(apiserver.ConfigMaps)
		server := apiserver.New(storage, apiserver.Options{BookmarkInterval: time.Second})
		defer server.Close()
		var backup int64
		ours = afterRestoration(t, server.Config(), func() { backup = storage.Revision() }, func() {
			must(t, storage.Restore(backup))
			server.Disconnect()
		})
	})
	want := answers{
		{"list", "200 older"},
		{"list limit=1", "200 older"},
		{"list resourceVersion=before", "504 Timeout"},
		{"list resourceVersion=before&resourceVersionMatch=NotOlderThan", "504 Timeout"},
		{"list continue=before", "504 Timeout"},
		{"watch resourceVersion=before", "200"},
		{"watch resourceVersion=before&sendInitialEvents=true&resourceVersionMatch=NotOlderThan", "200 ERROR 504 Timeout"},
		{"watch resourceVersion=before, and 1,400 writes", "200 MODIFIED newer"},
	}
	for what, got := range map[string]answers{"real": real, "in memory": ours} {
		for i := range max(len(want), len(got)) {
			if i >= len(want) || i >= len(got) || want[i] != got[i] {
				t.Errorf("%s: answers\n %q\nwant\n %q", what, got, want)
				break
			}
		}
	}
}

// answers are requests, and what is answered to them.
type answers [][2]string

func afterRestoration(t *testing.T, config *rest.Config, backup, restore func()) (got answers) {
	client, err := rest.HTTPClientFor(config)
	must(t, err)
	defer client.CloseIdleConnections()
	maps := kubernetes.NewForConfigOrDie(config).CoreV1().ConfigMaps("default")
	write := func(n int) {
		for i := range n {
			_, err := maps.Update(t.Context(), configMap("a", strconv.Itoa(i)), metav1.UpdateOptions{})
			must(t, err)
		}
	}
	for _, name := range []string{"a", "b", "c"} {
		_, err := maps.Create(t.Context(), configMap(name, "0"), metav1.CreateOptions{})
		must(t, err)
	}
	backup()
	must(t, maps.Delete(t.Context(), "b", metav1.DeleteOptions{}))
	write(lost)
	list, err := maps.List(t.Context(), metav1.ListOptions{Limit: 1})
	must(t, err)
	before, rest := list.ResourceVersion, list.Continue
	restore()

	url := config.Host + "/api/v1/namespaces/default/configmaps?"
	ask := func(query string) {
		response := get(t, client, url+query)
		defer response.Body.Close()
		var answer struct {
			Reason   string
			Metadata struct{ ResourceVersion string }
		}
		must(t, json.NewDecoder(response.Body).Decode(&answer))
		said := answer.Reason
		if response.StatusCode == http.StatusOK {
			said = age(answer.Metadata.ResourceVersion, before)
		}
		got = append(got, [2]string{"", fmt.Sprint(response.StatusCode, " ", said)})
	}
	// A watch ends when the server says so. 2 s before, a real one sends a
	// bookmark to who has not had the version yet.
	watch := func(query string, during func()) {
		response := get(t, client, url+"watch=true&allowWatchBookmarks=true&timeoutSeconds=8&"+query)
		defer response.Body.Close()
		during()
		said := fmt.Sprint(response.StatusCode)
		var seen []string
		lines := bufio.NewScanner(response.Body)
		lines.Buffer(nil, 1<<20)
		for lines.Scan() {
			var event struct {
				Type   string
				Object struct {
					Code     int
					Reason   string
					Metadata struct{ ResourceVersion string }
				}
			}
			must(t, json.Unmarshal(lines.Bytes(), &event))
			what := event.Type + " " + age(event.Object.Metadata.ResourceVersion, before)
			if event.Type == "ERROR" {
				what = fmt.Sprintf("ERROR %d %s", event.Object.Code, event.Object.Reason)
			}
			if event.Type != "BOOKMARK" || what == "BOOKMARK older" {
				seen = append(seen, what)
			}
		}
		must(t, lines.Err())
		for _, what := range slices.Compact(seen) {
			said += " " + what
		}
		got = append(got, [2]string{"", said})
	}
	from := "resourceVersion=" + before
	ask("")
	ask("limit=1")
	ask(from)
	ask(from + "&resourceVersionMatch=NotOlderThan")
	ask("limit=1&continue=" + rest)
	watch(from, func() {})
	watch(from+"&sendInitialEvents=true&resourceVersionMatch=NotOlderThan", func() {})
	watch(from, func() { write(2 * lost) })
	for i, name := range []string{
		"list", "list limit=1", "list resourceVersion=before", "list resourceVersion=before&resourceVersionMatch=NotOlderThan",
		"list continue=before", "watch resourceVersion=before", "watch resourceVersion=before&sendInitialEvents=true&resourceVersionMatch=NotOlderThan",
		"watch resourceVersion=before, and 1,400 writes",
	} {
		got[i][0] = name
	}
	return got
}

func get(t *testing.T, client *http.Client, url string) *http.Response {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
	must(t, err)
	request.Header.Set("Accept", "application/json")
	response, err := client.Do(request)
	must(t, err)
	return response
}

// age returns how a version compares with that from before the restoration.
func age(version, before string) string {
	a, _ := strconv.Atoi(version)
	b, _ := strconv.Atoi(before)
	if a <= b {
		return "older"
	}
	return "newer"
}

func configMap(name, value string) *corev1.ConfigMap {
	return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: name}, Data: map[string]string{"value": value}}
}

func value[T any](v T, err error) func(*testing.T) T {
	return func(t *testing.T) T {
		t.Helper()
		must(t, err)
		return v
	}
}

// Both interceptors, each with an informer that had followed what is lost.
func TestARestoredServerIsFollowed(t *testing.T) {
	t.Parallel()
	cluster, config := restorable(t)
	ctx, stop := context.WithTimeout(t.Context(), 6*time.Minute)
	defer stop()
	client := kubernetes.NewForConfigOrDie(config)
	maps := client.CoreV1().ConfigMaps("default")

	restored := make(chan string, 100)
	report := func(who string) func(error) {
		return func(err error) {
			if errors.Is(err, reflector.ErrRestored) {
				restored <- who
			}
		}
	}
	src, err := source.FromConfig[*corev1.ConfigMap](config, corev1.SchemeGroupVersion.WithResource("configmaps"),
		source.Options{Namespace: "default"})
	must(t, err)
	typed, err := kinglet.New(src, kinglet.Options[*corev1.ConfigMap]{OnError: report("typed")})
	must(t, err)
	dropIn := cache.NewSharedIndexInformer(
		cache.NewListWatchFromClient(client.CoreV1().RESTClient(), "configmaps", "default", fields.Everything()), &corev1.ConfigMap{}, 0, cache.Indexers{})
	must(t, dropIn.SetWatchErrorHandlerWithContext(func(_ context.Context, _ *kc.Reflector, err error) { report("drop-in")(err) }))

	running, end := context.WithCancel(ctx)
	ended := make(chan struct{}, 2)
	go func() { _ = typed.Run(running); ended <- struct{}{} }()
	go func() { dropIn.RunWithContext(running); ended <- struct{}{} }()
	defer func() { end(); <-ended; <-ended }()
	must(t, typed.WaitSynced(ctx))
	if !cache.WaitForCacheSync(ctx.Done(), dropIn.HasSynced) {
		t.Fatal("the drop-in has not synced")
	}

	for _, name := range []string{"a", "b", "c"} {
		_, err := maps.Create(ctx, configMap(name, "0"), metav1.CreateOptions{})
		must(t, err)
	}
	value(cluster.Backup("backup"))(t)
	must(t, maps.Delete(ctx, "b", metav1.DeleteOptions{}))
	for i := range lost {
		_, err := maps.Update(ctx, configMap("a", strconv.Itoa(i+1)), metav1.UpdateOptions{})
		must(t, err)
	}
	restore(t, cluster)
	began := time.Now()
	followed := map[string]bool{}
	for len(followed) < 2 {
		select {
		case who := <-restored:
			followed[who] = true
			t.Logf("%s has followed after %v", who, time.Since(began).Round(time.Second))
		case <-ctx.Done():
			t.Fatalf("only %v have followed; typed: %+v", followed, typed.Status())
		}
	}
	list, err := maps.List(ctx, metav1.ListOptions{})
	must(t, err)
	if len(list.Items) < 2 || typed.Store().Len() != len(list.Items) || len(dropIn.GetStore().List()) != len(list.Items) {
		t.Errorf("the server has %d objects, the typed store %d, the drop-in's %d", len(list.Items), typed.Store().Len(), len(dropIn.GetStore().List()))
	}
	for i := range list.Items {
		want := &list.Items[i]
		got, _ := typed.Store().Get(kinglet.Key{Namespace: want.Namespace, Name: want.Name})
		other, _, err := dropIn.GetStore().GetByKey(types.NamespacedName{Namespace: want.Namespace, Name: want.Name}.String())
		must(t, err)
		if !equality.Semantic.DeepEqual(got, want) || !equality.Semantic.DeepEqual(other, want) {
			t.Errorf("the server has %v, the typed store %v, the drop-in's %v", want, got, other)
		}
	}
}
