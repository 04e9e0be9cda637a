package ctrlruntime

import (
	"context"
	"errors"
	"slices"
	"testing"
	"testing/synctest"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kinglet-go/kinglet/ctrlruntime"
	"github.com/kinglet-go/kinglet/internal/tests/testkit"
)

func TestAViewReadsByTypeAndSharesWhatIsHeld(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.create(pod("b", "q", "n1", map[string]string{"x": "1"}), pod("a", "p", "n1", map[string]string{"x": "1"}), pod("a", "r", "n2", nil))
		c, end := w.run(ctrlruntime.NewCache, cache.Options{})
		defer end()
		v, err := ctrlruntime.For[*corev1.Pod](c)
		if err != nil {
			t.Fatal(err)
		}
		if err := v.WaitSynced(context.Background()); err != nil {
			t.Fatal(err)
		}
		one, ok := v.Get(keyed("a", "p"))
		two, _ := v.Get(keyed("a", "p"))
		if !ok || one != two || one.Spec.NodeName != "n1" {
			t.Errorf("two reads have %p and %p, %v", one, two, ok)
		}
		if _, ok := v.Get(keyed("a", "none")); ok {
			t.Error("it has what is not there")
		}
		if n := testkit.Allocs(100, func() { v.Get(keyed("a", "p")) }); n != 0 {
			t.Errorf("Get allocates %v times", n)
		}
		index(t, c)
		for _, tc := range []struct {
			opts []client.ListOption
			want []string
		}{
			{nil, []string{"a/p", "a/r", "b/q"}},
			{[]client.ListOption{client.InNamespace("a")}, []string{"a/p", "a/r"}},
			{[]client.ListOption{client.Limit(2)}, []string{"a/p", "a/r"}},
			{[]client.ListOption{client.MatchingLabels{"x": "1"}, client.Limit(1)}, []string{"a/p"}},
			{[]client.ListOption{client.MatchingFields{"node": "n1", "x": "1"}}, []string{"a/p", "b/q"}},
			{[]client.ListOption{client.MatchingFields{"node": "n1"}, client.InNamespace("b")}, []string{"b/q"}},
		} {
			found, err := v.List(tc.opts...)
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for p := range found {
				got = append(got, p.Namespace+"/"+p.Name)
			}
			if !slices.Equal(got, tc.want) {
				t.Errorf("%v: %v, want %v", tc.opts, got, tc.want)
			}
		}
		if _, err := v.List(client.Continue("here")); err == nil {
			t.Error("a continue token is taken")
		}
	})
}

// A Transform may return another type for some objects, which a view cannot show.
func TestAViewOfWhatATransformMadeAnotherTypeOfIsAnErrorAndNoPanic(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.create(configMap("a", "other", nil), configMap("a", "same", nil), configMap("b", "same", nil))
		c, end := w.run(ctrlruntime.NewCache, cache.Options{DefaultTransform: func(obj any) (any, error) {
			if cm := obj.(*corev1.ConfigMap); cm.Name == "other" {
				return &corev1.Secret{ObjectMeta: cm.ObjectMeta}, nil
			}
			return obj, nil
		}})
		defer end()
		v, err := ctrlruntime.For[*corev1.ConfigMap](c)
		if err != nil {
			t.Fatal(err)
		}
		if err := v.WaitSynced(context.Background()); err != nil {
			t.Fatal(err)
		}
		ctx, s := context.Background(), v.Snapshot()
		for key, want := range map[client.ObjectKey]bool{keyed("a", "other"): false, keyed("a", "same"): true} {
			err := c.Get(ctx, key, &corev1.ConfigMap{})
			one, ok := v.Get(key)
			two, also := s.Get(key)
			if (err == nil) != want || ok != want || also != want || (one != nil) != want || one != two {
				t.Errorf("%s: the cache has it: %v; a view: %v, %v; a snapshot: %v, %v", key, err, one, ok, two, also)
			}
		}
		for namespace, want := range map[string]bool{"": false, "a": false, "b": true} {
			err := c.List(ctx, &corev1.ConfigMapList{}, client.InNamespace(namespace))
			if _, viewed := v.List(client.InNamespace(namespace)); (err == nil) != want || (viewed == nil) != want {
				t.Errorf("namespace %q: the cache lists it: %v; a view: %v", namespace, err, viewed)
			}
		}
	})
}

