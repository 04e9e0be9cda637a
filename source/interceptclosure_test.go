package source

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"

	"github.com/kinglet-go/kinglet/internal/tests/testbubble"
	"github.com/kinglet-go/kinglet/source/internal/intercept"
)

// What closures do beside passing on their client's answer.

func TestAClosureMayAddToItsListAndIsDetectedIfItDoesMore(t *testing.T) {
	type lister func(ctx context.Context, o metav1.ListOptions) (*corev1.PodList, error)
	nothing := errors.New("nothing")
	for name, c := range map[string]struct {
		list func(ctx context.Context, list lister, o metav1.ListOptions) (*corev1.PodList, error)
		// names are those of the items; nil if the call fails.
		names []string
		// detected turns the interceptor off.
		detected bool
	}{
		"adds an object": {list: func(ctx context.Context, list lister, o metav1.ListOptions) (*corev1.PodList, error) {
			l, err := list(ctx, o)
			if err == nil {
				l.Items, l.Continue = append(l.Items, *pod("ns", "own", "2")), "its own"
			}
			return l, err
		}, names: []string{"a", "b", "own"}},
		"lists twice": {list: func(ctx context.Context, list lister, o metav1.ListOptions) (*corev1.PodList, error) {
			l, err := list(ctx, o)
			if err != nil {
				return nil, err
			}
			o.LabelSelector = "the=others"
			others, err := list(ctx, o)
			if err == nil {
				l.Items = append(l.Items, others.Items...)
			}
			return l, err
		}, names: []string{"a", "b", "c"}},
		// The second request is nobody's but the closure's, and yet its failure must reach
		// the source: the transport waits for somebody who takes it.
		"lists twice, and gets no second response": {list: func(ctx context.Context, list lister, o metav1.ListOptions) (*corev1.PodList, error) {
			if _, err := list(ctx, o); err != nil {
				return nil, err
			}
			o.LabelSelector = "the=lost"
			return list(ctx, o)
		}},
		"asks for something else first": {list: func(ctx context.Context, list lister, o metav1.ListOptions) (*corev1.PodList, error) {
			if l, err := list(ctx, metav1.ListOptions{Limit: 3}); err != nil || len(l.Items) != 2 {
				t.Errorf("%+v: %v", l, err)
			}
			return list(ctx, o)
		}, names: []string{"a", "b"}},
		"changes the version": {list: func(ctx context.Context, list lister, o metav1.ListOptions) (*corev1.PodList, error) {
			l, err := list(ctx, o)
			if err == nil {
				l.ResourceVersion = "1" + l.ResourceVersion
			}
			return l, err
		}, names: []string{"a", "b"}, detected: true},
		"fails on an empty list": {list: func(ctx context.Context, list lister, o metav1.ListOptions) (*corev1.PodList, error) {
			l, err := list(ctx, o)
			if err == nil && len(l.Items) == 0 {
				return nil, errEnough
			}
			return l, err
		}, names: []string{"a", "b"}, detected: true},
		"returns nothing for an empty list": {list: func(ctx context.Context, list lister, o metav1.ListOptions) (*corev1.PodList, error) {
			l, err := list(ctx, o)
			if err == nil && len(l.Items) == 0 {
				return nil, nothing
			}
			return l, err
		}, names: []string{"a", "b"}, detected: true},
	} {
		t.Run(name, func(t *testing.T) {
			var accepts []string
			lw := podClosures(wrapped(serve(t, func(w http.ResponseWriter, r *http.Request) {
				names := []string{"a", "b"}
				switch r.URL.Query().Get("labelSelector") {
				case "the=others":
					names = []string{"c"}
				case "the=lost":
					panic(http.ErrAbortHandler)
				}
				negotiated(&accepts, podList("3", names...), pod("ns", "later", "4"))(w, r)
			})))
			inner := lw.ListWithContextFunc
			lw.ListWithContextFunc = func(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) {
				l, err := c.list(ctx, func(ctx context.Context, o metav1.ListOptions) (*corev1.PodList, error) {
					l, err := inner(ctx, o)
					return l.(*corev1.PodList), err
				}, o)
				if err == nothing {
					return nil, nil
				}
				return l, err
			}
			src, interceptor := intercepted(lw)
			check := func() {
				t.Helper()
				got, err := list(t, src, ListRequest[*corev1.Pod]{})
				var names []string
				for _, it := range got.items {
					names = append(names, it.Key.Name)
				}
				if !slices.Equal(names, c.names) || (err == nil) != (c.names != nil) || errors.As(err, new(*InterceptError)) {
					t.Errorf("%q: %v", names, err)
				}
			}
			if !c.detected {
				check()
				if c.names != nil {
					checkStats(t, interceptor, 1, 0, nil)
				}
				return
			}
			got, err := list(t, src, ListRequest[*corev1.Pod]{})
			if !errors.As(err, new(*InterceptError)) || !errors.Is(err, ErrPostProcessed) || len(got.pages) != 0 {
				t.Fatalf("%+v: %v", got, err)
			}
			check()
			events, err := watchAll(t, src, WatchRequest[*corev1.Pod]{})
			if err != nil || len(events.events) != 1 {
				t.Errorf("after that: %+v: %v", events, err)
			}
			checkStats(t, interceptor, 0, 2, ErrPostProcessed)
		})
	}
}

