package ctrlruntime

import (
	"context"
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kinglet-go/kinglet/ctrlruntime"
	"github.com/kinglet-go/kinglet/internal/tests/testkit"
	"github.com/kinglet-go/kinglet/kinglettest/apiserver"
)

// TestSettingsAreControllerRuntimes compares the requests of both caches, and what
// is read from each namespace, for random options: selectors, transforms, deep copies,
// by object, by namespace and by default.
func TestSettingsAreControllerRuntimes(t *testing.T) {
	seed := testkit.Seed(t)
	right := 0
	for n := range uint64(testkit.Trials(120)) {
		synctest.Test(t, func(t *testing.T) {
			w := newWorld(t)
			for _, ns := range []string{"a", "b", "c"} {
				w.create(pod(ns, "p", "n1", map[string]string{"x": "1"}), pod(ns, "q", "n2", map[string]string{"x": "2"}),
					configMap(ns, "p", map[string]string{"x": "1"}), configMap(ns, "q", nil))
			}
			w.create(&corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "p", Labels: map[string]string{"x": "1"}}})
			opts := func() cache.Options { return randomOptions(rand.New(rand.NewPCG(seed, n))) }
			want, wantErr := w.seen(cache.New, opts())
			got, gotErr := w.seen(ctrlruntime.NewCache, opts())
			if (wantErr == nil) != (gotErr == nil) {
				t.Fatalf("trial %d: the error is %v, controller-runtime's %v", n, gotErr, wantErr)
			}
			if !slices.Equal(got, want) {
				t.Fatalf("trial %d: kinglet\n%s\ncontroller-runtime\n%s", n, strings.Join(got, "\n"), strings.Join(want, "\n"))
			}
			if wantErr == nil {
				right++
			}
		})
	}
	if right == 0 {
		t.Error("no options were right")
	}
}

// seen returns the requests that a cache makes and what is read from it.
func (w *world) seen(newCache cache.NewCacheFunc, opts cache.Options) (all []string, err error) {
	w.asked()
	c, end, err := w.start(newCache, opts)
	if err != nil {
		return nil, err
	}
	defer end()
	ctx, cancel := context.WithTimeout(context.Background(), time.Hour)
	defer cancel()
	for _, list := range []client.ObjectList{&corev1.PodList{}, &corev1.ConfigMapList{}, &corev1.NodeList{}} {
		for _, ns := range []string{"", "a", "b", "c"} {
			err := c.List(ctx, list, client.InNamespace(ns))
			all = append(all, fmt.Sprintf("%T in %q: %s", list, ns, withoutReason(err)))
			items := reflect.ValueOf(list).Elem().FieldByName("Items")
			var names []string
			for i := range items.Len() {
				obj := items.Index(i).Addr().Interface().(client.Object)
				names = append(names, fmt.Sprintf("%s/%s %v %s", obj.GetNamespace(), obj.GetName(), obj.GetAnnotations(),
					obj.GetObjectKind().GroupVersionKind()))
			}
			slices.Sort(names)
			all = append(all, names...)
		}
	}
	for _, ns := range []string{"a", "b", "c"} {
		for _, obj := range []client.Object{&corev1.Pod{}, &corev1.ConfigMap{}, &corev1.Node{}} {
			err := c.Get(ctx, keyed(ns, "p"), obj)
			all = append(all, fmt.Sprintf("Get %T in %s: %s %s %s %v", obj, ns, withoutReason(err), obj.GetObjectKind().GroupVersionKind(), obj.GetUID(), obj.GetAnnotations()))
		}
	}
	return append(all, w.asked()...), nil
}

// withoutReason cuts off why an informer is not in sync, which only kinglet says: a server
// refuses to select nodes by their namespace.
func withoutReason(err error) string {
	text, _, _ := strings.Cut(fmt.Sprint(err), " to sync: ")
	return strings.TrimSuffix(text, " to sync")
}

