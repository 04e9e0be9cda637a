package ctrlruntime

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kinglet-go/kinglet/ctrlruntime"
	"github.com/kinglet-go/kinglet/ctrlruntime/compare"
	"github.com/kinglet-go/kinglet/internal/tests/testbubble"
	"github.com/kinglet-go/kinglet/internal/tests/testkit"
	"github.com/kinglet-go/kinglet/kinglettest/apiserver"
)

// compared runs a comparison, and records what it reports.
type compared struct {
	*world
	cache *compare.Cache
	// ended waits for the end of the comparison.
	ended func()

	mu       sync.Mutex
	reported []compare.Difference
}

func newCompared(t *testing.T, o compare.Options, opts cache.Options) *compared {
	c := &compared{world: newWorld(t)}
	o.OnDifference = func(d compare.Difference) {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.reported = append(c.reported, d)
	}
	made, ended := c.run(o.NewCache, opts)
	c.cache, c.ended = made.(*compare.Cache), ended
	return c
}

// reports returns what was reported since the last call.
func (c *compared) reports() []compare.Difference {
	c.mu.Lock()
	defer c.mu.Unlock()
	all := c.reported
	c.reported = nil
	return all
}

// hold makes both caches hold the objects of a kind.
func (c *compared) hold(obj client.Object) {
	c.t.Helper()
	if _, err := c.cache.GetInformer(context.Background(), obj); err != nil {
		c.t.Fatal(err)
	}
	synctest.Wait()
}

// TestAComparisonIsSilentWhileBothCachesAreRight makes 10,000 random writes, which
// reach both caches, and all sorts of reads meanwhile.
func TestAComparisonIsSilentWhileBothCachesAreRight(t *testing.T) {
	rnd := rand.New(rand.NewPCG(testkit.Seed(t), 0))
	t.Run("all namespaces", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) { compareInSilence(t, rnd, 10_000, cache.Options{}) })
	})
	t.Run("several namespaces", func(t *testing.T) {
		opts := cache.Options{DefaultNamespaces: map[string]cache.Config{"ns0": {}, "ns1": {}, "ns2": {}}}
		synctest.Test(t, func(t *testing.T) { compareInSilence(t, rnd, 2_000, opts) })
	})
}

func compareInSilence(t *testing.T, rnd *rand.Rand, writes int, opts cache.Options) {
	c := newCompared(t, compare.Options{Every: 20 * time.Second}, opts)
	defer func() { c.ended() }()
	index(t, c.cache)
	c.hold(&corev1.ConfigMap{})
	c.hold(&corev1.Pod{})
	ctx := context.Background()
	for range writes {
		ns, name := fmt.Sprint("ns", rnd.IntN(3)), fmt.Sprint("p", rnd.IntN(50))
		key := types.NamespacedName{Namespace: ns, Name: name}
		switch rnd.IntN(5) {
		case 0:
			_, _ = c.storage.Delete(apiserver.Pods.GroupResource(), key, nil) // it may be gone
		case 1:
			_, _ = c.storage.Create(configMap(ns, name, nil))
		default:
			p := pod(ns, name, fmt.Sprint("n", rnd.IntN(3)), map[string]string{"x": fmt.Sprint(rnd.IntN(3))})
			if _, err := c.storage.Create(p); err != nil {
				if _, err := c.storage.Update(p); err != nil {
					t.Fatal(err)
				}
			}
		}
		switch rnd.IntN(20) {
		case 0:
			_ = c.cache.Get(ctx, key, &corev1.Pod{})
		case 1:
			u := &unstructured.UnstructuredList{}
			u.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("PodList"))
			if err := c.cache.List(ctx, u, client.InNamespace(ns)); err != nil {
				t.Fatal(err)
			}
		case 2:
			if err := c.cache.List(ctx, &corev1.PodList{}, client.MatchingFields{"node": "n1"}, client.Limit(3)); err != nil {
				t.Fatal(err)
			}
		case 3:
			// Not of metadata: a watch of client-go's metadata client may leave a goroutine
			// behind when it ends (watch.Filter sends without a way out), and the bubble
			// waits for it.
			if err := c.cache.List(ctx, &corev1.PodList{}, client.MatchingLabels{"x": "1"}); err != nil {
				t.Fatal(err)
			}
		case 4: // otherwise much comes at once, and the caches are apart
			testbubble.Pass(time.Duration(rnd.IntN(int(time.Second))))
		}
	}
	testbubble.Pass(5 * time.Minute)
	for _, d := range c.reports() {
		t.Error(d)
	}
}

