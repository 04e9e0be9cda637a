package source

import (
	"bytes"
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
)

func TestListEqualsTheTypedClient(t *testing.T) {
	for _, c := range codecs() {
		t.Run(c.name, func(t *testing.T) {
			pods, _ := randomPods(t, 60)
			body := c.object(pods)
			cfg := serve(t, answer(c.contentType, body))
			got, err := list(t, must(FromConfig[*corev1.Pod](cfg, podGVR, Options{})), ListRequest[*corev1.Pod]{})
			if err != nil {
				t.Fatal(err)
			}
			want, err := must(kubernetes.NewForConfig(cfg)).CoreV1().Pods("").List(t.Context(), metav1.ListOptions{})
			if err != nil {
				t.Fatal(err)
			}
			if len(got.items) != len(want.Items) || got.version != want.ResourceVersion {
				t.Fatalf("%d items at %q, want %d at %q", len(got.items), got.version, len(want.Items), want.ResourceVersion)
			}
			if got.bytes != int64(len(body)) {
				t.Errorf("%d bytes counted of %d", got.bytes, len(body))
			}
			for i, it := range got.items {
				if diff := differences(&want.Items[i], it.Object); diff != "" {
					t.Fatalf("item %d (-client-go +kinglet):\n%s", i, diff)
				}
				if it.Key != nsName(it.Object.Namespace, it.Object.Name) || it.UID != it.Object.UID || it.ResourceVersion != it.Object.ResourceVersion {
					t.Errorf("item %d says it is %+v", i, it)
				}
			}
		})
	}
}

func TestALongAnswerComesInPagesOfOneVersion(t *testing.T) {
	var names []string
	for i := range 3*pageItems + 7 {
		names = append(names, "p"+strconv.Itoa(i))
	}
	n := int64(11)
	pods := podList("9", names...)
	pods.Continue, pods.RemainingItemCount = "token", &n
	for _, c := range codecs() {
		t.Run(c.name, func(t *testing.T) {
			body := c.object(pods)
			cfg := serve(t, answer(c.contentType, body))
			got, err := list(t, must(FromConfig[*corev1.Pod](cfg, podGVR, Options{})), ListRequest[*corev1.Pod]{})
			if err != nil {
				t.Fatal(err)
			}
			if len(got.pages) < 4 {
				t.Errorf("%d pages", len(got.pages))
			}
			last := got.pages[len(got.pages)-1]
			if last.Continue != "token" || last.Remaining != 11 || last.ResourceVersion != "9" {
				t.Errorf("the last page says %+v", last)
			}
			if got.bytes != int64(len(body)) {
				t.Errorf("%d bytes counted of %d", got.bytes, len(body))
			}
			if !slices.EqualFunc(got.items, names, func(it Item[*corev1.Pod], name string) bool { return it.Key.Name == name }) {
				t.Errorf("%d items, in another order or others", len(got.items))
			}
		})
	}
}