func TestAClosureThatTurnsOneKindIntoAnotherTurnsTheInterceptorOff(t *testing.T) {
	dep := appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "d", ResourceVersion: "2"}}
	for _, c := range codecs() {
		cfg := wrapped(serve(t, func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Query().Get("watch") != "" {
				answer(c.contentType, c.frame("ADDED", &dep))(w, r)
				return
			}
			answer(c.contentType, c.object(&appsv1.DeploymentList{ListMeta: metav1.ListMeta{ResourceVersion: "3"}, Items: []appsv1.Deployment{dep}}))(w, r)
		}))
		client := must(kubernetes.NewForConfig(cfg)).AppsV1().Deployments("ns")
		lw := &cache.ListWatch{
			ListWithContextFunc: func(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) {
				l, err := client.List(ctx, o)
				pods := &corev1.PodList{ListMeta: l.ListMeta}
				for _, d := range l.Items {
					pods.Items = append(pods.Items, corev1.Pod{ObjectMeta: d.ObjectMeta})
				}
				return pods, err
			},
			WatchFuncWithContext: func(ctx context.Context, o metav1.ListOptions) (watch.Interface, error) {
				w, err := client.Watch(ctx, o)
				if err != nil {
					return nil, err
				}
				return watch.Filter(w, func(e watch.Event) (watch.Event, bool) {
					e.Object = &corev1.Pod{ObjectMeta: e.Object.(*appsv1.Deployment).ObjectMeta}
					return e, true
				}), nil
			},
		}
		src, interceptor := intercepted(lw)
		if got, err := list(t, src, ListRequest[*corev1.Pod]{}); !errors.Is(err, ErrPostProcessed) || !errors.As(err, new(*KindError)) {
			t.Errorf("%s: %+v: %v", c.name, got, err)
		}
		if got, err := list(t, src, ListRequest[*corev1.Pod]{}); err != nil || len(got.items) != 1 || got.items[0].Err != nil {
			t.Errorf("%s: %+v: %v", c.name, got, err)
		}
		checkStats(t, interceptor, 0, 1, ErrPostProcessed)
		src, interceptor = intercepted(lw)
		if got, err := watchAll(t, src, WatchRequest[*corev1.Pod]{}); !errors.Is(err, ErrPostProcessed) || len(got.events) != 0 {
			t.Errorf("%s: %+v: %v", c.name, got, err)
		}
		if got, err := watchAll(t, src, WatchRequest[*corev1.Pod]{}); err != nil || len(got.events) != 1 || got.events[0].Err != nil {
			t.Errorf("%s: %+v: %v", c.name, got, err)
		}
		checkStats(t, interceptor, 1, 1, ErrPostProcessed)
	}
}