func TestASnapshotStaysWhatItWas(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.create(pod("a", "p", "n1", nil), pod("a", "q", "n1", nil))
		c, end := w.run(ctrlruntime.NewCache, cache.Options{})
		defer end()
		v, err := ctrlruntime.For[*corev1.Pod](c)
		if err != nil {
			t.Fatal(err)
		}
		index(t, c)
		if err := v.WaitSynced(context.Background()); err != nil {
			t.Fatal(err)
		}
		before := v.Snapshot()
		w.create(pod("a", "r", "n1", nil))
		synctest.Wait()
		after := v.Snapshot()
		for _, tc := range []struct {
			s    ctrlruntime.Snapshot[*corev1.Pod]
			want []string
		}{{before, []string{"p", "q"}}, {after, []string{"p", "q", "r"}}} {
			for _, opts := range [][]client.ListOption{nil, {client.MatchingFields{"node": "n1"}}, {client.MatchingFields{"node": "n1"}, ctrlruntime.AnyOrder}} {
				found, err := tc.s.List(opts...)
				if err != nil {
					t.Fatal(err)
				}
				var got []string
				for p := range found {
					got = append(got, p.Name)
				}
				slices.Sort(got)
				if !slices.Equal(got, tc.want) || tc.s.Len() != len(tc.want) {
					t.Errorf("%v: %v of %d, want %v", opts, got, tc.s.Len(), tc.want)
				}
			}
			if _, ok := tc.s.Get(keyed("a", "r")); ok != (len(tc.want) == 3) {
				t.Errorf("of %v: r is there: %v", tc.want, ok)
			}
		}
		if before.ResourceVersion() == "" || before.ResourceVersion() == after.ResourceVersion() {
			t.Errorf("versions %q and %q", before.ResourceVersion(), after.ResourceVersion())
		}
		if n := testkit.Allocs(100, func() { after.Get(keyed("a", "r")) }); n != 0 {
			t.Errorf("Get allocates %v times", n)
		}
	})
}

func TestAListOfAViewAllocatesNothingForAnObject(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		for _, name := range "abcdefghijklmnopqrstuvwxyz" {
			w.create(pod("a", string(name), "n1", map[string]string{"x": "1"}))
		}
		c, end := w.run(ctrlruntime.NewCache, cache.Options{})
		defer end()
		v, err := ctrlruntime.For[*corev1.Pod](c)
		if err != nil {
			t.Fatal(err)
		}
		index(t, c)
		if err := v.WaitSynced(context.Background()); err != nil {
			t.Fatal(err)
		}
		for name, opts := range map[string][]client.ListOption{
			"all": nil, "namespace": {client.InNamespace("a")}, "any order": {client.MatchingFields{"node": "n1"}, ctrlruntime.AnyOrder},
		} {
			n := 0
			allocs := testkit.Allocs(20, func() {
				n = 0
				found, err := v.List(opts...)
				if err != nil {
					t.Fatal(err)
				}
				for range found {
					n++
				}
			})
			if n != 26 || allocs > 20 {
				t.Errorf("%s: %v allocations for %d objects", name, allocs, n)
			}
		}
	})
}

func TestASnapshotKeepsItsVersionWhateverNamespacesAreSet(t *testing.T) {
	for _, change := range [][2][]string{{{"a"}, {"a", "b"}}, {{"a", "b"}, {"b"}}, {{"a"}, {"b"}}, {{"a"}, {metav1.NamespaceAll}}, {{metav1.NamespaceAll}, {"a"}}} {
		synctest.Test(t, func(t *testing.T) {
			w := newWorld(t)
			w.create(pod("a", "p", "n1", nil), pod("b", "p", "n1", nil))
			c, end := w.run(ctrlruntime.NewCache, cache.Options{ByObject: map[client.Object]cache.ByObject{&corev1.Pod{}: {Namespaces: spaces(change[0]...)}}})
			defer end()
			v, err := ctrlruntime.For[*corev1.Pod](c)
			ok(t, err)
			ok(t, v.WaitSynced(t.Context()))
			s := v.Snapshot()
			before := s.ResourceVersion()
			if (before != "") != (len(change[0]) == 1) {
				t.Errorf("of %v, a snapshot has version %q", change[0], before)
			}
			ok(t, ctrlruntime.SetNamespaces(t.Context(), c, &corev1.Pod{}, spaces(change[1]...)))
			if after := s.ResourceVersion(); after != before {
				t.Errorf("from %v to %v, the version of a snapshot changes from %q to %q", change[0], change[1], before, after)
			}
			ok(t, v.WaitSynced(t.Context()))
			if now := v.Snapshot().ResourceVersion(); (now != "") != (len(change[1]) == 1) {
				t.Errorf("of %v, a snapshot has version %q", change[1], now)
			}
		})
	}
}

func TestAViewNeedsAKingletCache(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, err := cache.New(newWorld(t).server.Config(), cache.Options{Mapper: mapper()})
		if err != nil {
			t.Fatal(err)
		}
		var foreign *ctrlruntime.ForeignCacheError
		if _, err := ctrlruntime.For[*corev1.Pod](c); !errors.As(err, &foreign) {
			t.Errorf("the error is %v", err)
		}
	})
}
