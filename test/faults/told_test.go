package faults_test

import (
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	kc "k8s.io/client-go/tools/cache"

	"github.com/kinglet-go/kinglet/cache"
	"github.com/kinglet-go/kinglet/internal/tests/testbubble"
	"github.com/kinglet-go/kinglet/kinglettest/apiserver"
)

// mishap is what becomes of some requests.
type mishap struct {
	name  string
	verb  string // of the requests: list, watch or watch-list
	times int    // how many of them
	// streams: the server has watch-lists.
	streams bool
	fault   *apiserver.Fault
	err     error // of their round trips, if there is no fault
}

// mishaps are all kinds of refusals and broken answers, for each verb, once and more often.
func mishaps() (all []mishap) {
	resource := apiserver.ConfigMaps.GroupResource()
	status := func(code int) error {
		return apierrors.NewGenericServerResponse(code, "get", resource, "", "no", 0, false)
	}
	answers := []error{
		status(400), status(401), apierrors.NewForbidden(resource, "", nil), status(404), status(405), status(409), status(410),
		apierrors.NewResourceExpired("too old"), status(422), throttled(), internal(), badGateway(), unavailable(), apierrors.NewTimeoutError("slow", 0),
	}
	trips := []error{
		syscall.ECONNREFUSED, syscall.ECONNRESET, &net.DNSError{Err: "no such host", Name: "server", IsNotFound: true},
		x509.UnknownAuthorityError{}, os.ErrDeadlineExceeded, errors.New("a proxy's own error"),
	}
	for _, times := range []int{1, 3, 15} {
		for i, verb := range []string{"list", "watch", "watch", "watch-list"} {
			add := func(name string, f *apiserver.Fault, err error) {
				all = append(all, mishap{fmt.Sprintf("%s %d: %d times %s", verb, i, times, name), verb, times, i >= 2, f, err})
			}
			if times > 10 { // than a client of client-go's tries
				add("no answer", &apiserver.Fault{Refuse: true}, nil)
				add("a timeout", nil, os.ErrDeadlineExceeded)
				add("throttled", &apiserver.Fault{Answer: throttled()}, nil)
				continue
			}
			for _, err := range answers {
				add(err.Error(), &apiserver.Fault{Answer: err}, nil)
				if verb != "list" {
					add("an event: "+err.Error(), &apiserver.Fault{EndAfter: -1, End: err}, nil)
				}
			}
			if verb == "watch" {
				add("events of no known type", &apiserver.Fault{Type: "EXPLODED"}, nil)
			}
			add("no answer", &apiserver.Fault{Refuse: true}, nil)
			add("cut off", &apiserver.Fault{CutAfter: 10}, nil)
			for _, err := range trips {
				add(err.Error(), nil, err)
			}
		}
	}
	return all
}

// triedAgain reports whether client-go's client would retry the request up to ten times before
// it returns an error. Where kinglet reads the wire, the handler gets the first failure.
func (m *mishap) triedAgain() bool {
	return m.verb == "list" && (m.fault != nil && (m.fault.Refuse || apierrors.IsTooManyRequests(m.fault.Answer)) || errors.Is(m.err, syscall.ECONNRESET))
}

// tripping has some round trips fail.
type tripping struct {
	http.RoundTripper
	fails func(*http.Request) error
}

func (tr tripping) RoundTrip(req *http.Request) (*http.Response, error) {
	if err := tr.fails(req); err != nil {
		return nil, err
	}
	return tr.RoundTripper.RoundTrip(req)
}