func TestAWatchWithEventsOfItsOwnTurnsTheInterceptorOff(t *testing.T) {
	lw := podClosures(stalled(t))
	inner := lw.WatchFuncWithContext
	lw.WatchFuncWithContext = func(ctx context.Context, o metav1.ListOptions) (watch.Interface, error) {
		w, err := inner(ctx, o)
		if err != nil {
			return nil, err
		}
		return withEvent(w, pod("ns", "own", "5")), nil
	}
	src, interceptor := intercepted(lw)
	if _, err := watchAll(t, src, WatchRequest[*corev1.Pod]{}); !errors.Is(err, ErrPostProcessed) {
		t.Fatal(err)
	}
	got, err := watchOnce(t.Context(), src, WatchRequest[*corev1.Pod]{}, 2)
	slices.SortFunc(got, func(a, b Event[*corev1.Pod]) int { return strings.Compare(a.Key.Name, b.Key.Name) })
	if err != errEnough || got[0].Key.Name != "a" || got[1].Key.Name != "own" {
		t.Errorf("after that: %+v: %v", got, err)
	}
	interceptor.read = 1 // the first watch: which event comes first is up to the machine
	checkStats(t, interceptor, 1, 1, ErrPostProcessed)
}

// withEvent is w with one event more.
func withEvent(w watch.Interface, obj runtime.Object) watch.Interface {
	events := make(chan watch.Event)
	both := watch.NewProxyWatcher(events)
	go func() {
		defer close(events)
		defer w.Stop()
		next := watch.Event{Type: watch.Added, Object: obj}
		for {
			select {
			case events <- next:
			case <-both.StopChan():
				return
			}
			var ok bool
			select {
			case next, ok = <-w.ResultChan():
			case <-both.StopChan():
			}
			if !ok {
				return
			}
		}
	}()
	return both
}

func TestAClosureThatWaitsForItsFirstEventTurnsTheInterceptorOff(t *testing.T) {
	lw := podClosures(stalled(t))
	inner := lw.WatchFuncWithContext
	lw.WatchFuncWithContext = func(ctx context.Context, o metav1.ListOptions) (watch.Interface, error) {
		w, err := inner(ctx, o)
		if err != nil {
			return nil, err
		}
		e, ok := <-w.ResultChan()
		if !ok {
			return nil, errEnough
		}
		return withEvent(w, e.Object), nil
	}
	src, interceptor := intercepted(lw)
	if _, err := watchAll(t, src, WatchRequest[*corev1.Pod]{}); !errors.Is(err, ErrPostProcessed) {
		t.Fatal(err)
	}
	if got, err := watchOnce(t.Context(), src, WatchRequest[*corev1.Pod]{}, 1); err != errEnough {
		t.Errorf("after that: %+v: %v", got, err)
	}
	checkStats(t, interceptor, 0, 1, ErrPostProcessed)
}

func TestAClosureMayEndItsWatch(t *testing.T) {
	lw := podClosures(stalled(t))
	inner := lw.WatchFuncWithContext
	var open watch.Interface
	lw.WatchFuncWithContext = func(ctx context.Context, o metav1.ListOptions) (watch.Interface, error) {
		var err error
		open, err = inner(ctx, o)
		return open, err
	}
	src, interceptor := intercepted(lw)
	err := src.Watch(t.Context(), WatchRequest[*corev1.Pod]{}, func([]Event[*corev1.Pod]) error {
		open.Stop()
		return nil
	})
	if err != nil {
		t.Error(err)
	}
	checkStats(t, interceptor, 1, 0, nil)
}

func TestAnAnswerThatNoDecoderReadsIsTheClients(t *testing.T) {
	for name, handler := range map[string]http.HandlerFunc{
		"another type": answer("text/html", []byte("<html>log in first</html>")),
		"a refusal":    answerStatus(&apierrors.NewForbidden(schema.GroupResource{Resource: "pods"}, "", nil).ErrStatus),
	} {
		src, interceptor := intercepted(podClosures(wrapped(serve(t, handler))))
		if got, err := list(t, src, ListRequest[*corev1.Pod]{}); err == nil || errors.As(err, new(*InterceptError)) {
			t.Errorf("%s: %+v: %v", name, got, err)
		}
		checkStats(t, interceptor, 0, 0, nil)
	}
}