// faulty is a cache with a bug: it changes what is read.
type faulty struct {
	cache.Cache
	get  func(client.ObjectKey, client.Object, error) error
	list func(*corev1.PodList)
}

func (f *faulty) Get(ctx context.Context, key client.ObjectKey, out client.Object, opts ...client.GetOption) error {
	err := f.Cache.Get(ctx, key, out, opts...)
	if f.get != nil {
		return f.get(key, out, err)
	}
	return err
}

func (f *faulty) List(ctx context.Context, out client.ObjectList, opts ...client.ListOption) error {
	err := f.Cache.List(ctx, out, opts...)
	if pods, ok := out.(*corev1.PodList); ok && f.list != nil {
		f.list(pods)
	}
	return err
}

// noJSON panics when it is encoded, as methods do that do not expect nil.
type noJSON struct{ text *string }

func (n noJSON) MarshalJSON() ([]byte, error) { return []byte(*n.text), nil }

// TestAComparisonReportsABugOfTheShadow tries one bug at a time.
func TestAComparisonReportsABugOfTheShadow(t *testing.T) {
	for name, test := range map[string]struct {
		bug  func(t *testing.T, c *compared, shadow *faulty)
		want compare.What
		path string
		by   string
	}{
		"an object that was changed in its store": {
			bug: func(t *testing.T, c *compared, _ *faulty) {
				informer, err := c.cache.Shadow().GetInformer(t.Context(), &corev1.Pod{})
				if err != nil {
					t.Fatal(err)
				}
				var changed corev1.Pod
				if err := c.cache.Shadow().Get(t.Context(), keyed("ns0", "p1"), &changed); err != nil {
					t.Fatal(err)
				}
				changed.Labels["x"] = "a secret"
				if err := informer.(toolscache.SharedIndexInformer).GetStore().Update(&changed); err != nil {
					t.Fatal(err)
				}
			},
			want: compare.Changed, path: ".metadata.labels.x", by: "Get",
		},
		"an object that a read changes": {
			bug: func(t *testing.T, c *compared, shadow *faulty) {
				shadow.get = func(_ client.ObjectKey, out client.Object, err error) error {
					if p, ok := out.(*corev1.Pod); ok && err == nil {
						p.Spec.NodeName += "?"
					}
					return err
				}
				_ = c.cache.Get(t.Context(), keyed("ns0", "p1"), &corev1.Pod{})
			},
			want: compare.Changed, path: ".spec.nodeName", by: "Get",
		},
		"an integer that a float64 would round": {
			bug: func(t *testing.T, c *compared, shadow *faulty) {
				large := pod("ns0", "p1", "n1", nil)
				large.Spec.ActiveDeadlineSeconds = new(int64)
				*large.Spec.ActiveDeadlineSeconds = 1 << 60
				if _, err := c.storage.Update(large); err != nil {
					t.Fatal(err)
				}
				synctest.Wait()
				shadow.get = func(_ client.ObjectKey, out client.Object, err error) error {
					if p, ok := out.(*corev1.Pod); ok && err == nil {
						p = p.DeepCopy()
						*p.Spec.ActiveDeadlineSeconds++
						p.DeepCopyInto(out.(*corev1.Pod))
					}
					return err
				}
				_ = c.cache.Get(t.Context(), keyed("ns0", "p1"), &corev1.Pod{})
			},
			want: compare.Changed, path: ".spec.activeDeadlineSeconds", by: "Get",
		},
		"an object that has no JSON": {
			bug: func(t *testing.T, c *compared, shadow *faulty) {
				shadow.get = func(_ client.ObjectKey, out client.Object, err error) error {
					if p, ok := out.(*corev1.Pod); ok && err == nil {
						p.ManagedFields = []metav1.ManagedFieldsEntry{{FieldsV1: metav1.NewFieldsV1("{")}}
					}
					return err
				}
				_ = c.cache.Get(t.Context(), keyed("ns0", "p1"), &corev1.Pod{})
			},
			want: compare.NotCompared, by: "Get",
		},
		"an object whose methods panic": {
			bug: func(t *testing.T, c *compared, shadow *faulty) {
				shadow.get = func(_ client.ObjectKey, out client.Object, err error) error {
					if u, ok := out.(*unstructured.Unstructured); ok && err == nil {
						u.Object = maps.Clone(u.Object)
						u.Object["spec"] = noJSON{}
					}
					return err
				}
				u := &unstructured.Unstructured{}
				u.SetGroupVersionKind(podKind)
				_ = c.cache.Get(t.Context(), keyed("ns0", "p1"), u)
			},
			want: compare.NotCompared, by: "Get",
		},
		"an object that is not found": {
			bug: func(t *testing.T, c *compared, shadow *faulty) {
				shadow.get = func(key client.ObjectKey, out client.Object, err error) error {
					return shadow.Cache.Get(context.Background(), keyed("ns0", "none"), out)
				}
				_ = c.cache.Get(t.Context(), keyed("ns0", "p1"), &corev1.Pod{})
			},
			want: compare.Missing, by: "Get",
		},
		"an object that is still found": {
			bug: func(t *testing.T, c *compared, shadow *faulty) {
				shadow.get = func(key client.ObjectKey, out client.Object, err error) error {
					if key.Name != "none" {
						return err
					}
					pod(key.Namespace, key.Name, "", nil).DeepCopyInto(out.(*corev1.Pod))
					return nil
				}
				_ = c.cache.Get(t.Context(), keyed("ns0", "none"), &corev1.Pod{})
			},
			want: compare.Surplus, by: "Get",
		},
		"an old version": {
			bug: func(t *testing.T, c *compared, shadow *faulty) {
				var old corev1.Pod
				if err := shadow.Cache.Get(t.Context(), keyed("ns0", "p1"), &old); err != nil {
					t.Fatal(err)
				}
				shadow.get = func(key client.ObjectKey, out client.Object, err error) error {
					if p, ok := out.(*corev1.Pod); ok && key.Name == "p1" {
						old.DeepCopyInto(p)
					}
					return err
				}
				if _, err := c.storage.Update(pod("ns0", "p1", "n2", nil)); err != nil {
					t.Fatal(err)
				}
				synctest.Wait()
				_ = c.cache.Get(t.Context(), keyed("ns0", "p1"), &corev1.Pod{})
			},
			want: compare.Stale, by: "Get",
		},
		"an object that a selector leaves out": {
			bug: func(t *testing.T, c *compared, shadow *faulty) {
				shadow.list = func(l *corev1.PodList) { l.Items = l.Items[1:] }
				_ = c.cache.List(t.Context(), &corev1.PodList{}, client.InNamespace("ns0"), client.MatchingLabels{"x": "1"})
			},
			want: compare.Missing, by: `List in namespace "ns0", labels "x=1", fields ""`,
		},
		"an object that a selector does not leave out": {
			bug: func(t *testing.T, c *compared, shadow *faulty) {
				shadow.list = func(l *corev1.PodList) {
					l.Items = append(l.Items, *pod("ns1", "p9", "", nil))
				}
				_ = c.cache.List(t.Context(), &corev1.PodList{}, client.MatchingLabels{"x": "1"})
			},
			want: compare.Surplus, by: `List in namespace "", labels "x=1", fields ""`,
		},
		"an error": {
			bug: func(t *testing.T, c *compared, shadow *faulty) {
				shadow.get = func(client.ObjectKey, client.Object, error) error { return errors.New("out of order") }
				_ = c.cache.Get(t.Context(), keyed("ns0", "p1"), &corev1.Pod{})
			},
			want: compare.ShadowFailed, by: "Get",
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var shadow *faulty
				c := newCompared(t, compare.Options{
					Every: 10 * time.Second,
					Shadow: func(cfg *rest.Config, opts cache.Options) (cache.Cache, error) {
						made, err := ctrlruntime.NewCache(cfg, opts)
						shadow = &faulty{Cache: made}
						return shadow, err
					},
				}, cache.Options{})
				defer func() { c.ended() }()
				for i := range 3 {
					c.create(pod("ns0", fmt.Sprint("p", i), "n1", map[string]string{"x": "1"}))
				}
				c.hold(&corev1.Pod{})
				test.bug(t, c, shadow)
				testbubble.Pass(2 * time.Minute)
				all := c.reports()
				if len(all) == 0 {
					t.Fatal("nothing is reported")
				}
				d := all[0]
				if d.What != test.want || d.Path != test.path || d.Read != test.by || d.Kind != podKind {
					t.Errorf("%s\n%+v", d, d)
				}
				reported := map[compare.Difference]int{}
				for _, each := range all {
					each.Err = nil
					if reported[each]++; reported[each] > 1 {
						t.Errorf("it is reported again: %s", each)
					}
				}
				if strings.Contains(d.String(), "a secret") {
					t.Errorf("it has content of the object: %s", d)
				}
			})
		})
	}
}

