package source

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes"
	typedcorev1 "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"
)

// podClosures are those of a generated informer.
func podClosures(cfg *rest.Config) *cache.ListWatch {
	return closuresOf(must(kubernetes.NewForConfig(cfg)).CoreV1().Pods("ns"))
}

func closuresOf(pods typedcorev1.PodInterface) *cache.ListWatch {
	return &cache.ListWatch{
		ListWithContextFunc: func(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) {
			return pods.List(ctx, o)
		},
		WatchFuncWithContext: func(ctx context.Context, o metav1.ListOptions) (watch.Interface, error) {
			return pods.Watch(ctx, o)
		},
	}
}

// recorder counts the lists and watches whose answer its source has read, and those that it
// left to the client, because of reason.
type recorder[T any] struct {
	Source[T]
	read, left int64
	reason     error
}

func recorded[T any](src Source[T]) *recorder[T] { return &recorder[T]{Source: src} }

func (r *recorder[T]) path(read *int64, onPath func(ReadPath)) func(ReadPath) {
	return func(p ReadPath) {
		switch {
		case p.Path != PathClient:
			*read++
		case p.Lost():
			r.left++
			r.reason = p.Why
		}
		if onPath != nil {
			onPath(p)
		}
	}
}

func (r *recorder[T]) List(ctx context.Context, req ListRequest[T], yield func(Page[T]) error) error {
	var read int64
	req.OnPath = r.path(&read, req.OnPath)
	err := r.Source.List(ctx, req, yield)
	if err == nil {
		r.read += read
	}
	return err
}

func (r *recorder[T]) Watch(ctx context.Context, req WatchRequest[T], yield func([]Event[T]) error) error {
	req.OnPath = r.path(&r.read, req.OnPath)
	return r.Source.Watch(ctx, req, yield)
}

// intercepted is a source of lw's pods, and what it records.
func intercepted(lw ListerWatcher) (Source[*corev1.Pod], *recorder[*corev1.Pod]) {
	r := recorded(must(FromListerWatcher[*corev1.Pod](lw, Options{Intercept: true})))
	return r, r
}

func wrapped(cfg *rest.Config) *rest.Config {
	cfg.Wrap(WrapTransport)
	return cfg
}

func checkStats[T any](t *testing.T, got *recorder[T], read, left int64, reason error) {
	t.Helper()
	if got.read != read || got.left != left || reason == nil != (got.reason == nil) || reason != nil && !errors.Is(got.reason, reason) {
		t.Errorf("%d read and %d left because of %v, want %d and %d because of %v", got.read, got.left, got.reason, read, left, reason)
	}
}

// negotiated answers in what the request accepts first, as a server does.
func negotiated(accepts *[]string, list *corev1.PodList, events ...runtime.Object) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		accept := r.Header.Get("Accept")
		*accepts = append(*accepts, accept)
		c := codecs()[0]
		if !strings.HasPrefix(accept, c.contentType) {
			c = codecs()[1]
		}
		w.Header().Set("Content-Type", c.contentType)
		if r.URL.Query().Get("watch") == "" {
			w.Write(c.object(list))
			return
		}
		for _, e := range events {
			w.Write(c.frame("ADDED", e))
		}
	}
}

