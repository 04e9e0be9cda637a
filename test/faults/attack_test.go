package faults_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	kc "k8s.io/client-go/tools/cache"

	"github.com/kinglet-go/kinglet"
	"github.com/kinglet-go/kinglet/cache"
	"github.com/kinglet-go/kinglet/kinglettest/apiserver"
	"github.com/kinglet-go/kinglet/source"
)

const (
	objectLimit = 1 << 20
	countLimit  = 5_000
	listLimit   = 2 << 20
)

// most is what an attack may make of the heap where the limits above are set:
// a buffer of twice the object, a page and its decoded form, 5,000 small pods
// of 1 KiB; about 10 MiB, and several times that.
const most = 64 << 20

// defaultMost is so where an object may take 64 MiB, as in package cache: its
// buffer doubles, and is copied once.
const defaultMost = 512 << 20

const (
	protoList = "k8s\x00\n\r\n\x02v1\x12\x07PodList\x12\xff\xff\xff\xff\x7f"
	item      = `{"metadata":{"namespace":"ns","name":"p%d"}},`
	event     = `{"type":"ADDED","object":{"kind":"Pod","apiVersion":"v1","metadata":{"namespace":"ns","name":"p%[1]d","resourceVersion":"1%[1]d"}}}` + "\n"
)

// attacks are those whose option can be set; the others are limited by default.
func attacks() []attack {
	return []attack{
		{name: "a gigabyte in a string", verb: "list", head: `{"kind":"PodList","apiVersion":"v1","items":[{"metadata":{"name":"`, piece: "a", option: "MaxObjectBytes"},
		{name: "a gigabyte in a string", verb: "watch", head: `{"type":"ADDED","object":{"metadata":{"name":"`, piece: "a", option: "MaxObjectBytes"},
		{name: "a gigabyte in a string", verb: "watch-list", head: `{"type":"ADDED","object":{"metadata":{"name":"`, piece: "a", option: "MaxObjectBytes"},
		{name: "a gigabyte that gzip made small", verb: "list", gzip: true, head: `{"kind":"PodList","apiVersion":"v1","items":[{"metadata":{"name":"`, piece: "a", option: "MaxObjectBytes"},
		{name: "a gigabyte that gzip made small", verb: "watch", gzip: true, head: `{"type":"ADDED","object":{"metadata":{"name":"`, piece: "a", option: "MaxObjectBytes"},
		{name: "a map of a billion", verb: "list", head: `{"kind":"PodList","apiVersion":"v1","items":[{"metadata":{"labels":{`, piece: `"%d":"",`, option: "MaxObjectBytes"},
		{name: "nesting without end", verb: "watch", head: `{"type":"ADDED","object":`, piece: `{"a":[`, option: "MaxObjectBytes"},
		{name: "a gigabyte announced", verb: "list", protobuf: true, head: protoList + "\x12\x80\x80\x80\x80\x04", piece: "a", option: "MaxObjectBytes"},
		{name: "a gigabyte announced", verb: "watch", protobuf: true, head: "\x07\x00\x00\x00", piece: "a", option: "MaxObjectBytes"},
		{name: "objects without end", verb: "list", head: `{"kind":"PodList","apiVersion":"v1","metadata":{"resourceVersion":"9"},"items":[`, piece: item, option: "MaxObjects"},
		{name: "objects without end", verb: "watch-list", piece: event, option: "MaxObjects"},
		{name: "objects without end", verb: "watch", piece: event, option: "MaxObjects"},
		{name: "nothing without end", verb: "list", protobuf: true, head: protoList, piece: "\x12\x00", option: "MaxObjects"},
		{name: "large objects without end", verb: "list", option: "MaxListBytes",
			head:  `{"kind":"PodList","apiVersion":"v1","metadata":{"resourceVersion":"9"},"items":[`,
			piece: `{"metadata":{"namespace":"ns","name":"p%d","annotations":{"x":"` + strings.Repeat("x", 10_000) + `"}}},`},
	}
}

func TestAnAttackMeetsALimitThatIsNamedAndTheNeighboursGoOn(t *testing.T) {
	for _, a := range attacks() {
		how := a.name + " in a " + a.verb
		if a.protobuf {
			how += " in protobuf"
		}
		t.Run("typed/"+how, func(t *testing.T) { withstand(t, a, most, startAttacked[*corev1.Pod]) })
		if !a.protobuf {
			t.Run("unstructured/"+how, func(t *testing.T) { withstand(t, a, most, startAttacked[*unstructured.Unstructured]) })
		}
	}
}

