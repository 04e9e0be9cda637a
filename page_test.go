package kinglet_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"

	"github.com/kinglet-go/kinglet"
	"github.com/kinglet-go/kinglet/internal/errtype"
	"github.com/kinglet-go/kinglet/internal/testclock"
	"github.com/kinglet-go/kinglet/reflector"
	"github.com/kinglet-go/kinglet/source"
	"github.com/kinglet-go/kinglet/status"
	"github.com/kinglet-go/kinglet/store"
)

// fixed is an observed informer with a given status.
type fixed struct {
	mu sync.Mutex
	st kinglet.Status // guarded by mu
}

func (f *fixed) Status() kinglet.Status {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.st
}

func (f *fixed) change(do func(*kinglet.Status)) {
	f.mu.Lock()
	defer f.mu.Unlock()
	do(&f.st)
}

// refusal is a reason as an API server gives it.
type refusal string

func (r refusal) Error() string { return string(r) }

var errRefused = apierrors.NewForbidden(schema.GroupResource{Resource: "pods"}, "", refusal(`User "ann" cannot list resource "pods" in API group "" at the cluster scope`))

func TestCheckFailsAfterTheGraceAndBeyondTheBoundAndNamesInformerAndCause(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		pods := &fixed{st: kinglet.Status{Name: "pods"}}
		set := kinglet.NewSet()
		defer set.Observe(pods)()
		if err := set.Configure(kinglet.SetOptions{StartupGrace: time.Minute, MaxStale: 10 * time.Minute}); err != nil {
			t.Fatal(err)
		}
		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan error)
		go func() { ended <- set.Run(ctx) }()
		pods.change(func(s *kinglet.Status) {
			s.Phase, s.Since, s.LastError, s.FailingSince = reflector.BackingOff, time.Now(), errRefused, time.Now()
		})
		want := func(check func(*http.Request) error, parts ...string) {
			t.Helper()
			err := check(nil)
			if len(parts) == 0 {
				if err != nil {
					t.Errorf("fails: %v", err)
				}
				return
			}
			h, ok := errtype.As[*kinglet.HealthError](err)
			if !ok || len(h.Informers) != 1 || h.Informers[0].Name != "pods" || h.Informers[0].Cause != status.CauseForbidden || !apierrors.IsForbidden(err) {
				t.Fatalf("got %#v", err)
			}
			for _, p := range parts {
				if !strings.Contains(err.Error(), p) {
					t.Errorf("%q is not in: %v", p, err)
				}
			}
		}
		testclock.Elapse(time.Minute)
		want(set.Check)
		want(set.Ready, "1 of 1 informers: pods: not synced: forbidden (403)", "grant list and watch on pods to ann")
		testclock.Elapse(time.Second)
		want(set.Check, "pods: not synced 1m1s after the start: forbidden (403)")
		pods.change(func(s *kinglet.Status) { s.Synced = true })
		testclock.Elapse(8*time.Minute + 59*time.Second)
		want(set.Check)
		want(set.Ready)
		testclock.Elapse(time.Second)
		want(set.Check, "reads have been stale for 10m1s: forbidden (403)")
		want(set.Ready)
		pods.change(func(s *kinglet.Status) { s.Phase, s.LastError, s.FailingSince = reflector.Watching, nil, time.Time{} })
		want(set.Check)
		stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
}

func TestTheHealthErrorOfManyInformersIsBounded(t *testing.T) {
	set := kinglet.NewSet()
	for k := range 100 {
		set.Observe(&fixed{st: kinglet.Status{Name: fmt.Sprintf("kind%d", k)}})
	}
	err := set.Ready(nil)
	if err == nil || !strings.HasPrefix(err.Error(), "100 of 100 informers: kind0: not synced") || !strings.HasSuffix(err.Error(), "and 95 more") || len(err.Error()) > 2000 {
		t.Error(err)
	}
	if err := set.Configure(kinglet.SetOptions{StartupGrace: -1, MaxStale: -1}); err == nil || !strings.Contains(err.Error(), "StartupGrace") || !strings.Contains(err.Error(), "MaxStale") {
		t.Error(err)
	}
}

func look(t *testing.T, h http.Handler, target string) string {
	t.Helper()
	w := httptest.NewRecorder()
	h.ServeHTTP(w, httptest.NewRequest(http.MethodGet, target, nil))
	if w.Code != http.StatusOK {
		t.Fatalf("%s: %d", target, w.Code)
	}
	return w.Body.String()
}