func TestWhatIsAskedForReachesTheServer(t *testing.T) {
	var path, accept string
	var query url.Values
	cfg := serve(t, func(w http.ResponseWriter, r *http.Request) {
		path, query, accept = r.URL.Path, r.URL.Query(), r.Header.Get("Accept")
		w.Header().Set("Content-Type", "application/json")
		if r.URL.Query().Get("watch") == "" {
			w.Write(jsonBytes(podList("1")))
		}
	})
	opts := Options{Namespace: "ns", LabelSelector: "a=b", FieldSelector: "spec.nodeName=n1"}
	src := must(FromConfig[*corev1.Pod](cfg, podGVR, opts))
	fixed := url.Values{"labelSelector": {"a=b"}, "fieldSelector": {"spec.nodeName=n1"}}
	for _, tc := range []struct {
		name string
		call func() error
		want url.Values
	}{
		{"a first page", func() error {
			_, err := list(t, src, ListRequest[*corev1.Pod]{ResourceVersion: "5", NotOlderThan: true, Limit: 10})
			return err
		}, url.Values{"resourceVersion": {"5"}, "resourceVersionMatch": {"NotOlderThan"}, "limit": {"10"}}},
		{"a later page, whose token carries the version", func() error {
			_, err := list(t, src, ListRequest[*corev1.Pod]{ResourceVersion: "5", NotOlderThan: true, Limit: 10, Continue: "tok"})
			return err
		}, url.Values{"limit": {"10"}, "continue": {"tok"}}},
		{"any version", func() error {
			_, err := list(t, src, ListRequest[*corev1.Pod]{ResourceVersion: "0"})
			return err
		}, url.Values{"resourceVersion": {"0"}}},
		{"a watch", func() error {
			_, err := watchAll(t, src, WatchRequest[*corev1.Pod]{ResourceVersion: "8", Timeout: 1500e6})
			return err
		}, url.Values{"watch": {"true"}, "allowWatchBookmarks": {"true"}, "resourceVersion": {"8"}, "timeoutSeconds": {"2"}}},
		{"a watch-list", func() error {
			_, err := watchAll(t, src, WatchRequest[*corev1.Pod]{SendInitialEvents: true})
			return err
		}, url.Values{"watch": {"true"}, "allowWatchBookmarks": {"true"}, "sendInitialEvents": {"true"}, "resourceVersionMatch": {"NotOlderThan"}}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if err := tc.call(); err != nil {
				t.Fatal(err)
			}
			for k, v := range fixed {
				tc.want[k] = v
			}
			if diff := differences(tc.want, query); diff != "" {
				t.Errorf("query (-want +got):\n%s", diff)
			}
			if path != "/api/v1/namespaces/ns/pods" {
				t.Errorf("path %s", path)
			}
			if accept != "application/vnd.kubernetes.protobuf,application/json" {
				t.Errorf("Accept: %s", accept)
			}
		})
	}
	t.Run("a group's path", func(t *testing.T) {
		gvr := schema.GroupVersionResource{Group: "apps", Version: "v1", Resource: "deployments"}
		src := must(FromConfig[*corev1.Pod](cfg, gvr, Options{LabelSelector: "c"}))
		// The answer is a PodList, of v1.
		var kerr *KindError
		if _, err := list(t, src, ListRequest[*corev1.Pod]{}); !errors.As(err, &kerr) {
			t.Errorf("%v", err)
		}
		if path != "/apis/apps/v1/deployments" || query.Get("labelSelector") != "c" {
			t.Errorf("asked for %s %v", path, query)
		}
		if src.String() != "deployments.apps, selector c" {
			t.Errorf("it is called %s", src)
		}
	})
}

func TestWhatTheServerRefusesComesAsItsStatus(t *testing.T) {
	pods := schema.GroupResource{Resource: "pods"}
	for _, tc := range []struct {
		name string
		err  *apierrors.StatusError
		is   func(error) bool
	}{
		{"403", apierrors.NewForbidden(pods, "", errors.New("no")), apierrors.IsForbidden},
		{"404", apierrors.NewNotFound(pods, ""), apierrors.IsNotFound},
		{"410 Expired", apierrors.NewResourceExpired("old"), apierrors.IsResourceExpired},
		{"410 Gone", &apierrors.StatusError{ErrStatus: metav1.Status{Status: metav1.StatusFailure, Code: 410, Reason: metav1.StatusReasonGone}}, apierrors.IsGone},
		{"500", apierrors.NewInternalError(errors.New("oh")), apierrors.IsInternalError},
		{"401", apierrors.NewUnauthorized("who"), apierrors.IsUnauthorized},
	} {
		t.Run(tc.name, func(t *testing.T) {
			src := must(FromConfig[*corev1.Pod](serve(t, answerStatus(&tc.err.ErrStatus)), podGVR, Options{}))
			_, err := list(t, src, ListRequest[*corev1.Pod]{})
			if !tc.is(err) {
				t.Errorf("list: %v", err)
			}
			_, err = watchAll(t, src, WatchRequest[*corev1.Pod]{})
			if !tc.is(err) {
				t.Errorf("watch: %v", err)
			}
		})
	}
}