// The limits there are the defaults.
func TestAnAttackOnTheDropInMeetsALimitThatIsNamedAndTheNeighboursGoOn(t *testing.T) {
	for _, a := range attacks() {
		if a.option != "MaxObjectBytes" || !a.protobuf && (!a.gzip || a.verb == "watch") {
			continue // 64 MiB of JSON once are enough
		}
		t.Run(a.name+" in a "+a.verb, func(t *testing.T) { withstand(t, a, defaultMost, startAttackedDropIn) })
	}
}

// startAttacked starts an informer of pods, and returns what waits for its end.
func startAttacked[T any](t *testing.T, ctx context.Context, cfg *rest.Config, report func(error)) (wait func()) {
	src, err := source.FromConfig[T](cfg, apiserver.Pods.GroupVersionResource, source.Options{MaxObjectBytes: objectLimit})
	if err != nil {
		t.Fatal(err)
	}
	inf, err := kinglet.New(src, kinglet.Options[T]{OnError: report, MaxObjects: countLimit, MaxListBytes: listLimit})
	if err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	wg.Go(func() { _ = inf.Run(ctx) })
	return wg.Wait
}

func startAttackedDropIn(t *testing.T, ctx context.Context, cfg *rest.Config, report func(error)) (wait func()) {
	client, err := kubernetes.NewForConfig(cfg)
	if err != nil {
		t.Fatal(err)
	}
	inf := cache.NewSharedIndexInformer(
		cache.NewListWatchFromClient(client.CoreV1().RESTClient(), "pods", "", fields.Everything()), &corev1.Pod{}, 0, cache.Indexers{})
	if err := inf.SetWatchErrorHandlerWithContext(func(_ context.Context, r *kc.Reflector, err error) {
		// Of what a failed watch is, the reflector says here, as in client-go.
		report(fmt.Errorf("%s: %w", r.TypeDescription(), err))
	}); err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	wg.Go(func() { inf.RunWithContext(ctx) })
	return wg.Wait
}

// withstand attacks one informer beside another.
func withstand(t *testing.T, a attack, most int64, start func(*testing.T, context.Context, *rest.Config, func(error)) func()) {
	storage := apiserver.NewStorage(apiserver.ConfigMaps)
	good := apiserver.New(storage, apiserver.Options{})
	defer good.Close()
	bad := &attacker{attack: a}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasSuffix(r.URL.Path, "/pods") {
			bad.ServeHTTP(w, r)
			return
		}
		good.ServeHTTP(w, r)
	}))
	defer server.Close()
	cfg := &rest.Config{Host: server.URL, QPS: -1}
	ctx, stop := context.WithCancel(t.Context())

	src, err := source.FromConfig[object](cfg, apiserver.ConfigMaps.GroupVersionResource, source.Options{})
	if err != nil {
		t.Fatal(err)
	}
	neighbour, err := kinglet.New(src, kinglet.Options[object]{})
	if err != nil {
		t.Fatal(err)
	}
	told := make(chan string, 10)
	_, err = neighbour.AddHandler(kinglet.HandlerFuncs[object]{
		OnAdd: func(_ context.Context, o object, _ bool) { told <- o.Name },
	}, kinglet.HandlerOptions{})
	if err != nil {
		t.Fatal(err)
	}
	var running sync.WaitGroup
	running.Go(func() { _ = neighbour.Run(ctx) })
	if err := neighbour.WaitSynced(ctx); err != nil {
		t.Fatal(err)
	}

	bad.begin()
	stopped := make(chan error, 1)
	wait := start(t, ctx, cfg, func(err error) {
		_, object := errors.AsType[*source.TooLargeError](err)
		_, list := errors.AsType[*kinglet.LimitError](err)
		if object || list {
			select {
			case stopped <- err:
			default:
			}
		}
	})
	err = <-stopped
	if text := err.Error(); !strings.Contains(text, a.option) || !strings.Contains(strings.ToLower(text), "pod") {
		t.Errorf("the error does not say which limit of what: %v", err)
	}
	cm := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "after"}}
	if _, err := storage.Create(cm); err != nil {
		t.Fatal(err)
	}
	if name := <-told; name != "after" {
		t.Errorf("the neighbour was told of %q", name)
	}
	stop()
	wait()
	running.Wait()
	grown, sent := bad.grown()
	if grown > most {
		t.Errorf("the heap grew by %d KiB", grown>>10)
	}
	t.Logf("%v; the heap grew by %d KiB at most, of %d KiB that were sent", err, grown>>10, sent>>10)
}