// An object that only one of the caches holds is found without any read.
func TestAComparisonFindsWhatNobodyReads(t *testing.T) {
	selecting := func(cfg *rest.Config, opts cache.Options) (cache.Cache, error) {
		opts.DefaultLabelSelector = labels.SelectorFromSet(labels.Set{"x": "1"})
		return ctrlruntime.NewCache(cfg, opts)
	}
	for want, o := range map[compare.What]compare.Options{
		compare.Missing: {Shadow: selecting},
		compare.Surplus: {Primary: selecting, Shadow: cache.New},
	} {
		synctest.Test(t, func(t *testing.T) {
			o.Every = 10 * time.Second
			c := newCompared(t, o, cache.Options{})
			defer func() { c.ended() }()
			c.create(pod("ns0", "both", "n1", map[string]string{"x": "1"}), pod("ns1", "one", "n1", nil))
			c.hold(&corev1.Pod{})
			testbubble.Pass(2 * time.Minute)
			all := c.reports()
			if len(all) != 1 || all[0].What != want || all[0].Key != keyed("ns1", "one") {
				t.Errorf("%v", all)
			}
		})
	}
}

// What the program has removed is not read again: a read would make an informer of it.
func TestAComparisonLeavesARemovedInformerAlone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCompared(t, compare.Options{Every: 10 * time.Second}, cache.Options{})
		defer func() { c.ended() }()
		c.create(pod("ns0", "p", "n1", nil))
		for range 3 {
			if err := c.cache.Get(context.Background(), keyed("ns0", "p"), &corev1.Pod{}); err != nil {
				t.Fatal(err)
			}
		}
		if err := c.cache.RemoveInformer(context.Background(), &corev1.Pod{}); err != nil {
			t.Fatal(err)
		}
		c.asked()
		testbubble.Pass(time.Minute)
		if asked := c.asked(); len(asked) > 0 {
			t.Errorf("asked for %q", asked)
		}
	})
}

