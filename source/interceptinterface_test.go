package source

import (
	"context"
	"net/http"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"
)

// TestMetadataInAnInterfaceIsWhatTheMetadataClientReturns, its kind included:
// there is none in protobuf, and in the JSON of a list the one that it says.
func TestMetadataInAnInterfaceIsWhatTheMetadataClientReturns(t *testing.T) {
	partials := &metav1.PartialObjectMetadataList{
		TypeMeta: metav1.TypeMeta{APIVersion: "meta.k8s.io/v1", Kind: "PartialObjectMetadataList"},
		ListMeta: metav1.ListMeta{ResourceVersion: "12"},
		Items:    []metav1.PartialObjectMetadata{*partialOf(pod("ns", "a", "1")), *partialOf(pod("ns", "b", "2"))},
	}
	for _, c := range codecs() {
		handler := func(w http.ResponseWriter, r *http.Request) {
			body := c.object(partials)
			if r.URL.Query().Get("watch") != "" {
				body = c.frame("ADDED", partialOf(pod("ns", "a", "1")))
			}
			answer(c.contentType, body)(w, r)
		}
		closures := func(cfg *rest.Config) ListerWatcher {
			client := must(metadata.NewForConfig(cfg)).Resource(podGVR)
			return &cache.ListWatch{
				ListWithContextFunc: func(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) {
					return client.List(ctx, o)
				},
				WatchFuncWithContext: func(ctx context.Context, o metav1.ListOptions) (watch.Interface, error) {
					return client.Watch(ctx, o)
				},
			}
		}
			example := &metav1.PartialObjectMetadata{}
		src := recorded(must(FromListerWatcher[any](closures(wrapped(serve(t, handler))), Options{Example: example, Intercept: true})))
		plain := must(FromListerWatcher[any](closures(serve(t, handler)), Options{Example: example}))
		got, err := list(t, src, ListRequest[any]{})
		want, plainErr := list(t, plain, ListRequest[any]{})
		if diff := differences(want.items, got.items); diff != "" || err != nil || plainErr != nil || len(got.items) != 2 {
			t.Errorf("%s: %v, %v, %s", c.name, err, plainErr, diff)
		}
		gotEvents, err := watchAll(t, src, WatchRequest[any]{ResourceVersion: "12"})
		wantEvents, plainErr := watchAll(t, plain, WatchRequest[any]{ResourceVersion: "12"})
		if diff := differences(itemsOf(wantEvents.events), itemsOf(gotEvents.events)); diff != "" || err != nil || plainErr != nil || len(gotEvents.events) != 1 {
			t.Errorf("%s: %v, %v, %s", c.name, err, plainErr, diff)
		}
		checkStats(t, src, 2, 0, nil)
	}
}

func TestAnInterceptorWithoutAnExampleIsNotUsedAndSaysWhy(t *testing.T) {
	var accepts []string
	lw := podClosures(wrapped(serve(t, negotiated(&accepts, podList("7", "a")))))
	src := recorded(must(FromListerWatcher[any](lw, Options{Intercept: true})))
	got, err := list(t, src, ListRequest[any]{})
	if err != nil || len(got.items) != 1 {
		t.Fatalf("%+v: %v", got.items, err)
	}
	checkStats(t, src, 0, 1, ErrNoExample)
}
