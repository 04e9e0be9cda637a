package interop

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"

	"github.com/kinglet-go/kinglet"
	"github.com/kinglet-go/kinglet/internal/tests/testbubble"
	"github.com/kinglet-go/kinglet/kinglettest/apiserver"
	"github.com/kinglet-go/kinglet/source"
)

// The program creates an object, somebody else makes it one that the transform refuses, and the
// informer has to list, so that its store has never had it. Then it is deleted.
func TestAnOwnWriteThatCannotBeStoredEndsWithItsObject(t *testing.T) {
	for _, how := range []string{"watch", "list"} {
		t.Run(how, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				storage := apiserver.NewStorage(apiserver.ConfigMaps)
				server := apiserver.New(storage, apiserver.Options{})
				defer server.Close()
				must(storage.Put(&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "a", Name: "first"}}))
				src := source.Map(must(source.FromConfig[*corev1.ConfigMap](server.Config(), configMapGVR, source.Options{})), func(c *corev1.ConfigMap) (*corev1.ConfigMap, error) {
					if c.Data["bad"] != "" {
						return nil, errors.New("bad")
					}
					return c, nil
				})
				i := must(kinglet.New(src, kinglet.Options[*corev1.ConfigMap]{OnError: func(error) {}}))
				own := &kinglet.OwnWrites{}
				if err := own.Add(configMapGVR, i); err != nil {
					t.Fatal(err)
				}
				cfg := server.Config()
				cfg.Wrap(own.Wrap)
				client := kubernetes.NewForConfigOrDie(cfg)
				ctx, cancel := context.WithCancel(context.Background())
				done := make(chan error, 1)
				go func() { done <- i.Run(ctx) }()
				synctest.Wait()

				server.Hold() // the watch is behind
				must(client.CoreV1().ConfigMaps("a").Create(ctx, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "a", Name: "x"}}, metav1.CreateOptions{}))
				must(storage.Put(&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "a", Name: "x"}, Data: map[string]string{"bad": "yes"}}))
				storage.Compact(storage.Revision())
				server.Disconnect()
				server.Release()
				testbubble.Pass(10 * time.Second)
				synctest.Wait()
				if _, ok := i.Store().Get(kinglet.Key{Namespace: "a", Name: "x"}); !ok || len(i.Quarantined()) != 1 {
					t.Errorf("in reads: %v; quarantined %v", ok, i.Quarantined())
				}
				if how == "list" {
					server.Hold()
				}
				must(storage.Delete(corev1.Resource("configmaps"), types.NamespacedName{Namespace: "a", Name: "x"}, nil))
				if how == "list" {
					storage.Compact(storage.Revision())
					server.Disconnect()
					server.Release()
				}
				testbubble.Pass(10 * time.Second)
				synctest.Wait()
				if _, ok := i.Store().Get(kinglet.Key{Namespace: "a", Name: "x"}); ok {
					t.Errorf("reads show what was deleted; quarantined %v", i.Quarantined())
				}
				cancel()
				<-done
			})
		})
	}
}

// An object leaves a selector and comes back before the program deletes it; the watch is behind,
// and the answer to the delete has no version.
func TestADeleteOfWhatLeftASelectorBeforeIsConfirmedOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		storage := apiserver.NewStorage(apiserver.ConfigMaps)
		server := apiserver.New(storage, apiserver.Options{})
		defer server.Close()
		x := func(labels map[string]string) *corev1.ConfigMap {
			return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "a", Name: "x", Labels: labels}}
		}
		in := map[string]string{"in": "yes"}
		must(storage.Put(x(in)))
		i := must(kinglet.New(must(source.FromConfig[*corev1.ConfigMap](server.Config(), configMapGVR, source.Options{LabelSelector: "in=yes"})), kinglet.Options[*corev1.ConfigMap]{}))
		must(i.AddHandler(kinglet.HandlerFunc[*corev1.ConfigMap](func(_ context.Context, cs []kinglet.Change[*corev1.ConfigMap]) {
			for _, c := range cs {
				if c.OwnEcho {
					t.Errorf("%s at %s may be somebody else's", c.Type, c.ResourceVersion)
				}
			}
		}), kinglet.HandlerOptions{}))
		ctx, cancel := context.WithCancel(context.Background())
		done := make(chan error, 1)
		go func() { done <- i.Run(ctx) }()
		synctest.Wait()
		server.Hold()
		must(storage.Put(x(nil)))
		must(storage.Put(x(in)))
		// As a server answers that has deleted a custom resource, or an object in the
		// background: with a Status, which has the UID and no version.
		gone := must(storage.Delete(corev1.Resource("configmaps"), types.NamespacedName{Namespace: "a", Name: "x"}, nil)).(*corev1.ConfigMap)
		if err := i.WroteDelete(kinglet.Key{Namespace: "a", Name: "x"}, gone.UID); err != nil {
			t.Fatal(err)
		}
		var before uint64
		for range 4 {
			synctest.Wait()
			st := i.Status().OwnWrites
			if st.Confirmed < before {
				t.Errorf("Confirmed went back from %d to %d", before, st.Confirmed)
			}
			before = st.Confirmed
			server.Advance(1)
		}
		if before != 1 {
			t.Errorf("%d are confirmed", before)
		}
		cancel()
		<-done
	})
}