// The names under which a Secret keeps its data are nobody's business.
func TestADifferenceOfASecretNamesNoneOfItsKeys(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCompared(t, compare.Options{
			Every: 10 * time.Second,
			Shadow: func(cfg *rest.Config, opts cache.Options) (cache.Cache, error) {
				opts.DefaultTransform = func(obj any) (any, error) {
					obj.(*corev1.Secret).Data["hidden"] = []byte("hidden")
					return obj, nil
				}
				return ctrlruntime.NewCache(cfg, opts)
			},
		}, cache.Options{})
		defer func() { c.ended() }()
		c.storage.Define(apiserver.Resource{GroupVersionResource: corev1.SchemeGroupVersion.WithResource("secrets"), Kind: "Secret"})
		c.create(&corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "ns0", Name: "s"}, Data: map[string][]byte{"shown": []byte("shown")}})
		c.hold(&corev1.Secret{})
		err := c.cache.IndexField(t.Context(), &corev1.Secret{}, "token", func(obj client.Object) []string {
			return []string{string(obj.(*corev1.Secret).Data["shown"])}
		})
		if err != nil {
			t.Fatal(err)
		}
		if err := c.cache.List(t.Context(), &corev1.SecretList{}, client.MatchingFields{"token": "shown"}); err != nil {
			t.Fatal(err)
		}
		testbubble.Pass(time.Minute)
		by := map[string]int{}
		for _, d := range c.reports() {
			if d.What != compare.Changed || d.Path != ".data" || strings.Contains(d.String(), "shown") {
				t.Errorf("%v", d)
			}
			by[d.Read]++
		}
		if len(by) != 2 || by["Get"] != 1 || by[`List in namespace "", labels "", fields "token"`] != 1 {
			t.Errorf("reported by %v", by)
		}
	})
}