func TestThroughAnInterceptorComesWhatTheClosuresReturn(t *testing.T) {
	pods, _ := randomPods(t, 1200)
	pods.Continue, pods.RemainingItemCount = "more", to(int64(5))
	events := []runtime.Object{&pods.Items[0], &pods.Items[1], &pods.Items[2]}
	direct := serve(t, negotiated(new([]string), pods, events...))
	direct.ContentConfig = rest.ContentConfig{ContentType: runtime.ContentTypeProtobuf}
	plain := must(FromListerWatcher[*corev1.Pod](podClosures(direct), Options{}))
	want, err := list(t, plain, ListRequest[*corev1.Pod]{Limit: 1200})
	if err != nil {
		t.Fatal(err)
	}
	wantEvents, err := watchAll(t, plain, WatchRequest[*corev1.Pod]{ResourceVersion: "7"})
	if err != nil {
		t.Fatal(err)
	}
	for name, content := range map[string]rest.ContentConfig{
		"a client of protobuf": {ContentType: runtime.ContentTypeProtobuf, AcceptContentTypes: runtime.ContentTypeProtobuf},
		"a client of JSON":     {ContentType: runtime.ContentTypeJSON, AcceptContentTypes: runtime.ContentTypeJSON},
		"a client of both":     {},
	} {
		t.Run(name, func(t *testing.T) {
			var accepts []string
			cfg := serve(t, negotiated(&accepts, pods, events...))
			cfg.ContentConfig = content
			src, interceptor := intercepted(podClosures(wrapped(cfg)))
			got, err := list(t, src, ListRequest[*corev1.Pod]{Limit: 1200})
			if err != nil {
				t.Fatal(err)
			}
			for i := range got.items {
				if got.items[i].Size == 0 {
					t.Errorf("the size of %s is not known", got.items[i].Key)
				}
				got.items[i].Size = 0
			}
			if diff := differences(want.items, got.items); diff != "" {
				t.Error(diff)
			}
			last := got.pages[len(got.pages)-1]
			if len(got.pages) < 3 || last.ResourceVersion != "7" || last.Continue != "more" || last.Remaining != 5 || got.bytes == 0 {
				t.Errorf("%d pages, %d bytes, the last: %q, %q, %d", len(got.pages), got.bytes, last.ResourceVersion, last.Continue, last.Remaining)
			}
			gotEvents, err := watchAll(t, src, WatchRequest[*corev1.Pod]{ResourceVersion: "7"})
			if err != nil {
				t.Fatal(err)
			}
			for i := range gotEvents.events {
				gotEvents.events[i].Bytes, gotEvents.events[i].Size = 0, 0
			}
			if diff := differences(wantEvents.events, gotEvents.events); diff != "" || len(gotEvents.events) != 3 {
				t.Error(diff)
			}
			checkStats(t, interceptor, 2, 0, nil)
			if ours := "application/vnd.kubernetes.protobuf,application/json"; accepts[0] != ours || accepts[1] != ours {
				t.Errorf("asked for %q", accepts)
			}
		})
	}
}

func TestWithoutTheTransportTheClosuresAnswerCounts(t *testing.T) {
	var accepts []string
	handler := negotiated(&accepts, podList("3", "a"), pod("ns", "b", "4"))
	through := podClosures(wrapped(serve(t, handler)))
	for name, lw := range map[string]ListerWatcher{
		"not wrapped": podClosures(serve(t, handler)),
		"no context passed on": &cache.ListWatch{
			ListWithContextFunc: func(_ context.Context, o metav1.ListOptions) (runtime.Object, error) {
				return through.ListWithContextFunc(t.Context(), o)
			},
			WatchFuncWithContext: func(_ context.Context, o metav1.ListOptions) (watch.Interface, error) {
				return through.WatchFuncWithContext(t.Context(), o)
			},
		},
		"no context taken": closures{
			list:  func(o metav1.ListOptions) (runtime.Object, error) { return through.ListWithContext(t.Context(), o) },
			watch: func(o metav1.ListOptions) (watch.Interface, error) { return through.WatchWithContext(t.Context(), o) },
		},
	} {
		t.Run(name, func(t *testing.T) {
			src, interceptor := intercepted(lw)
			got, err := list(t, src, ListRequest[*corev1.Pod]{})
			if err != nil || len(got.items) != 1 || got.version != "3" {
				t.Errorf("%+v: %v", got, err)
			}
			events, err := watchAll(t, src, WatchRequest[*corev1.Pod]{})
			if err != nil || len(events.events) != 1 {
				t.Errorf("%+v: %v", events, err)
			}
			checkStats(t, interceptor, 0, 2, ErrNotIntercepted)
		})
	}
}

func TestWhatTheServerRefusesIsTheClientsError(t *testing.T) {
	expired := apierrors.NewResourceExpired("too old")
	for _, c := range codecs() {
		for _, accept := range []string{runtime.ContentTypeJSON, runtime.ContentTypeProtobuf} {
			cfg := wrapped(serve(t, func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Content-Type", c.contentType)
				w.WriteHeader(http.StatusGone)
				w.Write(c.object(&expired.ErrStatus))
			}))
			cfg.AcceptContentTypes = accept
			src, interceptor := intercepted(podClosures(cfg))
			_, err := list(t, src, ListRequest[*corev1.Pod]{})
			if !apierrors.IsResourceExpired(err) || !strings.Contains(err.Error(), "too old") {
				t.Errorf("list: %s for %s: %v", c.name, accept, err)
			}
			_, err = watchAll(t, src, WatchRequest[*corev1.Pod]{})
			if !apierrors.IsResourceExpired(err) || !strings.Contains(err.Error(), "too old") {
				t.Errorf("watch: %s for %s: %v", c.name, accept, err)
			}
			checkStats(t, interceptor, 0, 0, nil)
		}
	}
}

