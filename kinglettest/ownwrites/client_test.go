package ownwrites_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	typedcorev1 "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/rest"

	"github.com/kinglet-go/kinglet"
	"github.com/kinglet-go/kinglet/internal/tests/testbubble"
	"github.com/kinglet-go/kinglet/internal/tests/testpods"
	"github.com/kinglet-go/kinglet/kinglettest/apiserver"
	"github.com/kinglet-go/kinglet/source"
)

// tryClient writes by a typed and by a dynamic client, and compares what reads
// show before the watch comes to it and after. It leaves what it found.
func tryClient(t *testing.T, b *behind, cfg *rest.Config) {
	t.Helper()
	ctx := t.Context()
	pods := kubernetes.NewForConfigOrDie(cfg).CoreV1().Pods("ns")
	created, err := pods.Create(ctx, testpods.New("b", "n1"), metav1.CreateOptions{})
	b.must(err)
	b.shows("a on n1", "b on n1")
	created.Spec.NodeName = "n2"
	updated, err := pods.Update(ctx, created, metav1.UpdateOptions{})
	b.must(err)
	b.shows("a on n1", "b on n2")
	updated.Status.Phase = corev1.PodRunning
	_, err = pods.UpdateStatus(ctx, updated, metav1.UpdateOptions{})
	b.must(err)
	if p, _ := b.informer.Store().Get(key("b")); p.Status.Phase != corev1.PodRunning {
		t.Errorf("the phase is %q", p.Status.Phase)
	}
	if _, err := pods.Create(ctx, testpods.New("a", "n9"), metav1.CreateOptions{}); err == nil {
		t.Error("created twice")
	}
	b.shows("a on n1", "b on n2")
	cfg = rest.CopyConfig(cfg)
	cfg.ContentType = ""
	untyped := dynamic.NewForConfigOrDie(cfg).Resource(corev1.SchemeGroupVersion.WithResource("pods")).Namespace("ns")
	u, err := untyped.Get(ctx, "b", metav1.GetOptions{})
	b.must(err)
	u.SetFinalizers([]string{"example.com/f"})
	u, err = untyped.Update(ctx, u, metav1.UpdateOptions{})
	b.must(err)
	b.must(pods.Delete(ctx, "b", metav1.DeleteOptions{})) // it is marked
	if p, ok := b.informer.Store().Get(key("b")); !ok || p.DeletionTimestamp == nil {
		t.Errorf("not marked: %v", p)
	}
	u.SetFinalizers(nil)
	u.SetResourceVersion("")
	_, err = untyped.Update(ctx, u, metav1.UpdateOptions{})
	b.must(err)
	b.shows("a on n1")
	_, err = pods.Create(ctx, testpods.New("c", "n1"), metav1.CreateOptions{})
	b.must(err)
	b.must(pods.Delete(ctx, "c", metav1.DeleteOptions{}))
	b.shows("a on n1")
	b.catchUp()
	b.shows("a on n1")
	if s := b.own(); s.Entries != 0 {
		t.Errorf("%+v", s)
	}
}

// A server that cannot be asked what a delete has left is no reason to keep silent.
func TestADeleteOfWhatWasNotSeenSaysThatTheServerCouldNotBeAsked(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBehind(t, source.Options{}, kinglet.Options[pod]{})
		defer b.end()
		own := &kinglet.OwnWrites{}
		b.must(own.Add(corev1.SchemeGroupVersion.WithResource("pods"), b.informer))
		req, err := http.NewRequestWithContext(t.Context(), "DELETE", "http://server/api/v1/namespaces/ns/pods/b", nil)
		b.must(err)
		gone := answers{status: 200, body: `{"apiVersion":"v1","kind":"Status","status":"Success","details":{"name":"b","kind":"pods","uid":"u"}}`}
		resp, err := own.Wrap(gone).RoundTrip(req)
		b.must(err)
		b.must(resp.Body.Close())
		if errs := b.reported(); len(errs) != 1 || !strings.Contains(errs[0].Error(), "own write of ns/b: the answer to a delete has no version") {
			t.Errorf("reported: %v", errs)
		}
	})
}