// TestOnDifferenceMayReadFromTheCache reads in it, and panics then.
func TestOnDifferenceMayReadFromTheCache(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		var c cache.Cache
		var told atomic.Int64
		o := compare.Options{
			Within: time.Second, Every: 10 * time.Second,
			Shadow: func(cfg *rest.Config, opts cache.Options) (cache.Cache, error) {
				opts.DefaultNamespaces = map[string]cache.Config{"another": {}}
				return ctrlruntime.NewCache(cfg, opts)
			},
			OnDifference: func(d compare.Difference) {
				told.Add(1)
				_ = c.Get(context.Background(), d.Key, &corev1.Pod{})
				if _, err := c.GetInformer(context.Background(), &corev1.Pod{}); err != nil {
					t.Error(err)
				}
				panic("a bug")
			},
		}
		made, ended := w.run(o.NewCache, cache.Options{})
		c = made
		defer ended()
		for i := range 3 {
			w.create(pod("ns0", fmt.Sprint("p", i), "n1", nil))
		}
		if err := c.List(context.Background(), &corev1.PodList{}); err != nil {
			t.Fatal(err)
		}
		testbubble.Pass(time.Minute)
		if n := told.Load(); n < 3 {
			t.Errorf("%d differences are told, of 3 objects", n)
		}
	})
}

// A cache that is wrong in every object does not flood a log.
func TestReportsAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCompared(t, compare.Options{
			Every: 10 * time.Second,
			Shadow: func(cfg *rest.Config, opts cache.Options) (cache.Cache, error) {
				opts.DefaultTransform = func(obj any) (any, error) {
					obj.(client.Object).SetLabels(map[string]string{"x": "another"})
					return obj, nil
				}
				return ctrlruntime.NewCache(cfg, opts)
			},
		}, cache.Options{})
		defer func() { c.ended() }()
		const pods = 500
		for i := range pods {
			c.create(pod("ns0", fmt.Sprint("p", i), "n1", map[string]string{"x": "1"}))
		}
		c.hold(&corev1.Pod{})
		testbubble.Pass(time.Minute)
		if n := len(c.reports()); n < 20 || n > 27 {
			t.Errorf("%d are reported in the first minute, want 20 at once and 6 a minute", n)
		}
	})
}

// The program does not notice its shadow: neither errors of the shadow, nor that the
// shadow cannot be made to work.
func TestAShadowThatFailsIsNotTheProgramsProblem(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCompared(t, compare.Options{
			Shadow: func(cfg *rest.Config, opts cache.Options) (cache.Cache, error) {
				forbidding := newWorld(t)
				forbidding.refuse = func(r *apiserver.Request) error {
					return apierrors.NewForbidden(r.Resource, "", errors.New("not yours"))
				}
				opts.HTTPClient = nil
				return ctrlruntime.NewCache(forbidding.server.Config(), opts)
			},
			Every: 30 * time.Second,
		}, cache.Options{})
		defer func() { c.ended() }()
		c.create(pod("ns0", "p", "n1", nil))
		index(t, c.cache)
		c.hold(&corev1.Pod{})
		var list corev1.PodList
		if err := c.cache.List(t.Context(), &list); err != nil || len(list.Items) != 1 {
			t.Errorf("%d, %v", len(list.Items), err)
		}
		if !c.cache.WaitForCacheSync(t.Context()) {
			t.Error("it waits for the shadow")
		}
		testbubble.Pass(5 * time.Minute)
		found := map[compare.What]bool{}
		for _, d := range c.reports() {
			found[d.What] = true
		}
		if len(found) != 1 || !found[compare.ShadowFailed] {
			t.Errorf("reported: %v", found)
		}
	})
}

func TestOptionsOfAComparisonAreChecked(t *testing.T) {
	for _, o := range []compare.Options{{Within: -1}, {Every: -1}} {
		if _, err := o.NewCache(nil, cache.Options{}); err == nil || !strings.Contains(err.Error(), "negative") {
			t.Errorf("%+v: %v", o, err)
		}
	}
}
