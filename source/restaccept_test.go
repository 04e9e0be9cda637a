package source

import (
	"net/http"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/rest/fake"
	"k8s.io/client-go/tools/cache"
)

// TestOnlyTheEncodingsThatAClientNamesAreAskedFor, in lists, watches and
// samples, whether the source is made from the configuration or from a client
// that was made from it.
func TestOnlyTheEncodingsThatAClientNamesAreAskedFor(t *testing.T) {
	const (
		pb, js  = "application/vnd.kubernetes.protobuf", "application/json"
		partial = ";as=PartialObjectMetadata;g=meta.k8s.io;v=v1"
		partlst = ";as=PartialObjectMetadataList;g=meta.k8s.io;v=v1"

		allPartial, allPartialList = pb + partial + "," + js + partial + "," + js, pb + partlst + "," + js + partlst + "," + js
	)
	for _, tc := range []struct {
		named, content string
		// what pods, unstructured objects and metadata are asked for as.
		typed, untyped, list, watch string
	}{
		{"", "", pb + "," + js, js, allPartialList, allPartial},
		{"", pb, pb + "," + js, js, allPartialList, allPartial},
		{"", js, pb + "," + js, js, allPartialList, allPartial},
		{pb + ",*/*", "", pb + "," + js, js, allPartialList, allPartial},
		{"application/*", "", pb + "," + js, js, allPartialList, allPartial},
		{pb + "," + js, pb, pb + "," + js, js, allPartialList, allPartial},
		{js, "", js, js, js + partlst + "," + js, js + partial + "," + js},
		{js, pb, js, js, js + partlst + "," + js, js + partial + "," + js},
		{js + "," + pb, "", js + "," + pb, js, js + partlst + "," + pb + partlst + "," + js, js + partial + "," + pb + partial + "," + js},
		{pb, "", pb, "", pb + partlst, pb + partial},
		{js + ";q=0.9, application/yaml;q=1", "", js, js, js + partlst + "," + js, js + partial + "," + js},
		{"application/yaml", "", "", "", "", ""},
	} {
		var asked []string
		serve := func() *rest.Config {
			cfg := serve(t, func(w http.ResponseWriter, r *http.Request) {
				asked = append(asked, r.Header.Get("Accept"))
				w.WriteHeader(http.StatusGone)
			})
			cfg.AcceptContentTypes, cfg.ContentType = tc.named, tc.content
			return cfg
		}
		check := func(what, list, watch string, ask func(), err error) {
			t.Helper()
			if list == "" {
				if err == nil || !strings.Contains(err.Error(), tc.named) {
					t.Errorf("%q, %s: %v, though nothing of that can be read", tc.named, what, err)
				}
				return
			}
			if err != nil {
				t.Errorf("%q, %s: %v", tc.named, what, err)
				return
			}
			asked = nil
			ask()
			if got := strings.Join(asked, " "); got != strings.Join([]string{list, watch, list}, " ") {
				t.Errorf("%q, %s: asked for %q, want %q and %q", tc.named, what, asked, list, watch)
			}
		}
		client := func() rest.Interface { return must(kubernetes.NewForConfig(serve())).CoreV1().RESTClient() }
		pods, err := FromConfig[*corev1.Pod](serve(), podGVR, Options{})
		check("pods", tc.typed, tc.typed, ask(t, pods), err)
		pods, err = FromREST[*corev1.Pod](client(), "pods", Options{})
		check("pods of a client", tc.typed, tc.typed, ask(t, pods), err)
		checkCopy(t, client().(*rest.RESTClient), tc.named, tc.typed, &asked)
		things, err := FromREST[*unstructured.Unstructured](client(), "pods", Options{})
		check("unstructured pods", tc.untyped, tc.untyped, ask(t, things), err)
		meta, err := FromConfig[*metav1.PartialObjectMetadata](serve(), podGVR, Options{})
		check("metadata", tc.list, tc.watch, ask(t, meta), err)
	}
	if _, err := FromREST[*corev1.Pod](&fake.RESTClient{GroupVersion: podGVR.GroupVersion()}, "pods", Options{}); err != nil {
		t.Errorf("a fake client names nothing: %v", err)
	}
}

