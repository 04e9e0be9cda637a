package source

import (
	"bytes"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp/cmpopts"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/rest"
)

// customList is a list of custom resources as an API server writes one: from
// a map, so that its members are in order of their names.
const customList = `{"apiVersion":"example.com/v1","items":[` +
	`{"apiVersion":"example.com/v1","kind":"Widget","metadata":{"name":"a","namespace":"ns","resourceVersion":"1"},"spec":{"n":1,"f":1.5,"big":9007199254740993}},` +
	`{"apiVersion":"example.com/v1","kind":"Widget","metadata":{"name":"b","namespace":"ns"},"items":"a field like any other"}` +
	`],"kind":"WidgetList","metadata":{"continue":"tok","remainingItemCount":3,"resourceVersion":"12"}}`

func TestUnstructuredEqualsTheDynamicClient(t *testing.T) {
	widgets := schema.GroupVersionResource{Group: "example.com", Version: "v1", Resource: "widgets"}
	for _, tc := range []struct {
		name string
		gvr  schema.GroupVersionResource
		list []byte
	}{
		{"a custom resource", widgets, []byte(customList)},
		{"a built-in one, whose items do not say their kind", podGVR, jsonBytes(podList("12", "a", "b"))},
		{"one whose list says its kind last", podGVR, []byte(`{"items":[{"metadata":{"name":"a"}}],"metadata":{"resourceVersion":"12"},"apiVersion":"v1","kind":"PodList"}`)},
	} {
		t.Run(tc.name, func(t *testing.T) {
			accept := ""
			cfg := serve(t, func(w http.ResponseWriter, r *http.Request) {
				accept = r.Header.Get("Accept")
				answer("application/json", tc.list)(w, r)
			})
			want, err := must(dynamic.NewForConfig(cfg)).Resource(tc.gvr).List(t.Context(), metav1.ListOptions{})
			if err != nil {
				t.Fatal(err)
			}
			got, err := list(t, must(FromConfig[*unstructured.Unstructured](cfg, tc.gvr, Options{})), ListRequest[*unstructured.Unstructured]{})
			if err != nil {
				t.Fatal(err)
			}
			if len(got.items) != len(want.Items) || got.version != "12" || accept != "application/json" {
				t.Fatalf("%d items at %q, asked as %s", len(got.items), got.version, accept)
			}
			for i, it := range got.items {
				if diff := differences(want.Items[i].Object, it.Object.Object); diff != "" {
					t.Errorf("item %d:\n%s", i, diff)
				}
			}
			if p := got.pages[0]; tc.name == "a custom resource" && (p.Continue != "tok" || p.Remaining != 3) {
				t.Errorf("page %+v", p)
			}
		})
	}
}

func TestAnUnstructuredItemOfNoKindIsAnItemError(t *testing.T) {
	dec := must(decoderOf[*unstructured.Unstructured](podGVR.GroupVersion(), Options{}))
	var got listed[*unstructured.Unstructured]
	err := dec.list(false, strings.NewReader(`{"items":[{"metadata":{"name":"a"}}]}`), nil, nil, got.page)
	if err != nil || len(got.items) != 1 || got.items[0].Err == nil || got.items[0].Key.Name != "a" {
		t.Errorf("%+v: %v", got.items, err)
	}
}

func TestUnstructuredWatchEqualsTheDynamicClient(t *testing.T) {
	body := append(jsonFrame("ADDED", pod("ns", "a", "1")), jsonFrame("DELETED", pod("ns", "b", "2"))...)
	cfg := serve(t, answer("application/json", body))
	got, err := watchAll(t, must(FromConfig[*unstructured.Unstructured](cfg, podGVR, Options{})), WatchRequest[*unstructured.Unstructured]{})
	if err != nil || len(got.events) != 2 {
		t.Fatalf("%d events: %v", len(got.events), err)
	}
	w := must(must(dynamic.NewForConfig(cfg)).Resource(podGVR).Watch(t.Context(), metav1.ListOptions{}))
	defer w.Stop()
	i := 0
	for want := range w.ResultChan() {
		if diff := differences(want.Object.(*unstructured.Unstructured).Object, got.events[i].Object.Object); diff != "" {
			t.Errorf("event %d:\n%s", i, diff)
		}
		i++
	}
}