func TestABodyThatBreaksOffIsAnErrorAndTheInterceptorStaysOn(t *testing.T) {
	full := protoBytes(podList("3", "a", "b", "c"))
	frame := protoFrame("ADDED", pod("ns", "a", "4"))
	broken := true
	cfg := wrapped(serve(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", runtime.ContentTypeProtobuf)
		body := full
		if r.URL.Query().Get("watch") != "" {
			body = append(frame, frame...)
		}
		if broken {
			body = body[:len(body)-10]
		}
		w.Write(body)
		if broken {
			w.(http.Flusher).Flush()
			panic(http.ErrAbortHandler)
		}
	}))
	src, interceptor := intercepted(podClosures(cfg))
	if got, err := list(t, src, ListRequest[*corev1.Pod]{}); err == nil || errors.As(err, new(*InterceptError)) || len(got.pages) != 0 {
		t.Errorf("list: %d pages: %v", len(got.pages), err)
	}
	if got, err := watchAll(t, src, WatchRequest[*corev1.Pod]{}); err == nil || errors.As(err, new(*InterceptError)) || len(got.events) != 1 {
		t.Errorf("watch: %d events: %v", len(got.events), err)
	}
	broken = false
	if got, err := list(t, src, ListRequest[*corev1.Pod]{}); err != nil || len(got.items) != 3 {
		t.Errorf("list: %+v: %v", got, err)
	}
	if got, err := watchAll(t, src, WatchRequest[*corev1.Pod]{}); err != nil || len(got.events) != 2 {
		t.Errorf("watch: %d events: %v", len(got.events), err)
	}
	checkStats(t, interceptor, 3, 0, nil)
}

// stalled sends the beginning of an answer, and then nothing until the client
// goes away.
func stalled(t *testing.T) *rest.Config {
	return wrapped(serve(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", runtime.ContentTypeJSON)
		if r.URL.Query().Get("watch") != "" {
			w.Write(jsonFrame("ADDED", pod("ns", "a", "4")))
		} else {
			w.Write([]byte(`{"kind":"PodList","items":[`))
		}
		w.(http.Flusher).Flush()
		<-r.Context().Done()
	}))
}

func TestACallThroughAnInterceptorEndsWithItsContext(t *testing.T) {
	src, _ := intercepted(podClosures(stalled(t)))
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if err := src.List(ctx, ListRequest[*corev1.Pod]{}, nil); err != context.DeadlineExceeded {
		t.Errorf("list: %v", err)
	}
	ctx, cancel = context.WithCancel(t.Context())
	err := src.Watch(ctx, WatchRequest[*corev1.Pod]{}, func([]Event[*corev1.Pod]) error { cancel(); return nil })
	if err != context.Canceled {
		t.Errorf("watch: %v", err)
	}
	if err := src.List(ctx, ListRequest[*corev1.Pod]{}, nil); err != context.Canceled {
		t.Errorf("list after the end: %v", err)
	}
	if err := src.Watch(ctx, WatchRequest[*corev1.Pod]{}, nil); err != context.Canceled {
		t.Errorf("watch after the end: %v", err)
	}
}

func TestTheClientsTimeoutStillCounts(t *testing.T) {
	cfg := stalled(t)
	cfg.Timeout = 50 * time.Millisecond
	src, interceptor := intercepted(podClosures(cfg))
	// Whether it runs out before or after the answer began is up to the machine.
	if err := src.List(t.Context(), ListRequest[*corev1.Pod]{}, nil); err == nil || errors.As(err, new(*InterceptError)) {
		t.Errorf("list: %v", err)
	}
	if _, err := watchAll(t, src, WatchRequest[*corev1.Pod]{}); errors.As(err, new(*InterceptError)) {
		t.Errorf("watch: %v", err)
	}
	if interceptor.left != 0 {
		t.Errorf("%d were left to the client", interceptor.left)
	}
}

func TestWhatYieldReturnsThroughAnInterceptorIsReturned(t *testing.T) {
	var accepts []string
	pods, _ := randomPods(t, 1200)
	src, _ := intercepted(podClosures(wrapped(serve(t, negotiated(&accepts, pods, pod("ns", "a", "4"))))))
	if err := src.List(t.Context(), ListRequest[*corev1.Pod]{}, func(Page[*corev1.Pod]) error { return errEnough }); err != errEnough {
		t.Errorf("list: %v", err)
	}
	if _, err := watchOnce(t.Context(), src, WatchRequest[*corev1.Pod]{}, 1); err != errEnough {
		t.Errorf("watch: %v", err)
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

// to returns a pointer to v.
func to[T any](v T) *T { return &v }