// answers is a transport that answers every request in the same way.
type answers struct {
	status   int
	body     string
	encoding string
	err      error // after the body
}

func (a answers) RoundTrip(*http.Request) (*http.Response, error) {
	var body io.Reader = strings.NewReader(a.body)
	if a.err != nil {
		body = io.MultiReader(body, errReader{a.err})
	}
	return &http.Response{StatusCode: a.status, Header: http.Header{"Content-Type": {"application/json"}, "Content-Encoding": {a.encoding}}, Body: io.NopCloser(body)}, nil
}

type errReader struct{ err error }

func (r errReader) Read([]byte) (int, error) { return 0, r.err }

func TestOwnWritesIgnoresRequestsThatDoNotWriteTheObject(t *testing.T) {
	const made = `{"apiVersion":"v1","kind":"Pod","metadata":{"namespace":"ns","name":"b","uid":"u","resourceVersion":"5000"},"spec":{"nodeName":"n1"}}`
	const gone = `{"apiVersion":"v1","kind":"Status","status":"Success","details":{"name":"a","kind":"pods","uid":"UID"}}`
	for _, tc := range []struct {
		what, method, path, sent string
		answer                   answers
		told                     bool
	}{
		{"a create behind the proxy of Host", "POST", "/apis/cluster.karmada.io/v1alpha1/clusters/m1/proxy/api/v1/namespaces/ns/pods", "{}", answers{status: 201, body: made}, true},
		{"an update behind the proxy of Host", "PUT", "/apis/cluster.karmada.io/v1alpha1/clusters/m1/proxy/api/v1/namespaces/ns/pods/b", "{}", answers{status: 200, body: made}, true},
		{"a create behind two proxies", "POST", "/apis/cluster.karmada.io/v1alpha1/clusters/m1/proxy/api/v1/nodes/n/proxy/api/v1/namespaces/ns/pods", "{}", answers{status: 201, body: made}, false},

		{"a create", "POST", "/api/v1/namespaces/ns/pods", "{}", answers{status: 201, body: made}, true},
		{"a create behind a proxy", "POST", "/k8s/clusters/c-1/api/v1/namespaces/ns/pods", "{}", answers{status: 201, body: made}, true},
		{"an apply", "PATCH", "/api/v1/namespaces/ns/pods/b?fieldManager=x", "{}", answers{status: 200, body: made}, true},
		{"a status", "PUT", "/api/v1/namespaces/ns/pods/b/status", "{}", answers{status: 200, body: made}, true},
		{"a delete", "DELETE", "/api/v1/namespaces/ns/pods/a", `{"kind":"DeleteOptions"}`, answers{status: 200, body: gone}, true},
		{"a delete that answers with the object", "DELETE", "/api/v1/namespaces/ns/pods/a", "",
			answers{status: 200, body: `{"apiVersion":"v1","kind":"Pod","metadata":{"namespace":"ns","name":"a","uid":"UID","resourceVersion":"2"}}`}, true},

		{"a delete that answers with a Status without a UID", "DELETE", "/api/v1/namespaces/ns/pods/a", "",
			answers{status: 200, body: strings.Replace(gone, `,"uid":"UID"`, "", 1)}, true},
		{"a delete that answers with a Status without details", "DELETE", "/api/v1/namespaces/ns/pods/a", "",
			answers{status: 200, body: `{"apiVersion":"v1","kind":"Status","metadata":{},"status":"Success"}`}, true},

		{"a delete that answers with a Failure", "DELETE", "/api/v1/namespaces/ns/pods/a", "",
			answers{status: 200, body: `{"apiVersion":"v1","kind":"Status","metadata":{},"status":"Failure"}`}, false},
		{"a dry run", "POST", "/api/v1/namespaces/ns/pods?dryRun=All", "{}", answers{status: 201, body: made}, false},
		{"a dry run of a delete", "DELETE", "/api/v1/namespaces/ns/pods/a", `{"dryRun":["All"]}`, answers{status: 200, body: gone}, false},
		{"a read", "GET", "/api/v1/namespaces/ns/pods/b", "", answers{status: 200, body: made}, false},
		{"an error", "POST", "/api/v1/namespaces/ns/pods", "{}", answers{status: 409, body: `{"kind":"Status","apiVersion":"v1","status":"Failure"}`}, false},
		{"a Status", "POST", "/api/v1/namespaces/ns/pods", "{}", answers{status: 201, body: gone}, false},
		{"an eviction", "POST", "/api/v1/namespaces/ns/pods/a/eviction", "{}", answers{status: 201, body: gone}, false},
		{"a binding", "POST", "/api/v1/namespaces/ns/pods/a/binding", "{}", answers{status: 201, body: made}, false},
		{"an empty collection", "DELETE", "/api/v1/namespaces/ns/pods", "", answers{status: 200, body: `{"apiVersion":"v1","kind":"PodList","metadata":{},"items":[]}`}, false},
		{"another resource", "POST", "/api/v1/namespaces/ns/configmaps", "{}", answers{status: 201, body: made}, false},
		{"a body that breaks off", "POST", "/api/v1/namespaces/ns/pods", "{}", answers{status: 201, body: made, err: errors.New("reset")}, false},
		{"an encoding that nobody asked for", "POST", "/api/v1/namespaces/ns/pods", "{}", answers{status: 201, body: made, encoding: "zstd"}, false},
	} {
		t.Run(tc.what, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := newBehind(t, source.Options{}, kinglet.Options[pod]{}, testpods.New("a", "n1"))
				defer b.end()
				held, _ := b.informer.Store().Get(key("a"))
				tc.answer.body = strings.ReplaceAll(tc.answer.body, "UID", string(held.UID))
				own := &kinglet.OwnWrites{Host: "https://server/apis/cluster.karmada.io/v1alpha1/clusters/m1/proxy/"}
				b.must(own.Add(corev1.SchemeGroupVersion.WithResource("pods"), b.informer))
				req, err := http.NewRequestWithContext(t.Context(), tc.method, "http://server"+tc.path, bytes.NewReader([]byte(tc.sent)))
				b.must(err)
				resp, err := own.Wrap(tc.answer).RoundTrip(req)
				b.must(err)
				got, err := io.ReadAll(resp.Body)
				if string(got) != tc.answer.body || !errors.Is(err, tc.answer.err) {
					t.Errorf("the client got %q, %v", got, err)
				}
				b.must(resp.Body.Close())
				if n := b.own().Entries; (n == 1) != tc.told {
					t.Errorf("%d entries; reported: %v", n, b.reported())
				}
				if errs := b.reported(); (len(errs) > 0) != (tc.answer.encoding != "") {
					t.Errorf("reported: %v", errs)
				}
			})
		})
	}
}

