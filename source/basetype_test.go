package source_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"

	"github.com/kinglet-go/kinglet"
	"github.com/kinglet-go/kinglet/source"
	"github.com/kinglet-go/kinglet/store"
)

// Base is what all kinds of somebody's have in common.
type Base struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`
}

// Thing is one of these kinds.
type Thing struct {
	Base
	Size int `json:"size"`
}

// DeepCopyObject implements runtime.Object.
func (o *Thing) DeepCopyObject() runtime.Object { c := *o; return &c }

// TestAnInformerOfATypeWithABaseHoldsWhatTheServerHas, whether it begins with a
// watch-list or with pages.
func TestAnInformerOfATypeWithABaseHoldsWhatTheServerHas(t *testing.T) {
	thing := func(name string, version, size int) string {
		return fmt.Sprintf(`{"apiVersion":"example.com/v1","kind":"Thing","metadata":{"name":%q,"resourceVersion":"%d"},"size":%d}`, name, version, size)
	}
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		q := r.URL.Query()
		w.Header().Set("Content-Type", "application/json")
		if q.Get("watch") == "" {
			fmt.Fprintf(w, `{"apiVersion":"example.com/v1","kind":"ThingList","metadata":{"resourceVersion":"2"},"items":[%s,%s]}`, thing("a", 1, 1), thing("b", 2, 2))
			return
		}
		if q.Get("sendInitialEvents") == "true" {
			fmt.Fprintf(w, `{"type":"ADDED","object":%s}`+"\n"+`{"type":"ADDED","object":%s}`+"\n", thing("a", 1, 1), thing("b", 2, 2))
			fmt.Fprintln(w, `{"type":"BOOKMARK","object":{"apiVersion":"example.com/v1","kind":"Thing","metadata":{"resourceVersion":"2","annotations":{"k8s.io/initial-events-end":"true"}}}}`)
		}
		fmt.Fprintf(w, `{"type":"MODIFIED","object":%s}`+"\n", thing("b", 3, 3))
		w.(http.Flusher).Flush()
		<-r.Context().Done()
	}))
	defer srv.Close()
	for _, paged := range []bool{false, true} {
		gvr := schema.GroupVersionResource{Group: "example.com", Version: "v1", Resource: "things"}
		src, err := source.FromConfig[*Thing](&rest.Config{Host: srv.URL, QPS: -1}, gvr, source.Options{})
		if err != nil {
			t.Fatal(err)
		}
		failed := make(chan error, 100)
		inf, err := kinglet.New(src, kinglet.Options[*Thing]{DisableWatchList: paged, OnError: func(err error) { failed <- err }})
		if err != nil {
			t.Fatal(err)
		}
		changed := make(chan struct{})
		seen := func(o *Thing) {
			if o.Size == 3 {
				close(changed)
			}
		}
		_, err = inf.AddHandler(kinglet.HandlerFuncs[*Thing]{
			OnAdd:    func(_ context.Context, o *Thing, _ bool) { seen(o) },
			OnUpdate: func(_ context.Context, _, o *Thing) { seen(o) },
		}, kinglet.HandlerOptions{})
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		ran := make(chan error, 1)
		go func() { ran <- inf.Run(ctx) }()
		if err := inf.WaitSynced(ctx); err != nil {
			t.Fatal(err)
		}
		select {
		case <-changed:
		case err := <-failed:
			t.Errorf("paged %v: %v", paged, err)
		}
		a, okA := inf.Store().Get(store.Key{Name: "a"})
		b, okB := inf.Store().Get(store.Key{Name: "b"})
		if inf.Store().Len() != 2 || !okA || !okB || a.Size != 1 || b.Size != 3 || len(inf.Quarantined()) != 0 {
			t.Errorf("paged %v: a is %+v, b is %+v, and %v are quarantined", paged, a, b, inf.Quarantined())
		}
		cancel()
		if err := <-ran; err != nil {
			t.Error(err)
		}
	}
}