// partialOf is what a server makes of a pod when asked for metadata only.
func partialOf(p *corev1.Pod) *metav1.PartialObjectMetadata {
	return &metav1.PartialObjectMetadata{
		TypeMeta:   metav1.TypeMeta{APIVersion: "meta.k8s.io/v1", Kind: "PartialObjectMetadata"},
		ObjectMeta: p.ObjectMeta,
	}
}

func TestMetadataEqualsTheMetadataClientButKeepsItsKind(t *testing.T) {
	partials := &metav1.PartialObjectMetadataList{
		TypeMeta: metav1.TypeMeta{APIVersion: "meta.k8s.io/v1", Kind: "PartialObjectMetadataList"},
		ListMeta: metav1.ListMeta{ResourceVersion: "12"},
		Items:    []metav1.PartialObjectMetadata{*partialOf(pod("ns", "a", "1")), *partialOf(pod("ns", "b", "2"))},
	}
	kind := metav1.TypeMeta{APIVersion: "meta.k8s.io/v1", Kind: "PartialObjectMetadata"}
	for _, c := range codecs() {
		t.Run(c.name, func(t *testing.T) {
			var accepts []string
			cfg := serve(t, func(w http.ResponseWriter, r *http.Request) {
				accepts = append(accepts, r.Header.Get("Accept"))
				body := c.object(partials)
				if r.URL.Query().Get("watch") != "" {
					body = append(c.frame("ADDED", partialOf(pod("ns", "a", "1"))), c.frame("BOOKMARK", partialOf(bookmarkPod("7", true)))...)
				}
				answer(c.contentType, body)(w, r)
			})
			src := must(FromConfig[*metav1.PartialObjectMetadata](cfg, podGVR, Options{}))
			got, err := list(t, src, ListRequest[*metav1.PartialObjectMetadata]{})
			if err != nil || len(got.items) != 2 || got.version != "12" {
				t.Fatalf("%d items at %q: %v", len(got.items), got.version, err)
			}
			client := must(metadata.NewForConfig(cfg)).Resource(podGVR)
			want := must(client.List(t.Context(), metav1.ListOptions{}))
			for i, it := range got.items {
				if diff := differences(want.Items[i], *it.Object, cmpopts.IgnoreTypes(metav1.TypeMeta{})); diff != "" {
					t.Errorf("item %d:\n%s", i, diff)
				}
				if it.Object.TypeMeta != kind {
					t.Errorf("item %d is of %v", i, it.Object.TypeMeta)
				}
			}
			seen, err := watchAll(t, src, WatchRequest[*metav1.PartialObjectMetadata]{})
			if err != nil || len(seen.events) != 2 {
				t.Fatalf("%d events: %v", len(seen.events), err)
			}
			w := must(client.Watch(t.Context(), metav1.ListOptions{}))
			defer w.Stop()
			first := <-w.ResultChan()
			if diff := differences(first.Object, runtime.Object(seen.events[0].Object), cmpopts.IgnoreTypes(metav1.TypeMeta{})); diff != "" {
				t.Error(diff)
			}
			if seen.events[0].Object.TypeMeta != kind {
				t.Errorf("the event's object is of %v", seen.events[0].Object.TypeMeta)
			}
			if e := seen.events[1]; e.Type != Bookmark || !e.InitialEventsEnd || e.ResourceVersion != "7" {
				t.Errorf("the bookmark is %+v", e)
			}
			// As the metadata client asks, word for word.
			if accepts[0] != accepts[1] || accepts[2] != accepts[3] || accepts[0] == accepts[2] {
				t.Errorf("asked as %q", accepts)
			}
		})
	}
}

func TestMetadataIsReadFromWholeObjectsWhereAServerKnowsNoBetter(t *testing.T) {
	dec := must(decoderOf[*metav1.PartialObjectMetadata](podGVR.GroupVersion(), Options{}))
	var got listed[*metav1.PartialObjectMetadata]
	if err := dec.list(false, bytes.NewReader(jsonBytes(podList("3", "a"))), nil, nil, got.page); err != nil || got.items[0].Key != nsName("ns", "a") {
		t.Errorf("list: %+v %v", got.items, err)
	}
	var seen watched[*metav1.PartialObjectMetadata]
	if err := dec.watch(bytes.NewReader(jsonFrame("ADDED", pod("ns", "a", "1"))), nil, nil, seen.batch); err != nil || seen.events[0].Object.Kind != "Pod" {
		t.Errorf("watch: %+v %v", seen.events, err)
	}
}

