package cache

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"

	"github.com/kinglet-go/kinglet"
	"github.com/kinglet-go/kinglet/source"
)

// podServer answers lists of two pods, in protobuf or in JSON, and holds
// watches open.
func podServer(t *testing.T, contentType string) *kubernetes.Clientset {
	t.Helper()
	pods := &corev1.PodList{ListMeta: metav1.ListMeta{ResourceVersion: "5"}, Items: []corev1.Pod{*testPod("a", "n1"), *testPod("b", "n2")}}
	info, ok := runtime.SerializerInfoForMediaType(scheme.Codecs.SupportedMediaTypes(), contentType)
	if !ok {
		t.Fatal("no serializer for", contentType)
	}
	body, err := runtime.Encode(scheme.Codecs.EncoderForVersion(info.Serializer, corev1.SchemeGroupVersion), pods)
	if err != nil {
		t.Fatal(err)
	}
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		query := r.URL.Query()
		switch {
		case r.URL.Path != "/api/v1/namespaces/ns/pods" || query.Get("fieldSelector") != "spec.nodeName!=gone":
			http.NotFound(w, r)
		case query.Get("sendInitialEvents") != "":
			w.WriteHeader(http.StatusUnprocessableEntity)
		case query.Get("watch") != "":
			w.Header().Set("Content-Type", contentType+";stream=watch")
			w.WriteHeader(http.StatusOK)
			w.(http.Flusher).Flush()
			<-r.Context().Done()
		default:
			w.Header().Set("Content-Type", contentType)
			_, _ = io.Copy(w, strings.NewReader(string(body)))
		}
	}))
	t.Cleanup(srv.Close)
	t.Cleanup(srv.CloseClientConnections)
	client, err := kubernetes.NewForConfig(&rest.Config{Host: srv.URL})
	if err != nil {
		t.Fatal(err)
	}
	return client
}

var notGone = fields.OneTermNotEqualSelector("spec.nodeName", "gone")

// synced runs an informer until it has the two pods, and returns its status.
func synced(t *testing.T, lw ListerWatcher) kinglet.Status {
	t.Helper()
	inf := NewSharedIndexInformer(lw, &corev1.Pod{}, 0, Indexers{})
	defer start(inf.RunWithContext)()
	if !WaitFor(t.Context(), "", inf.HasSyncedChecker()) {
		t.Fatal("not synced")
	}
	for _, name := range []string{"a", "b"} {
		obj, there, err := inf.GetStore().GetByKey("ns/" + name)
		if err != nil || !there || obj.(*corev1.Pod).Name != name {
			t.Errorf("%s: %v, %v, %v", name, obj, there, err)
		}
	}
	return inf.(Observable).Status()
}

func TestAListWatchWithAFunctionOfSomebodyElseIsAskedThroughIt(t *testing.T) {
	client := podServer(t, runtime.ContentTypeJSON)
	from := func(namespace string) *ListWatch {
		return NewListWatchFromClient(client.CoreV1().RESTClient(), "pods", namespace, notGone)
	}
	wrapped, asked := from("ns"), 0
	list := wrapped.ListWithContextFunc
	wrapped.ListWithContextFunc = func(ctx context.Context, options metav1.ListOptions) (runtime.Object, error) {
		asked++
		return list(ctx, options)
	}
	swapped := from("elsewhere")
	swapped.ListWithContextFunc, swapped.WatchFuncWithContext = from("ns").ListWithContextFunc, from("ns").WatchFuncWithContext
	held := from("ns")
	held.ListWithContextFunc = func(context.Context, metav1.ListOptions) (runtime.Object, error) {
		return &corev1.PodList{ListMeta: metav1.ListMeta{ResourceVersion: "5"}, Items: []corev1.Pod{*testPod("a", "n1"), *testPod("b", "n2")}}, nil
	}
	held.WatchFuncWithContext = func(_ context.Context, o metav1.ListOptions) (watch.Interface, error) {
		if o.SendInitialEvents != nil {
			return nil, apierrors.NewInvalid(schema.GroupKind{}, "", nil)
		}
		return watch.NewFake(), nil
	}
	older := from("ns")
	older.ListWithContextFunc, older.WatchFuncWithContext = nil, nil // leaves ListFunc and WatchFunc
	for _, tc := range []struct {
		lw   *ListWatch
		path source.Path
	}{{wrapped, source.PathClient}, {swapped, source.PathJSON}, {held, source.PathClient}, {older, source.PathClient}, {from("ns"), source.PathJSON}} {
		if got := synced(t, tc.lw).ReadPath; got.Path != tc.path {
			t.Errorf("%v because of %v, want %v", got.Path, got.Why, tc.path)
		}
	}
	if asked == 0 {
		t.Error("the function was not asked")
	}
	older.DisableChunking = true
	for _, lw := range []ListerWatcher{older, ToListWatcherWithWatchListSemantics(older, client)} {
		if src, err := newSource(lw, &corev1.Pod{}, source.Options{}); err != nil || !src.unchunked {
			t.Errorf("lists come in chunks in spite of DisableChunking: %v", err)
		}
	}
}

func TestWithoutChunksAProbeStillRequestsOneObject(t *testing.T) {
	var limits []int64
	lw := &ListWatch{DisableChunking: true, ListFunc: func(o metav1.ListOptions) (runtime.Object, error) {
		limits = append(limits, o.Limit)
		return &corev1.PodList{}, nil
	}}
	src, err := source.FromListerWatcher[any](lw, source.Options{Example: &corev1.Pod{}})
	if err != nil {
		t.Fatal(err)
	}
	unchunked := &itemSource{Source: src, unchunked: true}
	for _, req := range []source.ListRequest[any]{{Limit: 500, Once: true}, {Limit: 500}, {Limit: 1, Once: true}} {
		if err := unchunked.List(t.Context(), req, func(source.Page[any]) error { return nil }); err != nil {
			t.Fatal(err)
		}
	}
	if !slices.Equal(limits, []int64{0, 0, 1}) {
		t.Errorf("limits %d, want none for lists and 1 for the probe", limits)
	}
}

// TestAListWatchFromAClientIsAskedInTheEncodingsThatTheClientNames and no
// others; one that names none that can be read from the wire is read by its
// own client.
func TestAListWatchFromAClientIsAskedInTheEncodingsThatTheClientNames(t *testing.T) {
	for _, tc := range []struct{ named, want string }{
		{"", "application/vnd.kubernetes.protobuf,application/json"},
		{"application/json", "application/json"},
		{"application/json,application/vnd.kubernetes.protobuf", "application/json,application/vnd.kubernetes.protobuf"},
		{"application/yaml", "application/yaml"},
	} {
		asked := make(chan string, 1000)
		srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			asked <- r.Header.Get("Accept")
			w.WriteHeader(http.StatusGone)
		}))
		defer srv.Close()
		client, err := kubernetes.NewForConfig(&rest.Config{Host: srv.URL, ContentConfig: rest.ContentConfig{AcceptContentTypes: tc.named}})
		if err != nil {
			t.Fatal(err)
		}
		inf := NewSharedIndexInformer(NewListWatchFromClient(client.CoreV1().RESTClient(), "pods", "ns", nil), &corev1.Pod{}, 0, Indexers{})
		if err := inf.SetWatchErrorHandler(func(*Reflector, error) {}); err != nil {
			t.Fatal(err)
		}
		stop := start(inf.RunWithContext)
		if got := <-asked; got != tc.want {
			t.Errorf("a client that names %q was asked for %q", tc.named, got)
		}
		stop()
	}
}