func TestAWriteThroughAProxyThatHostDoesNotExplainIsReportedOnce(t *testing.T) {
	for host, reported := range map[string]int{
		"": 1, "server": 0, "https://server/": 0, "https://server/api/v1/nodes/other/proxy": 1, "https://server/api/v1/nodes/n/proxy": 0,
	} {
		synctest.Test(t, func(t *testing.T) {
			b := newBehind(t, source.Options{}, kinglet.Options[pod]{}, testpods.New("a", "n1"))
			defer b.end()
			own := &kinglet.OwnWrites{Host: host}
			b.must(own.Add(corev1.SchemeGroupVersion.WithResource("pods"), b.informer))
			rt := own.Wrap(answers{status: 201, body: "{}"})
			for _, path := range []string{"/configmaps", "/pods/b/log", "/pods", "/pods/b"} {
				req, err := http.NewRequestWithContext(t.Context(), "POST", "http://server/api/v1/nodes/n/proxy/api/v1/namespaces/ns"+path, strings.NewReader("{}"))
				b.must(err)
				resp, err := rt.RoundTrip(req)
				b.must(err)
				b.must(resp.Body.Close())
			}
			if errs := b.reported(); len(errs) != reported || reported > 0 && !strings.Contains(errs[0].Error(), "pods through /api/v1/nodes/n/proxy are not recorded") {
				t.Errorf("Host %q: reported: %v", host, errs)
			}
		})
	}
}