// Stubs in unit tests return what only net/http's client can read.
func TestAnAnswerWithoutABodyThroughAnInterceptorIsAnError(t *testing.T) {
	json := http.Header{"Content-Type": {runtime.ContentTypeJSON}}
	for name, resp := range map[string]*http.Response{
		"no response":           nil,
		"no body":               {StatusCode: 200, Header: json},
		"no body, but a length": {StatusCode: 200, Header: json, ContentLength: 7},
		"no body and no header": {StatusCode: 200},
		"a refusal":             {StatusCode: 403},
	} {
		cfg := &rest.Config{Host: "http://server", Transport: roundTripper(func(*http.Request) (*http.Response, error) {
			if resp == nil {
				return nil, nil
			}
			each := *resp
			return &each, nil
		})}
		src, _ := intercepted(podClosures(wrapped(cfg)))
		if got, err := list(t, src, ListRequest[*corev1.Pod]{}); err == nil {
			t.Errorf("%s: listed %+v", name, got)
		}
		if got, _ := watchAll(t, src, WatchRequest[*corev1.Pod]{}); len(got.events) > 0 {
			t.Errorf("%s: watched %+v", name, got)
		}
	}
}

func TestCompressionIsLeftToTheTransport(t *testing.T) {
	body := protoBytes(podList("3", "a", "b"))
	cfg := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Accept-Encoding") != "gzip" {
			t.Errorf("Accept-Encoding: %q", r.Header.Get("Accept-Encoding"))
		}
		w.Header().Set("Content-Type", runtime.ContentTypeProtobuf)
		w.Header().Set("Content-Encoding", "gzip")
		z := gzip.NewWriter(w)
		z.Write(body)
		z.Close()
	})
	cfg = wrapped(cfg)
	// Above the interceptor, somebody who wants to undo it.
	cfg.Wrap(func(rt http.RoundTripper) http.RoundTripper {
		return roundTripper(func(r *http.Request) (*http.Response, error) {
			r = r.Clone(r.Context())
			r.Header.Set("Accept-Encoding", "gzip")
			return rt.RoundTrip(r)
		})
	})
	src, interceptor := intercepted(podClosures(cfg))
	got, err := list(t, src, ListRequest[*corev1.Pod]{})
	if err != nil || len(got.items) != 2 || got.bytes != int64(len(body)) {
		t.Errorf("%+v: %v", got, err)
	}
	checkStats(t, interceptor, 1, 0, nil)
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

func TestACallThatWasLeftBehindTakesNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		body := &closeCounter{}
		rt := WrapTransport(roundTripper(func(r *http.Request) (*http.Response, error) {
			<-release
			return &http.Response{StatusCode: http.StatusOK, Header: http.Header{"Content-Type": {runtime.ContentTypeJSON}}, Body: body}, nil
		}))
		ended := make(chan error, 1)
		src, _ := intercepted(&cache.ListWatch{ListWithContextFunc: func(ctx context.Context, _ metav1.ListOptions) (runtime.Object, error) {
			req := must(http.NewRequestWithContext(ctx, http.MethodGet, "http://host/api/v1/pods", nil))
			_, err := rt.RoundTrip(req)
			ended <- err
			return nil, err
		}})
		ctx, cancel := context.WithCancel(t.Context())
		go func() { synctest.Wait(); cancel() }()
		if err := src.List(ctx, ListRequest[*corev1.Pod]{}, nil); err != context.Canceled {
			t.Error(err)
		}
		close(release)
		if err := <-ended; err != intercept.ErrOver || body.closed != 1 {
			t.Errorf("closed %d times: %v", body.closed, err)
		}
	})
}

type closeCounter struct{ closed int }

func (c *closeCounter) Read([]byte) (int, error) { panic("nobody is there to read it") }
func (c *closeCounter) Close() error             { c.closed++; return nil }