// A request is sent eleven times at most, and once if the server asks for more than half a
// minute: the reflector waits then, and its status shows it.
func TestAShortRetryAfterIsFollowedAndThenReported(t *testing.T) {
	for _, c := range []struct {
		refusals, asks int
		once           bool
		calls          int
		fails          bool
	}{
		{refusals: 2, asks: 7, calls: 3},
		{refusals: 10, asks: 30, calls: 11},
		{refusals: 11, asks: 7, calls: 11, fails: true},
		{refusals: 1, asks: 31, calls: 1, fails: true},
		{refusals: 1, asks: 86400, calls: 1, fails: true},
		{refusals: 1, asks: 7, once: true, calls: 1, fails: true},
	} {
		calls := 0
		handler := func(w http.ResponseWriter, r *http.Request) {
			if calls++; calls <= c.refusals {
				w.Header().Set("Retry-After", strconv.Itoa(c.asks))
				answerStatus(&apierrors.NewTooManyRequests("busy", c.asks).ErrStatus)(w, r)
				return
			}
			answer("application/json", jsonBytes(podList("3", "a")))(w, r)
		}
		cfg := func() *rest.Config {
			return &rest.Config{Host: "http://server", QPS: -1, Transport: roundTripper(func(req *http.Request) (*http.Response, error) {
				w := httptest.NewRecorder()
				handler(w, req)
				return w.Result(), nil
			})}
		}
		for kind, made := range map[string]func() Source[*corev1.Pod]{
			"REST": func() Source[*corev1.Pod] { return must(FromConfig[*corev1.Pod](cfg(), podGVR, Options{})) },
			"with an interceptor": func() Source[*corev1.Pod] {
				src, _ := intercepted(podClosures(wrapped(cfg())))
				return src
			},
		} {
			synctest.Test(t, func(t *testing.T) {
				calls = 0
				began := time.Now()
				got, err := list(t, made(), ListRequest[*corev1.Pod]{Once: c.once})
				if calls != c.calls || apierrors.IsTooManyRequests(err) != c.fails || err == nil != (len(got.items) == 1) {
					t.Errorf("%s, %+v: %d items after %d calls: %v", kind, c, len(got.items), calls, err)
				}
				if took, want := time.Since(began), time.Duration((c.calls-1)*c.asks)*time.Second; took != want {
					t.Errorf("%s, %+v: it took %v, want %v", kind, c, took, want)
				}
			})
		}
	}
}

// TestAListThatEndsTooSoonIsAnErrorWhereverItEnds is about connections whose end
// is that of the body: nothing else tells that there is more to come. What is
// taken for a list that ends too soon deletes everything behind its end.
func TestAListThatEndsTooSoonIsAnErrorWhereverItEnds(t *testing.T) {
	for _, c := range codecs() {
		t.Run(c.name, func(t *testing.T) {
			for _, names := range [][]string{nil, {"a"}, {"a", "b"}} {
				body := c.object(podList("3", names...))
				whole := 0
				for cut := range len(body) + 1 {
					var got listed[*corev1.Pod]
					err := fuzzDecoder[*corev1.Pod]().list(false, bytes.NewReader(body[:cut]), nil, nil, got.page)
					switch {
					case err == nil && (len(got.items) != len(names) || got.version != "3"):
						t.Errorf("of %d items, %d of %d bytes are a list of %d at %q", len(names), cut, len(body), len(got.items), got.version)
					case err == nil:
						whole++
					case cut == len(body):
						t.Errorf("%d items: %v", len(names), err)
					}
				}
				// A message in protobuf ends with fields that say nothing of the
				// list, and JSON with a newline.
				if whole > 8 {
					t.Errorf("of %d items, %d beginnings are the whole", len(names), whole)
				}
			}
		})
	}
}

func TestAStatusInPlaceOfAListIsItsError(t *testing.T) {
	for _, c := range codecs() {
		t.Run(c.name, func(t *testing.T) {
			cfg := serve(t, answer(c.contentType, c.object(&apierrors.NewResourceExpired("too old").ErrStatus)))
			src := must(FromConfig[*corev1.Pod](cfg, podGVR, Options{}))
			if _, err := list(t, src, ListRequest[*corev1.Pod]{}); !apierrors.IsResourceExpired(err) {
				t.Errorf("%v", err)
			}
		})
	}
}

func TestAListOfAnotherKindIsRefused(t *testing.T) {
	for _, c := range codecs() {
		t.Run(c.name, func(t *testing.T) {
			cfg := serve(t, answer(c.contentType, c.object(&corev1.NodeList{Items: []corev1.Node{{}}})))
			var kerr *KindError
			_, err := list(t, must(FromConfig[*corev1.Pod](cfg, podGVR, Options{})), ListRequest[*corev1.Pod]{})
			if !errors.As(err, &kerr) || kerr.Got.Kind != "NodeList" || kerr.Want.Kind != "PodList" {
				t.Errorf("%v", err)
			}
		})
	}
}

func TestAnEmptyListOfNoKindIsTakenForATypedOneAlone(t *testing.T) {
	for _, body := range []string{`{"items":[]}`, `{"items":null}`, `{"metadata":{},"items":[]}`} {
		cfg := serve(t, answer("application/json", []byte(body)))
		var kerr *KindError
		if _, err := list(t, must(FromConfig[*unstructured.Unstructured](cfg, podGVR, Options{})), ListRequest[*unstructured.Unstructured]{}); !errors.As(err, &kerr) {
			t.Errorf("unstructured, %s: %v", body, err)
		}
		if _, err := list(t, must(FromConfig[*metav1.PartialObjectMetadata](cfg, podGVR, Options{})), ListRequest[*metav1.PartialObjectMetadata]{}); !errors.As(err, &kerr) {
			t.Errorf("metadata, %s: %v", body, err)
		}
		if _, err := list(t, must(FromConfig[*corev1.Pod](cfg, podGVR, Options{})), ListRequest[*corev1.Pod]{}); err != nil {
			t.Errorf("typed, %s: %v", body, err)
		}
	}
}