func TestThePageShowsMembersAndWhatIsObservedAndForgetsWhatIsGone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		set := kinglet.NewSet()
		remove := set.Observe(&fixed{st: kinglet.Status{Name: "observed"}})
		h := set.Handler()
		if body := look(t, h, "/"); !strings.Contains(body, "observed") || !strings.Contains(body, "1 informer") {
			t.Error(body)
		}
		remove()
		if body := look(t, h, "/"); strings.Contains(body, "observed") || !strings.Contains(body, "No informers") {
			t.Error(body)
		}
		testclock.Elapse(time.Hour) // the charts end
	})
}

// pageOf returns the page of an informer of a resource, with obj in its store.
func pageOf[T any](t *testing.T, resource string, obj T, show bool) (page string) {
	t.Helper()
	src, err := source.FromConfig[T](&rest.Config{Host: "http://127.0.0.1:1"}, schema.GroupVersionResource{Version: "v1", Resource: resource}, source.Options{Example: asExample(obj)})
	if err != nil {
		t.Fatal(err)
	}
	inf, err := kinglet.New(src, kinglet.Options[T]{
		Name:    "things",
		KeyFunc: func(T) (kinglet.Key, error) { return kinglet.Key{Namespace: "shop", Name: "one"}, nil },
	})
	if err != nil {
		t.Fatal(err)
	}
	inf.WritableStore().Apply(store.Batch[T]{Ops: []store.Op[T]{{Key: kinglet.Key{Namespace: "shop", Name: "one"}, Object: obj}}}, nil)
	set := kinglet.NewSet(inf)
	if err := set.Configure(kinglet.SetOptions{ShowObjects: show}); err != nil {
		t.Fatal(err)
	}
	synctest.Test(t, func(t *testing.T) {
		page = look(t, set.Handler(), "/?open=things&objects=things&key="+url.QueryEscape("shop/one"))
		testclock.Elapse(time.Hour) // the charts end
	})
	return page
}

// asExample returns the example object that FromConfig needs if T is an interface.
func asExample(obj any) runtime.Object {
	example, _ := obj.(runtime.Object)
	return example
}

func TestObjectsAreShownIfEnabledAndTheDataOfSecretsNever(t *testing.T) {
	meta := metav1.ObjectMeta{Namespace: "shop", Name: "one", Annotations: map[string]string{"kubectl.kubernetes.io/last-applied-configuration": "hunter2"},
		ManagedFields: []metav1.ManagedFieldsEntry{{Manager: "hunter2"}}}
	cm := &corev1.ConfigMap{ObjectMeta: meta, Data: map[string]string{"colour": "green"}}
	// Inspect names the largest objects, which needs no option.
	if page := pageOf(t, "widgets", cm, false); strings.Contains(page, "Hide objects") || strings.Contains(page, "green") {
		t.Error("objects are shown unasked")
	}
	if page := pageOf(t, "widgets", cm, true); !strings.Contains(page, "Hide objects") || !strings.Contains(page, "shop/one") || !strings.Contains(page, "green") || strings.Contains(page, "hunter2") {
		t.Error("an object is not shown as it is, without what repeats it")
	}
	// aHunter is base64 of hunter2.
	const aHunter = "aHVudGVyMg=="
	secret := &corev1.Secret{ObjectMeta: meta, Type: "Opaque", Data: map[string][]byte{"password": []byte("hunter2")}, StringData: map[string]string{"x": "hunter2"}}
	wrapped := &wrappedSecret{ObjectMeta: meta, Inner: map[string][]*corev1.Secret{"a": {secret}}}
	untyped := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "v1", "kind": "Secret", "type": "Opaque",
		"metadata": map[string]any{"namespace": "shop", "name": "one", "annotations": map[string]any{"a": "hunter2"}}, "data": map[string]any{"password": aHunter}}}
	unnamed := untyped.DeepCopy()
	delete(unnamed.Object, "kind")
	for name, page := range map[string]string{
		"typed": pageOf(t, "widgets", secret, true), "untyped": pageOf(t, "widgets", untyped, true), "within": pageOf(t, "widgets", wrapped, true), "any": pageOf(t, "widgets", any(secret), true),
		"by its resource": pageOf(t, "secrets", unnamed, true),
	} {
		if strings.Contains(page, "hunter2") || strings.Contains(page, aHunter) || strings.Contains(page, "aHVud") {
			t.Errorf("%s: the data of a Secret is shown", name)
		}
		if !strings.Contains(page, "shop/one") {
			t.Errorf("%s: the object is not listed", name)
		}
		if name != "within" && (!strings.Contains(page, "password") || !strings.Contains(page, "not shown, 12 characters of base64")) {
			t.Errorf("%s: that there is data is not shown", name)
		}
	}
}

// wrappedSecret is a program's type that contains Secrets.
type wrappedSecret struct {
	metav1.TypeMeta
	metav1.ObjectMeta `json:"metadata"`
	Inner             map[string][]*corev1.Secret
}

func (w *wrappedSecret) DeepCopyObject() runtime.Object { c := *w; return &c }