func TestFromRESTUsesTheClientItIsGiven(t *testing.T) {
	agent := ""
	cfg := serve(t, func(w http.ResponseWriter, r *http.Request) {
		agent = r.UserAgent()
		answer("application/json", jsonBytes(podList("3", "a")))(w, r)
	})
	cfg.UserAgent = "somebody"
	client := must(kubernetes.NewForConfig(cfg)).CoreV1().RESTClient()
	src := must(FromREST[*corev1.Pod](client, "pods", Options{Namespace: "x", LabelSelector: "a=b", FieldSelector: "c=d"}))
	if got, err := list(t, src, ListRequest[*corev1.Pod]{}); err != nil || len(got.items) != 1 || agent != "somebody" {
		t.Errorf("%d items for %s: %v", len(got.items), agent, err)
	}
	if src.String() != "pods in namespace x, selector a=b, fields c=d" {
		t.Errorf("it is called %s", src)
	}
}

func TestATimeoutBoundsAListAndNotAWatch(t *testing.T) {
	cfg := serve(t, func(w http.ResponseWriter, r *http.Request) {
		w.WriteHeader(http.StatusOK)
		w.(http.Flusher).Flush()
		if r.URL.Query().Get("watch") == "" {
			<-r.Context().Done()
			return
		}
		// The list before has shown that the timeout had passed by now, had
		// it applied.
		w.Write(jsonFrame("ADDED", pod("ns", "a", "1")))
	})
	cfg.Timeout = 50e6
	src := must(FromConfig[*corev1.Pod](cfg, podGVR, Options{}))
	if _, err := list(t, src, ListRequest[*corev1.Pod]{}); err == nil || !strings.Contains(err.Error(), "deadline exceeded") || t.Context().Err() != nil {
		t.Errorf("%v", err)
	}
	if got, err := watchAll(t, src, WatchRequest[*corev1.Pod]{}); err != nil || len(got.events) != 1 {
		t.Errorf("%d events: %v", len(got.events), err)
	}
	if rs := src.(*restSource[*corev1.Pod]); rs.client.(*rest.RESTClient).Client.Timeout != 0 {
		t.Error("the timeout is the watches' too")
	}
}

func TestConstructorsNameEveryProblemAtOnce(t *testing.T) {
	bad := Options{Namespace: "a/b", LabelSelector: "a==!", FieldSelector: "a", MaxObjectBytes: -1}
	contains := func(t *testing.T, err error, words ...string) {
		t.Helper()
		if err == nil {
			t.Fatal("no error")
		}
		for _, w := range words {
			if !strings.Contains(err.Error(), w) {
				t.Errorf("no %q in: %v", w, err)
			}
		}
	}
	_, err := FromConfig[*corev1.Pod](nil, schema.GroupVersionResource{}, bad)
	contains(t, err, "rest.Config", "version", "no resource", "namespace", "label selector", "field selector", "MaxObjectBytes")
	_, err = FromREST[*corev1.Pod](nil, "a/b", bad)
	contains(t, err, "no client", `"a/b"`, "namespace", "label selector", "field selector", "MaxObjectBytes")
	_, err = FromListerWatcher[*corev1.Pod](nil, bad)
	contains(t, err, "ListerWatcher", "namespace", "label selector", "field selector", "MaxObjectBytes")
	_, err = decoderOf[corev1.Pod](podGVR.GroupVersion(), Options{})
	contains(t, err, "pointer")
	_, err = decoderOf[*metav1.ObjectMeta](podGVR.GroupVersion(), Options{})
	contains(t, err, "runtime.Object")
	_, err = decoderOf[*corev1.PodList](podGVR.GroupVersion(), Options{})
	contains(t, err, "metadata")
	_, err = FromConfig[*corev1.Pod](&rest.Config{Host: "http://[::1]:namedport"}, podGVR, Options{})
	contains(t, err, "pods")
}