func TestAListEndsWithItsContextAndWithYieldsError(t *testing.T) {
	release := make(chan struct{})
	cfg := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Query().Get("limit") == "1" {
			answer("application/json", jsonBytes(podList("3", "a")))(w, r)
			return
		}
		w.WriteHeader(http.StatusOK)
		w.(http.Flusher).Flush()
		close(release)
		<-r.Context().Done()
	})
	src := must(FromConfig[*corev1.Pod](cfg, podGVR, Options{}))
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		<-release
		cancel()
	}()
	if err := src.List(ctx, ListRequest[*corev1.Pod]{}, new(listed[*corev1.Pod]).page); err != context.Canceled {
		t.Errorf("cancelled: %v", err)
	}
	err := src.List(t.Context(), ListRequest[*corev1.Pod]{Limit: 1}, func(Page[*corev1.Pod]) error { return errEnough })
	if err != errEnough {
		t.Errorf("stopped: %v", err)
	}
}

// It fails under the race detector only: exact lists may be asked for at any time.
func TestAnExactListMayBeReadWhileTheWatchIsBusy(t *testing.T) {
	burst := bytes.Repeat(protoFrame("MODIFIED", pod("ns", "a", "1")), 300)
	pods := protoBytes(podList("3", "a", "b"))
	cfg := wrapped(serve(t, func(w http.ResponseWriter, r *http.Request) {
		body := pods
		if r.URL.Query().Get("watch") != "" {
			body = burst
		}
		answer("application/vnd.kubernetes.protobuf", body)(w, r)
	}))
	through, _ := intercepted(podClosures(cfg))
	for name, src := range map[string]Source[*corev1.Pod]{"REST": must(FromConfig[*corev1.Pod](cfg, podGVR, Options{})), "closures": through.(*recorder[*corev1.Pod]).Source} {
		if !src.Traits().ExactLists {
			t.Errorf("%s takes no exact lists", name)
		}
		var busy sync.WaitGroup
		busy.Go(func() {
			held := newSink[*corev1.Pod]()
			for range 20 {
				if got, err := watchAll(t, src, WatchRequest[*corev1.Pod]{Held: held.get}); err != nil || len(got.events) != 300 {
					t.Errorf("%s: %d events: %v", name, len(got.events), err)
				}
			}
		})
		for range 20 {
			var got listed[*corev1.Pod]
			if err := src.List(t.Context(), ListRequest[*corev1.Pod]{ResourceVersion: "3", Exact: true}, got.page); err != nil || len(got.items) != 2 {
				t.Errorf("%s: %d items: %v", name, len(got.items), err)
			}
		}
		busy.Wait()
	}
}

// One object in place of a list is refused, whatever may be the kind of a list.
func TestAnObjectInPlaceOfAListIsRefused(t *testing.T) {
	for _, body := range []string{
		`{"apiVersion":"example.com/v1","kind":"Foo","metadata":{"name":"a"}}`,
		`{"metadata":{"name":"a"},"spec":{},"kind":"Foos","apiVersion":"example.com/v1"}`,
	} {
		dec := must(decoderOf[*unstructured.Unstructured](kindGV, Options{}))
		var kerr *KindError
		var got listed[*unstructured.Unstructured]
		if err := dec.list(false, strings.NewReader(body), nil, nil, got.page); !errors.As(err, &kerr) {
			t.Errorf("%s: %v", body, err)
		}
	}
}

func TestTheMetadataOfAnAnswerIsThatOfAnObjectOrOfAListOfAnyKind(t *testing.T) {
	const object = `"kind":"Foo","apiVersion":"example.com/v1"`
	for _, kind := range []string{"FooList", "Foos", "Foo"} {
		for body, want := range map[string]int{
			`{"kind":"` + kind + `","apiVersion":"example.com/v1","metadata":{"name":"a"}}`:                                                                                                        1,
			`{"kind":"` + kind + `","apiVersion":"example.com/v1","metadata":{"resourceVersion":"7"},"items":[{` + object + `,"metadata":{"name":"a"}},{` + object + `,"metadata":{"name":"b"}}]}`: 2,
		} {
			if all := AnswerMetadata([]byte(body)); len(all) != want || all[0].Name != "a" {
				t.Errorf("%s: %v", body, all)
			}
		}
	}
}