// The server of the first client accepts connections and closes them, or does not exist.
func TestAClosureMayAskASecondServerIfTheFirstDoesNotRespond(t *testing.T) {
	var accepts []string
	second := podClosures(wrapped(serve(t, negotiated(&accepts, podList("3", "a", "b"), pod("ns", "later", "4")))))
	silent := wrapped(serve(t, func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }))
	for name, cfg := range map[string]*rest.Config{"silent": silent, "unreachable": wrapped(&rest.Config{Host: "http://127.0.0.1:0"})} {
		first := podClosures(cfg)
		src, interceptor := intercepted(&cache.ListWatch{
			ListWithContextFunc: func(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) {
				if l, err := first.ListWithContext(ctx, o); err == nil {
					return l, nil
				}
				return second.ListWithContext(ctx, o)
			},
			WatchFuncWithContext: func(ctx context.Context, o metav1.ListOptions) (watch.Interface, error) {
				if w, err := first.WatchWithContext(ctx, o); err == nil {
					return w, nil
				}
				return second.WatchWithContext(ctx, o)
			},
		})
		if got, err := list(t, src, ListRequest[*corev1.Pod]{}); err != nil || len(got.items) != 2 {
			t.Errorf("%s: list: %+v: %v", name, got.items, err)
		}
		if got, err := watchAll(t, src, WatchRequest[*corev1.Pod]{}); err != nil || len(got.events) != 1 {
			t.Errorf("%s: watch: %+v: %v", name, got.events, err)
		}
		checkStats(t, interceptor, 2, 0, nil)
	}
}

func TestAWatchThatTheClientsTimeoutEndsIsNotTriedAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		requests := 0
		cfg := wrapped(&rest.Config{Host: "http://host", Timeout: time.Minute, Transport: roundTripper(func(r *http.Request) (*http.Response, error) {
			requests++
			<-r.Context().Done()
			testbubble.Pass(time.Second) // net/http knows now why
			return nil, r.Context().Err()
		})})
		src, _ := intercepted(podClosures(cfg))
		for range 2 {
			if _, err := watchAll(t, src, WatchRequest[*corev1.Pod]{}); !errors.Is(err, context.DeadlineExceeded) {
				t.Error(err)
			}
		}
		if requests != 2 {
			t.Errorf("%d requests for 2 calls", requests)
		}
	})
}

func TestAClosureThatStaysAfterItsRequestFailedEndsWithItsContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		lw := podClosures(wrapped(&rest.Config{Host: "http://host", Transport: roundTripper(func(*http.Request) (*http.Response, error) { return nil, errEnough })}))
		inner, stays := lw.ListWithContextFunc, make(chan struct{})
		defer close(stays)
		lw.ListWithContextFunc = func(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) {
			l, err := inner(ctx, o)
			if err == nil || !strings.Contains(err.Error(), errEnough.Error()) {
				t.Errorf("the closure gets %v", err)
			}
			<-stays
			return l, err
		}
		src, _ := intercepted(lw)
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		if err := src.List(ctx, ListRequest[*corev1.Pod]{}, nil); err != context.DeadlineExceeded {
			t.Error(err)
		}
	})
}

func TestAClosureMayAskAgainForAListThatTookTooLong(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		requests := 0
		lw := podClosures(wrapped(&rest.Config{Host: "http://host", Transport: roundTripper(func(r *http.Request) (*http.Response, error) {
			if requests++; requests == 1 {
				<-r.Context().Done()
				return nil, r.Context().Err()
			}
			body := io.NopCloser(bytes.NewReader(protoBytes(podList("3", "a"))))
			return &http.Response{StatusCode: http.StatusOK, Header: http.Header{"Content-Type": {runtime.ContentTypeProtobuf}}, Body: body}, nil
		})}))
		inner := lw.ListWithContextFunc
		lw.ListWithContextFunc = func(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) {
			short, cancel := context.WithTimeout(ctx, time.Second)
			defer cancel()
			if l, err := inner(short, o); err == nil {
				return l, nil
			}
			return inner(ctx, o)
		}
		src, interceptor := intercepted(lw)
		if got, err := list(t, src, ListRequest[*corev1.Pod]{}); err != nil || len(got.items) != 1 {
			t.Errorf("%+v: %v", got.items, err)
		}
		checkStats(t, interceptor, 1, 0, nil)
	})
}