// randomOptions returns options of which each part may be set.
func randomOptions(rnd *rand.Rand) (opts cache.Options) {
	n := 0
	chance := func() bool { return rnd.IntN(3) == 0 }
	label := func() labels.Selector {
		if !chance() {
			return nil
		}
		return []labels.Selector{labels.Everything(), labels.SelectorFromSet(labels.Set{"x": "1"}), labels.SelectorFromSet(labels.Set{"x": "2"})}[rnd.IntN(3)]
	}
	field := func() fields.Selector {
		if !chance() {
			return nil
		}
		return []fields.Selector{fields.Everything(), fields.OneTermEqualSelector("metadata.name", "p"),
			fields.OneTermNotEqualSelector("metadata.name", "p"), fields.OneTermEqualSelector("metadata.namespace", "a")}[rnd.IntN(4)]
	}
	transform := func() toolscache.TransformFunc {
		if !chance() {
			return nil
		}
		n++
		mark := fmt.Sprint(n)
		return func(obj any) (any, error) {
			if o, ok := obj.(client.Object); ok {
				o.SetAnnotations(map[string]string{"transform": mark})
			}
			return obj, nil
		}
	}
	yes := func() *bool {
		if !chance() {
			return nil
		}
		is := rnd.IntN(2) == 0
		return &is
	}
	config := func() cache.Config {
		return cache.Config{LabelSelector: label(), FieldSelector: field(), Transform: transform(), UnsafeDisableDeepCopy: yes()}
	}
	namespaces := func() map[string]cache.Config {
		if !chance() {
			return nil
		}
		by := map[string]cache.Config{}
		for _, ns := range []string{"", "a", "b"} {
			if rnd.IntN(2) == 0 {
				by[ns] = config()
			}
		}
		return by
	}
	opts.DefaultLabelSelector, opts.DefaultFieldSelector, opts.DefaultTransform = label(), field(), transform()
	// EnableWatchBookmarks is left unset: with it off, controller-runtime's cache did
	// not sync here, for an unknown reason. TestWithoutBookmarksItListsAndAsksForNone
	// tests ours.
	opts.DefaultUnsafeDisableDeepCopy = yes()
	opts.DefaultNamespaces = namespaces()
	opts.ByObject = map[client.Object]cache.ByObject{}
	for _, obj := range []client.Object{&corev1.Pod{}, &corev1.ConfigMap{}, &corev1.Node{}} {
		if rnd.IntN(2) == 0 {
			continue
		}
		by := cache.ByObject{Label: label(), Field: field(), Transform: transform(), UnsafeDisableDeepCopy: yes(), Namespaces: namespaces()}
		if _, cluster := obj.(*corev1.Node); cluster && rnd.IntN(10) > 0 {
			by.Namespaces = nil
		}
		opts.ByObject[obj] = by
	}
	return opts
}

func TestWithoutBookmarksItListsAndAsksForNone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.create(pod("a", "p", "n1", nil))
		var asked []metav1.ListOptions
		w.refuse = func(r *apiserver.Request) error {
			asked = append(asked, r.Options)
			return nil
		}
		no := false
		c, end := w.run(ctrlruntime.NewCache, cache.Options{DefaultEnableWatchBookmarks: &no})
		if err := c.Get(context.Background(), keyed("a", "p"), &corev1.Pod{}); err != nil {
			t.Error(err)
		}
		synctest.Wait()
		end()
		for _, options := range asked {
			if options.AllowWatchBookmarks || options.SendInitialEvents != nil {
				t.Errorf("asked with %+v", options)
			}
		}
		if len(asked) != 2 {
			t.Errorf("%d requests, want a list and a watch", len(asked))
		}
	})
}

func TestTwoEntriesOfOneKindAreAnError(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, _, err := newWorld(t).start(ctrlruntime.NewCache, cache.Options{ByObject: map[client.Object]cache.ByObject{
			&corev1.Pod{}: {}, &corev1.Pod{TypeMeta: metav1.TypeMeta{Kind: "Pod"}}: {},
		}})
		if err == nil || !strings.Contains(err.Error(), "Pod") {
			t.Errorf("the error is %v", err)
		}
	})
}

func TestAKindWithoutADefinitionHoldsUpNobodyElse(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.create(pod("a", "p", "n1", nil))
		c, end := w.run(ctrlruntime.NewCache, cache.Options{ByObject: map[client.Object]cache.ByObject{&corev1.ServiceAccount{}: {}}})
		defer end()
		if err := c.Get(context.Background(), keyed("a", "p"), &corev1.Pod{}); err != nil {
			t.Error(err)
		}
		if err := c.Get(context.Background(), keyed("a", "s"), &corev1.ServiceAccount{}); err == nil || apierrors.IsNotFound(err) {
			t.Errorf("a kind that is not there: %v", err)
		}
		if !c.WaitForCacheSync(context.Background()) {
			t.Error("the cache has not synced")
		}
	})
}

func TestSwitchedOffItIsControllerRuntimes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		opts := cache.Options{Mapper: mapper()}
		if c, err := ctrlruntime.NewCache(w.server.Config(), opts); err != nil || !isKinglets(c) {
			t.Errorf("it is a %T, %v", c, err)
		}
		for value, on := range map[string]bool{"off": false, "OFF": false, "false": false, "0": false, "no": false, "true": true, "on": true, "1": true} {
			t.Setenv("KINGLET", value)
			if c, err := ctrlruntime.NewCache(w.server.Config(), opts); err != nil || isKinglets(c) != on {
				t.Errorf("with KINGLET=%s it is a %T, %v", value, c, err)
			}
		}
		t.Setenv("KINGLET", "")
		opts.NewInformer = toolscache.NewSharedIndexInformer
		if c, err := ctrlruntime.NewCache(w.server.Config(), opts); err != nil || isKinglets(c) {
			t.Errorf("with NewInformer it is a %T, %v", c, err)
		}
	})
}

func isKinglets(c cache.Cache) bool {
	_, is := c.(*ctrlruntime.Cache)
	return is
}
