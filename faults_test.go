package kinglet_test

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kinglet-go/kinglet"
	"github.com/kinglet-go/kinglet/internal/testclock"
	"github.com/kinglet-go/kinglet/source"
)

// Each fault, over HTTP: what is reported names it, and afterwards the store
// equals what the server has.
func TestAfterEachFaultTheErrorIsClearAndTheStoreEqualsTheServer(t *testing.T) {
	type faultCase struct {
		name string
		// inject causes the fault; before the informer runs for a list, on a
		// synced one for a watch.
		list, watch func(*server)
		// is says that an error is the one to be reported.
		is func(error) bool
		// mentions must all be in its text.
		mentions []string
	}
	listFault := func(f http.HandlerFunc) func(*server) {
		return func(s *server) { s.listFaults = []http.HandlerFunc{f} }
	}
	truncated := func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Length", "100000")
		_, _ = w.Write([]byte(`{"kind":"PodList","apiVersion":"v1","metadata":{"resourceVersion":"101"},"items":[{"metadata":{"na`))
	}
	isItem := func(stage source.Stage) func(error) bool {
		return func(err error) bool {
			var item *kinglet.ItemError
			return errors.As(err, &item) && item.Stage == stage
		}
	}
	any := func(error) bool { return true }
	for _, c := range []faultCase{
		{name: "list is forbidden", is: apierrors.IsForbidden, mentions: []string{"pods", "list", "no RBAC"},
			list: listFault(status(403, metav1.StatusReasonForbidden, "pods is forbidden: no RBAC policy matched"))},
		{name: "list is not found", is: apierrors.IsNotFound, mentions: []string{"pods", "could not find"},
			list: listFault(status(404, metav1.StatusReasonNotFound, "the server could not find the requested resource"))},
		{name: "list has expired", is: apierrors.IsResourceExpired, mentions: []string{"pods", "too old"},
			list: listFault(status(410, metav1.StatusReasonExpired, "too old resource version: 1 (100)"))},
		{name: "list is one too many", is: any, mentions: []string{"pods"},
			list: func(s *server) {
				// client-go tries ten times by itself before it says so.
				for range 11 {
					s.listFaults = append(s.listFaults, status(429, metav1.StatusReasonTooManyRequests, "slow down", "Retry-After", "3"))
				}
			}},
		{name: "list fails inside the server", is: apierrors.IsInternalError, mentions: []string{"pods", "etcd"},
			list: listFault(status(500, metav1.StatusReasonInternalError, "etcd is away"))},
		{name: "list is cut off", is: any, mentions: []string{"pods", "unexpected EOF"}, list: listFault(truncated)},

		{name: "watch sends an error event", is: apierrors.IsInternalError, mentions: []string{"pods", "watch", "cache was reset"},
			watch: func(s *server) {
				s.send("ERROR", `{"kind":"Status","apiVersion":"v1","status":"Failure","code":500,"reason":"InternalError","message":"the watch cache was reset"}`)
			}},
		{name: "watch sends an unknown event type", is: any, mentions: []string{"pods", "EXPLODED"},
			watch: func(s *server) {
				s.send("EXPLODED", `{"kind":"Pod","apiVersion":"v1","metadata":{"name":"x","namespace":"ns","resourceVersion":"VERSION"}}`)
			}},
		{name: "watch sends an object of another type", is: isItem(source.StageDecode), mentions: []string{"ConfigMap"},
			watch: func(s *server) {
				s.send("MODIFIED", `{"kind":"ConfigMap","apiVersion":"v1","metadata":{"name":"a","namespace":"ns","resourceVersion":"VERSION"}}`)
			}},
		{name: "watch sends an object without a name", is: isItem(source.StageKey), mentions: []string{"name"},
			watch: func(s *server) {
				s.send("ADDED", `{"kind":"Pod","apiVersion":"v1","metadata":{"namespace":"ns","resourceVersion":"VERSION"}}`)
			}},
		{name: "watch sends an object that does not decode", is: isItem(source.StageDecode), mentions: []string{"ns/a"},
			watch: func(s *server) {
				s.send("MODIFIED", `{"kind":"Pod","apiVersion":"v1","metadata":{"name":"a","namespace":"ns","resourceVersion":"VERSION"},"spec":{"containers":7}}`)
			}},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newServer(newPod("a", "n1"), newPod("b", "n1"))
				client, end := serve(t, s)
				defer end()
				var mu sync.Mutex
				var reported []error
				inf := informerOf(t, client, func(err error) {
					mu.Lock()
					defer mu.Unlock()
					reported = append(reported, err)
				})
				if c.list != nil {
					c.list(s)
				}
				ctx, stop := context.WithCancel(context.Background())
				ended := make(chan error, 1)
				go func() { ended <- inf.Run(ctx) }()
				defer func() { stop(); <-ended }()
				if err := inf.WaitSynced(ctx); err != nil {
					t.Fatal(err)
				}
				if c.watch != nil {
					synctest.Wait()
					c.watch(s)
				}
				s.put("MODIFIED", newPod("a", "n2"))
				s.put("DELETED", newPod("b", "n1"))
				s.put("ADDED", newPod("c", "n2"))
				testclock.Pass(15 * time.Minute)
				matched := false
				mu.Lock()
				for _, err := range reported {
					matched = matched || c.is(err) && containsAll(err.Error(), c.mentions)
				}
				if !matched {
					t.Errorf("no error that mentions %q among %v", c.mentions, reported)
				}
				mu.Unlock()
				storeEquals(t, inf, s)
				if st := inf.Status(); st.LastError != nil || st.Degraded || st.Quarantined != 0 {
					t.Errorf("not healthy again: %+v", st)
				}
			})
		})
	}
}

func containsAll(s string, parts []string) bool {
	for _, p := range parts {
		if !strings.Contains(s, p) {
			return false
		}
	}
	return true
}

func storeEquals(t *testing.T, inf *kinglet.Informer[pod], s *server) {
	t.Helper()
	want := s.list().Items
	i := 0
	for got := range inf.Store().All() {
		if i >= len(want) {
			t.Errorf("%s is in the store only", got.Name)
			continue
		}
		if normal(t, got) != normal(t, &want[i]) {
			t.Errorf("store has %s at %s, server has %s at %s", got.Name, got.ResourceVersion, want[i].Name, want[i].ResourceVersion)
		}
		i++
	}
	if i < len(want) {
		t.Errorf("the store has %d objects, the server %d", i, len(want))
	}
}

// normal is p as JSON: a decoded object has nil where a made one has nothing.
func normal(t *testing.T, p pod) string {
	t.Helper()
	p = p.DeepCopy()
	p.TypeMeta = metav1.TypeMeta{} // typed objects come without
	raw, err := json.Marshal(p)
	if err != nil {
		t.Fatal(err)
	}
	return string(raw)
}