// told returns the errors that a watch error handler gets, without repetitions.
func (m *mishap) told(t *testing.T, run func(ctx context.Context, config *rest.Config, handle kc.WatchErrorHandlerWithContext)) (kinds []string) {
	var mu sync.Mutex
	armed, left := false, m.times
	meets := func(verb string) bool {
		mu.Lock()
		defer mu.Unlock()
		if !armed || verb != m.verb || left == 0 {
			return false
		}
		left--
		return true
	}
	options := apiserver.Options{WithoutWatchList: !m.streams, Inject: func(q *apiserver.Request) *apiserver.Fault {
		verb := q.Verb
		if q.WatchList() {
			verb = "watch-list"
		}
		if m.fault == nil || !meets(verb) {
			return nil
		}
		return m.fault
	}}
	storage := apiserver.NewStorage(apiserver.ConfigMaps)
	server := apiserver.New(storage, options)
	defer server.Close()
	config := server.Config()
	config.Wrap(func(rt http.RoundTripper) http.RoundTripper {
		return tripping{rt, func(req *http.Request) error {
			verb, query := "list", req.URL.Query()
			switch {
			case query.Get("sendInitialEvents") == "true":
				verb = "watch-list"
			case query.Get("watch") != "":
				verb = "watch"
			}
			if m.err == nil || !meets(verb) {
				return nil
			}
			return m.err
		}}
	})
	ctx, cancel := context.WithCancel(t.Context())
	var running sync.WaitGroup
	start := func() {
		running.Go(func() {
			run(ctx, config, func(_ context.Context, _ *kc.Reflector, err error) {
				mu.Lock()
				defer mu.Unlock()
				kind := string(apierrors.ReasonForError(err))
				if kind == "" {
					for next := err; next != nil; next = errors.Unwrap(next) {
						kind = next.Error()
					}
				}
				if strings.HasPrefix(err.Error(), "failed to list *v1.ConfigMap: ") {
					kind = "failed to list: " + kind
				}
				if !slices.Contains(kinds, kind) {
					kinds = append(kinds, kind)
				}
			})
		})
	}
	arm := func() {
		mu.Lock()
		defer mu.Unlock()
		armed = true
	}
	if m.verb == "watch" {
		start()
		testbubble.Pass(time.Minute)
		arm()
		server.Disconnect()
	} else {
		arm()
		start()
	}
	for i := range 40 {
		if _, err := storage.Put(&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "a"}, Data: map[string]string{"i": fmt.Sprint(i)}}); err != nil {
			t.Error(err)
		}
		testbubble.Pass(30 * time.Second)
	}
	cancel()
	running.Wait()
	if left == m.times {
		t.Error("no request has failed")
	}
	slices.Sort(kinds)
	return kinds
}

// Watch error handlers get the errors that client-go's informers give them.
func TestWatchErrorHandlersAreToldOfWhatClientGoTellsThemOf(t *testing.T) {
	control := func(ctx context.Context, lw kc.ListerWatcher, handle kc.WatchErrorHandlerWithContext) {
		cache.New(&cache.Config{
			Queue:         cache.NewRealFIFOWithOptions(cache.RealFIFOOptions{KnownObjects: cache.NewStore(cache.MetaNamespaceKeyFunc)}),
			ListerWatcher: lw, ObjectType: &corev1.ConfigMap{}, WatchErrorHandlerWithContext: handle,
			Process: func(any, bool) error { return nil },
		}).RunWithContext(ctx)
	}
	lw := func(config *rest.Config) *kc.ListWatch {
		client := kubernetes.NewForConfigOrDie(config).CoreV1().RESTClient()
		return kc.NewListWatchFromClient(client, "configmaps", "", fields.Everything())
	}
	ours := map[string]func(ctx context.Context, config *rest.Config, handle kc.WatchErrorHandlerWithContext){
		"an informer": func(ctx context.Context, config *rest.Config, handle kc.WatchErrorHandlerWithContext) {
			client := kubernetes.NewForConfigOrDie(config).CoreV1().RESTClient()
			inf := cache.NewSharedInformer(cache.NewListWatchFromClient(client, "configmaps", "", fields.Everything()), &corev1.ConfigMap{}, 0)
			_ = inf.SetWatchErrorHandlerWithContext(handle)
			inf.RunWithContext(ctx)
		},
		"an informer over closures": func(ctx context.Context, config *rest.Config, handle kc.WatchErrorHandlerWithContext) {
			inf := cache.NewSharedInformer(lw(config), &corev1.ConfigMap{}, 0)
			_ = inf.SetWatchErrorHandlerWithContext(handle)
			inf.RunWithContext(ctx)
		},
		"a controller over closures": func(ctx context.Context, config *rest.Config, handle kc.WatchErrorHandlerWithContext) {
			control(ctx, lw(config), handle)
		},
		"a controller": func(ctx context.Context, config *rest.Config, handle kc.WatchErrorHandlerWithContext) {
			client := kubernetes.NewForConfigOrDie(config).CoreV1().RESTClient()
			control(ctx, cache.NewListWatchFromClient(client, "configmaps", "", fields.Everything()), handle)
		},
	}
	for _, m := range mishaps() {
		t.Run(m.name, func(t *testing.T) {
			var theirs []string
			synctest.Test(t, func(t *testing.T) {
				theirs = m.told(t, func(ctx context.Context, config *rest.Config, handle kc.WatchErrorHandlerWithContext) {
					inf := kc.NewSharedInformer(lw(config), &corev1.ConfigMap{}, 0)
					_ = inf.SetWatchErrorHandlerWithContext(handle)
					inf.RunWithContext(ctx)
				})
			})
			for name, run := range ours {
				t.Run(name, func(t *testing.T) {
					synctest.Test(t, func(t *testing.T) {
						kinds := m.told(t, run)
						first := m.triedAgain() && !strings.Contains(name, "closures") && len(kinds) == 1 && strings.HasPrefix(kinds[0], "failed to list: ")
						if !first && !slices.Equal(kinds, theirs) {
							t.Errorf("the handler is told of %q, and client-go's of %q", kinds, theirs)
						}
					})
				})
			}
		})
	}
}
