package ctrlruntime

import (
	"context"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kinglet-go/kinglet/ctrlruntime"
	"github.com/kinglet-go/kinglet/internal/tests/testbubble"
	"github.com/kinglet-go/kinglet/kinglettest/apiserver"
)

// The servers lag behind the storage when each informer or namespace is first listed.
func TestReadsIncludeWritesFromBeforeTheirInformerOrNamespace(t *testing.T) {
	no := false
	for name, tc := range map[string]struct {
		version   apiserver.Version
		bookmarks *bool
		before    func(r *writer)
	}{
		"informer, no watch-lists":       {apiserver.V133, nil, nil},
		"informer, watch-lists":          {apiserver.V136, nil, nil},
		"informer, no bookmarks":         {apiserver.V136, &no, nil},
		"informer that is removed":       {apiserver.V133, nil, (*writer).removeInformer},
		"namespace":                      {apiserver.V133, nil, (*writer).addNamespace},
		"namespace that leaves, returns": {apiserver.V136, &no, (*writer).moveNamespace},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t)
				w.server.Close()
				w.server = apiserver.New(w.storage, apiserver.Options{Version: tc.version})
				defer w.server.Close()
				w.create(configMap("ns", "a", nil))
				synctest.Wait()
				w.server.Hold()
				opts := cache.Options{DefaultEnableWatchBookmarks: tc.bookmarks}
				if strings.HasPrefix(name, "namespace") {
					opts.ByObject = map[client.Object]cache.ByObject{&corev1.ConfigMap{}: {Namespaces: spaces("other")}}
				}
				r, end := w.withClient(ctrlruntime.Options{}, opts)
				defer end()
				ctx := context.Background()
				if tc.before != nil && !strings.Contains(name, "leaves") {
					if err := r.List(ctx, list("typed")); err != nil {
						t.Fatal(err)
					}
				}
				if strings.Contains(name, "leaves") {
					r.setNamespaces("ns", "other")
					if err := r.List(ctx, list("typed")); err != nil {
						t.Fatal(err)
					}
				}
				if err := r.Create(ctx, configMap("ns", "mine", map[string]string{"x": "1"})); err != nil {
					t.Fatal(err)
				}
				if err := r.Delete(ctx, configMap("ns", "a", nil)); err != nil {
					t.Fatal(err)
				}
				if tc.before != nil {
					tc.before(r)
				}
				var later sync.WaitGroup
				defer later.Wait()
				later.Go(func() {
					testbubble.Pass(time.Second)
					w.server.Release()
				})
				if x, waited := r.reads("typed", "ns", "mine"); x != "1" {
					t.Errorf("what was created is %q after %v", x, waited)
				}
				if x, waited := r.reads("typed", "ns", "a"); x != "absent" {
					t.Errorf("what was deleted is %q after %v", x, waited)
				}
			})
		})
	}
}

func (w *writer) removeInformer() {
	w.t.Helper()
	if err := w.cache.RemoveInformer(context.Background(), &corev1.ConfigMap{}); err != nil {
		w.t.Fatal(err)
	}
}

func (w *writer) setNamespaces(names ...string) {
	w.t.Helper()
	if err := ctrlruntime.SetNamespaces(context.Background(), w.cache, &corev1.ConfigMap{}, spaces(names...)); err != nil {
		w.t.Fatal(err)
	}
}

func (w *writer) addNamespace() { w.setNamespaces("ns", "other") }

func (w *writer) moveNamespace() {
	w.setNamespaces("other")
	w.setNamespaces("ns", "other")
}

// silent answers the deletion of a collection with a Status, and lists when the request
// ends.
type silent struct{}

func (silent) RoundTrip(req *http.Request) (*http.Response, error) {
	if req.Method == http.MethodGet {
		<-req.Context().Done()
		return nil, context.Cause(req.Context())
	}
	body := `{"apiVersion":"v1","kind":"Status","status":"Success"}`
	return &http.Response{StatusCode: http.StatusOK, Request: req, Header: http.Header{"Content-Type": {"application/json"}}, Body: io.NopCloser(strings.NewReader(body))}, nil
}

func TestDeleteAllOfEndsWithItsContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.create(configMap("ns", "a", nil))
		r, end := w.withClient(ctrlruntime.Options{}, cache.Options{}, "typed")
		defer end()
		cl, err := ctrlruntime.NewClient(w.server.Config(), client.Options{
			Scheme: scheme.Scheme, Mapper: mapper(), HTTPClient: &http.Client{Transport: silent{}}, Cache: &client.CacheOptions{Reader: r.cache},
		})
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		if took := waited(t, func() error { return cl.DeleteAllOf(ctx, &corev1.ConfigMap{}, client.InNamespace("ns")) }); took > time.Second {
			t.Errorf("with a deadline of a second it took %v", took)
		}
	})
}

// A Get that does not want to wait for own writes waits for none, in whatever form the object
// is held.
func TestAGetThatDoesNotWantToWaitDoesNot(t *testing.T) {
	for name, by := range map[string]ctrlruntime.ByObject{
		"whole": {}, "metadata": {Whole: labels.Nothing()}, "metadata, and kept": {Whole: labels.Nothing(), OnDemand: 1 << 20}, "some": {Whole: labels.Nothing(), Keep: []string{"data"}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t)
				w.create(configMap("ns", "a", map[string]string{"x": "old"}))
				r, end := w.withClient(ctrlruntime.Options{ByObject: map[client.Object]ctrlruntime.ByObject{&corev1.ConfigMap{}: by}}, cache.Options{}, "typed")
				defer end()
				ok(t, r.Patch(t.Context(), object("metadata", "ns", "a"), rawPatch(`{"metadata":{"labels":{"x":"new"}}}`)))
				get := func(opts ...client.GetOption) time.Duration {
					began := time.Now()
					ok(t, r.Get(t.Context(), keyed("ns", "a"), &corev1.ConfigMap{}, opts...))
					return time.Since(began)
				}
				if took := get(client.DisableReadYourWritesConsistency); took > 0 {
					t.Errorf("it took %v", took)
				}
				r.behindBy(time.Second)
				if took := get(); took != time.Second {
					t.Errorf("any other took %v", took)
				}
				testbubble.Pass(time.Second)
			})
		})
	}
}