// checkCopy lists and watches through closures over WrapClient's copy of client, and checks
// what is asked for: want, or if that is empty what the client names.
func checkCopy(t *testing.T, client *rest.RESTClient, named, want string, asked *[]string) {
	t.Helper()
	if want == "" {
		want = named
	}
	src, _ := intercepted(cache.NewListWatchFromClient(WrapClient(client), "pods", "ns", fields.Everything()))
	*asked = nil
	_ = src.List(t.Context(), ListRequest[*corev1.Pod]{}, nil)
	_ = src.Watch(t.Context(), WatchRequest[*corev1.Pod]{}, nil)
	if got := strings.Join(*asked, " "); got != want+" "+want {
		t.Errorf("%q, a copy of the client: asked for %q, want %q", named, got, want)
	}
	// The client itself is as it was: it asks for what it reads.
	*asked = nil
	_ = client.Get().Resource("pods").Do(t.Context()).Error()
	if got := acceptHeader(client.Get()); strings.Join(*asked, " ") != got {
		t.Errorf("%q, the client: asked for %q, want %q", named, *asked, got)
	}
}

// TestACopyOfAClientIsReadFromTheWire through a transport of the program's own, which a
// fake server's client has, or none.
func TestACopyOfAClientIsReadFromTheWire(t *testing.T) {
	var accepts []string
	cfg := serve(t, negotiated(&accepts, podList("3", "a"), pod("ns", "b", "4")))
	for name, change := range map[string]func(*rest.RESTClient){
		"as it is":               func(*rest.RESTClient) {},
		"without an HTTP client": func(c *rest.RESTClient) { c.Client = nil },
		"without a transport":    func(c *rest.RESTClient) { c.Client = &http.Client{} },
		"of a wrapped config":    func(c *rest.RESTClient) { c.Client.Transport = WrapTransport(c.Client.Transport) },
	} {
		client := must(kubernetes.NewForConfig(cfg)).CoreV1().RESTClient().(*rest.RESTClient)
		change(client)
		src, interceptor := intercepted(cache.NewListWatchFromClient(WrapClient(client), "pods", "ns", fields.Everything()))
		var path ReadPath
		onPath := func(p ReadPath) { path = p }
		if got, err := list(t, src, ListRequest[*corev1.Pod]{OnPath: onPath}); err != nil || len(got.items) != 1 || path.Path != PathProtobuf {
			t.Errorf("%s: %+v, %v, %v", name, got, path, err)
		}
		if got, err := watchAll(t, src, WatchRequest[*corev1.Pod]{OnPath: onPath}); err != nil || len(got.events) != 1 || path.Path != PathProtobuf {
			t.Errorf("%s: %+v, %v, %v", name, got, path, err)
		}
		checkStats(t, interceptor, 2, 0, nil)
	}
}

func TestAFakeClientsetHasNoClientForREST(t *testing.T) {
	if _, err := FromREST[any]((*rest.RESTClient)(nil), "pods", Options{Example: &corev1.Pod{}}); err == nil {
		t.Error("a nil pointer was taken for a client")
	}
}

// ask makes a list, a watch and an exact list. All of it fails, which is no matter.
func ask[T any](t *testing.T, src Source[T]) func() {
	return func() {
		for _, err := range []error{
			src.List(t.Context(), ListRequest[T]{}, nil),
			src.Watch(t.Context(), WatchRequest[T]{}, nil),
			src.List(t.Context(), ListRequest[T]{Exact: true}, nil),
		} {
			if err == nil {
				t.Error("it was not refused")
			}
		}
	}
}