// TestWritesAreRecordedWhateverTheShapeOfHost is of clients as client-go makes them.
func TestWritesAreRecordedWhateverTheShapeOfHost(t *testing.T) {
	const proxy = "/api/v1/namespaces/x/services/https:s:443/proxy"
	for _, host := range []string{
		"server", "http://server", "http://server/", "http://server/k8s/clusters/c-1", "http://server" + proxy, "http://server" + proxy + "/", "http://server" + proxy + "//",
		"http://server/" + proxy, "http://server/a/.." + proxy, "http://server/." + proxy, "http://server/a%20b" + proxy, "http://server/a%2Fb" + proxy,
	} {
		synctest.Test(t, func(t *testing.T) {
			b := newBehind(t, source.Options{}, kinglet.Options[pod]{}, testpods.New("a", "n1"))
			defer b.end()
			own := &kinglet.OwnWrites{Host: host}
			b.must(own.Add(corev1.SchemeGroupVersion.WithResource("pods"), b.informer))
			c, err := typedcorev1.NewForConfig(&rest.Config{Host: host, Transport: own.Wrap(answers{status: 201, body: `{"apiVersion":"v1","kind":"Pod","metadata":{"namespace":"ns","name":"b","uid":"u","resourceVersion":"5000"}}`})})
			b.must(err)
			_, err = c.Pods("ns").Create(t.Context(), testpods.New("b", "n1"), metav1.CreateOptions{})
			b.must(err)
			if n := b.own().Entries; n != 1 || len(b.reported()) != 0 {
				t.Errorf("Host %q: %d entries, reported: %v", host, n, b.reported())
			}
		})
	}
}

// roundTripper is a function that is a transport.
type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

func TestOwnWritesRecordsCompressedAnswers(t *testing.T) {
	large := func(name string) pod {
		p := testpods.New(name, "n1")
		p.Annotations = map[string]string{"large": strings.Repeat("x", 200<<10)}
		return p
	}
	for name, asks := range map[string]bool{"net/http undoes it": false, "a wrapper above undoes it": true} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := newBehind(t, source.Options{}, kinglet.Options[pod]{}, large("a"))
				defer b.end()
				own := &kinglet.OwnWrites{}
				b.must(own.Add(corev1.SchemeGroupVersion.WithResource("pods"), b.informer))
				compressed := 0
				cfg := b.server.Config()
				cfg.Wrap(func(rt http.RoundTripper) http.RoundTripper {
					return roundTripper(func(r *http.Request) (*http.Response, error) {
						if r.Method != http.MethodDelete {
							return rt.RoundTrip(r)
						}
						b.delete("b") // and what is left has to be listed
						return answers{status: 200, body: `{"kind":"Status","apiVersion":"v1","status":"Success"}`}.RoundTrip(r)
					})
				})
				cfg.Wrap(own.Wrap)
				cfg.Wrap(func(rt http.RoundTripper) http.RoundTripper {
					return roundTripper(func(r *http.Request) (*http.Response, error) {
						if asks {
							r.Header.Set("Accept-Encoding", "gzip")
						}
						resp, err := rt.RoundTrip(r)
						b.must(err)
						switch {
						case resp.Uncompressed:
							compressed++
						case resp.Header.Get("Content-Encoding") == "gzip":
							compressed++
							resp.Body, err = gzip.NewReader(resp.Body)
						}
						return resp, err
					})
				})
				pods := kubernetes.NewForConfigOrDie(cfg).CoreV1().Pods("ns")
				created, err := pods.Create(t.Context(), large("b"), metav1.CreateOptions{})
				b.must(err)
				b.shows("a on n1", "b on n1")
				created.Spec.NodeName = "n2"
				_, err = pods.Update(t.Context(), created, metav1.UpdateOptions{})
				b.must(err)
				b.shows("a on n1", "b on n2")
				b.must(pods.DeleteCollection(t.Context(), metav1.DeleteOptions{}, metav1.ListOptions{}))
				b.shows("a on n1")
				if errs := b.reported(); compressed != 2 || len(errs) > 0 {
					t.Errorf("%d answers were compressed; reported: %v", compressed, errs)
				}
			})
		})
	}
}

