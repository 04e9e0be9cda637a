package ctrlruntime

import (
	"context"
	"errors"
	"reflect"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kinglet-go/kinglet"
	"github.com/kinglet-go/kinglet/ctrlruntime"
	"github.com/kinglet-go/kinglet/internal/tests/testbubble"
	"github.com/kinglet-go/kinglet/kinglettest/apiserver"
)

// health runs a cache of config maps whose informers a Set shows.
func (w *world) health(opts cache.Options) (c cache.Cache, set *kinglet.Set, end func()) {
	w.t.Helper()
	set = kinglet.NewSet()
	c, end = w.run(ctrlruntime.Options{Set: set}.NewCache, opts)
	w.create(configMap("ns0", "a", nil), configMap("ns1", "a", nil))
	if _, err := c.GetInformer(context.Background(), &corev1.ConfigMap{}); err != nil {
		w.t.Fatal(err)
	}
	synctest.Wait()
	return c, set, end
}

// counts returns what is a count in a status, by name.
func counts(of any) map[string]uint64 {
	all := map[string]uint64{}
	var walk func(name string, v reflect.Value)
	walk = func(name string, v reflect.Value) {
		switch {
		case v.CanUint():
			all[name] = v.Uint()
		case v.Kind() == reflect.Array:
			for i := range v.Len() {
				walk(name+string(rune('a'+i)), v.Index(i))
			}
		case v.Kind() == reflect.Struct:
			for i := range v.NumField() {
				if f := v.Type().Field(i); f.IsExported() && f.Name != "Phase" && f.Name != "ReadPath" {
					walk(name+"."+f.Name, v.Field(i))
				}
			}
		}
	}
	walk("", reflect.ValueOf(of))
	return all
}

// Otherwise rate and increase of a metric take it for a restart, and count the rest again.
func TestNoCountGoesBackWhenANamespaceLeaves(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		c, set, end := w.health(cache.Options{DefaultNamespaces: map[string]cache.Config{"ns0": {}, "ns1": {}}})
		defer end()
		for i := range 10 {
			w.update(configMap("ns1", "a", map[string]string{"x": string(rune('a' + i))}))
		}
		testbubble.Pass(2 * time.Minute)
		before := counts(set.Status()[0])
		for _, namespaces := range []map[string]cache.Config{{"ns0": {}}, {"ns0": {}, "ns2": {}}, {"": {}}} {
			if err := ctrlruntime.SetNamespaces(t.Context(), c, &corev1.ConfigMap{}, namespaces); err != nil {
				t.Fatal(err)
			}
			testbubble.Pass(time.Minute)
			after := counts(set.Status()[0])
			for name, n := range before {
				if after[name] < n {
					t.Errorf("%s: %d, then %d", name, n, after[name])
				}
			}
			before = after
		}
		if before[".Status.EventsByType.Modified"] < 10 {
			t.Errorf("%v", before)
		}
	})
}

// The optional kind of one reconciler takes no replica out of service.
func TestAKindThatIsReadLaterAndRefusedDoesNotMakeReadyFail(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		c, set, end := w.health(cache.Options{})
		defer end()
		testbubble.Pass(time.Hour)
		w.mu.Lock()
		w.refuse = func(r *apiserver.Request) error {
			if r.Resource.Resource == "pods" {
				return apierrors.NewForbidden(schema.GroupResource{Resource: "pods"}, "", errors.New("no"))
			}
			return nil
		}
		w.mu.Unlock()
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
		defer cancel()
		if err := c.Get(ctx, keyed("ns", "a"), &corev1.Pod{}); err == nil {
			t.Error("a kind that may not be listed was read")
		}
		testbubble.Pass(10 * time.Minute)
		if err := set.Ready(nil); err != nil {
			t.Errorf("not ready: %v", err)
		}
		if err := set.Check(nil); err == nil {
			t.Error("and nothing is wrong")
		}
		if err := c.RemoveInformer(t.Context(), &corev1.ConfigMap{}); err != nil {
			t.Fatal(err)
		}
		if err := set.Ready(nil); err != nil {
			t.Errorf("without the first: %v", err)
		}
	})
}

// A namespace is compared with its own bookmarks.
func TestANamespaceWithoutBookmarksIsNotStaleBesideOneWithThem(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, no := newWorld(t), false
		_, set, end := w.health(cache.Options{DefaultNamespaces: map[string]cache.Config{"ns0": {}, "ns1": {EnableWatchBookmarks: &no}}})
		defer end()
		w.update(configMap("ns1", "a", map[string]string{"x": "1"}))
		learned := false
		for range 1800 {
			w.storage.Skip(1)
			testbubble.Pass(10 * time.Second)
			s := set.Status()[0]
			learned = learned || s.BookmarkInterval > 0
			if since, stale := s.StaleSince(time.Now()); stale {
				t.Fatalf("stale since %v: %v", since, s.Problems(time.Now()))
			}
		}
		if !learned {
			t.Error("no bookmark interval was learned")
		}
	})
}

// What the program deletes of a tenant, whose namespace it then leaves, needs no confirmation.
func TestANamespaceThatIsLeftRightAfterAnOwnWriteIsNoProblem(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, set := newWorld(t), kinglet.NewSet()
		w.create(configMap("ns1", "a", nil))
		c, end := w.withClient(ctrlruntime.Options{Set: set}, cache.Options{DefaultNamespaces: map[string]cache.Config{"ns0": {}, "ns1": {}}}, "typed")
		defer end()
		if err := c.Delete(t.Context(), configMap("ns1", "a", nil)); err != nil {
			t.Fatal(err)
		}
		if err := ctrlruntime.SetNamespaces(t.Context(), c.cache, &corev1.ConfigMap{}, map[string]cache.Config{"ns0": {}}); err != nil {
			t.Fatal(err)
		}
		w.server.Release()
		testbubble.Pass(time.Hour)
		if s := set.Status()[0]; len(s.Problems(time.Now())) > 0 {
			t.Errorf("%v", s.Problems(time.Now()))
		}
	})
}

// Metadata is what the server has: a function of the typed informer may not change it.
func TestATransformIsRefusedWhileMetadataShowsTheInformer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, err := ctrlruntime.NewCache(newWorld(t).config(), cache.Options{Mapper: mapper()})
		if err != nil {
			t.Fatal(err)
		}
		typed, err := c.GetInformer(t.Context(), &corev1.ConfigMap{})
		if err != nil {
			t.Fatal(err)
		}
		change := func(in any) (any, error) {
			in.(client.Object).SetAnnotations(nil)
			return in, nil
		}
		if err := typed.(toolscache.SharedIndexInformer).SetTransform(change); err != nil {
			t.Error(err)
		}
		typed2, err := c.GetInformer(t.Context(), &corev1.Pod{})
		if err != nil {
			t.Fatal(err)
		}
		m := object("metadata", "", "")
		m.GetObjectKind().SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("Pod"))
		if _, err := c.GetInformer(t.Context(), m); err != nil {
			t.Fatal(err)
		}
		if err := typed2.(toolscache.SharedIndexInformer).SetTransform(change); err == nil {
			t.Error("metadata is changed by a function of the typed informer")
		}
	})
}