// A server stores the events of both groups together.
func TestAReadWaitsForAnEventThatWasWrittenInTheOtherGroup(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		resource := corev1.SchemeGroupVersion.WithResource("events")
		storage := apiserver.NewStorage(apiserver.Resource{GroupVersionResource: resource, Kind: "Event"})
		server := apiserver.New(storage, apiserver.Options{})
		b := &behind{t: t, storage: storage, server: server, ended: make(chan error, 1)}
		src, err := source.FromConfig[*corev1.Event](server.Config(), resource, source.Options{})
		b.must(err)
		events, err := kinglet.New(src, kinglet.Options[*corev1.Event]{})
		b.must(err)
		ctx, stop := context.WithCancel(t.Context())
		b.stop = stop
		go func() { b.ended <- events.Run(ctx) }()
		defer b.end()
		synctest.Wait()
		server.Hold()
		own := &kinglet.OwnWrites{}
		b.must(own.Add(resource, events))
		cfg := &rest.Config{Host: "http://server", Transport: own.Wrap(roundTripper(func(r *http.Request) (*http.Response, error) {
			obj, err := storage.Create(&corev1.Event{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "e"}})
			b.must(err)
			body, err := json.Marshal(&eventsv1.Event{TypeMeta: metav1.TypeMeta{APIVersion: "events.k8s.io/v1", Kind: "Event"}, ObjectMeta: obj.(*corev1.Event).ObjectMeta})
			b.must(err)
			return answers{status: 201, body: string(body)}.RoundTrip(r)
		}))}
		_, err = kubernetes.NewForConfigOrDie(cfg).EventsV1().Events("ns").Create(ctx, &eventsv1.Event{ObjectMeta: metav1.ObjectMeta{Name: "e"}}, metav1.CreateOptions{})
		b.must(err)
		go func() {
			testbubble.Pass(3 * time.Second)
			server.Release()
		}()
		b.must(events.AwaitOwnWrites(ctx, key("e")))
		if _, ok := events.Store().Get(key("e")); !ok {
			t.Error("not in reads")
		}
	})
}

// Stubs in unit tests return what only net/http's client can read.
func TestAClientWithOwnWritesReturnsWhatItReturnsWithout(t *testing.T) {
	header := http.Header{"Content-Type": {"application/json"}}
	for name, resp := range map[string]*http.Response{
		"no response":           nil,
		"no body":               {StatusCode: 200, Header: header},
		"no body, but a length": {StatusCode: 200, Header: header, ContentLength: 7},
		"no body and no header": {StatusCode: 200},
		"no content":            {StatusCode: 204},
		"a refusal":             {StatusCode: 409},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := newBehind(t, source.Options{}, kinglet.Options[pod]{}, testpods.New("a", "n1"))
				defer b.end()
				own := &kinglet.OwnWrites{}
				b.must(own.Add(corev1.SchemeGroupVersion.WithResource("pods"), b.informer))
				stub := roundTripper(func(*http.Request) (*http.Response, error) {
					if resp == nil {
						return nil, nil
					}
					each := *resp
					return &each, nil
				})
				for verb, write := range map[string]func(typedcorev1.PodInterface) error{
					"create": func(pods typedcorev1.PodInterface) error {
						_, err := pods.Create(t.Context(), testpods.New("b", "n1"), metav1.CreateOptions{})
						return err
					},
					"delete": func(pods typedcorev1.PodInterface) error {
						return pods.Delete(t.Context(), "a", metav1.DeleteOptions{})
					},
					"deletecollection": func(pods typedcorev1.PodInterface) error {
						return pods.DeleteCollection(t.Context(), metav1.DeleteOptions{}, metav1.ListOptions{})
					},
				} {
					through := func(rt http.RoundTripper) error {
						return write(kubernetes.NewForConfigOrDie(&rest.Config{Host: "http://server", Transport: rt}).CoreV1().Pods("ns"))
					}
					if with, without := through(own.Wrap(stub)), through(stub); (with == nil) != (without == nil) {
						t.Errorf("%s: %v, and without OwnWrites %v", verb, with, without)
					}
				}
			})
		})
	}
}
