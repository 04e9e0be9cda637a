package interop

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"

	"github.com/kinglet-go/kinglet"
	"github.com/kinglet-go/kinglet/internal/tests/testbubble"
	"github.com/kinglet-go/kinglet/internal/tests/testkit"
	"github.com/kinglet-go/kinglet/kinglettest/apiserver"
	"github.com/kinglet-go/kinglet/source"
	"github.com/kinglet-go/kinglet/store"
)

// roundTrips notes what a client asks for, and may change it.
type roundTrips struct {
	http.RoundTripper
	change func(*http.Request)
	mu     sync.Mutex
	lists  []*http.Request
}

func (r *roundTrips) RoundTrip(req *http.Request) (*http.Response, error) {
	req = req.Clone(req.Context())
	if r.change != nil {
		r.change(req)
	}
	r.mu.Lock()
	r.lists = append(r.lists, req)
	r.mu.Unlock()
	return r.RoundTripper.RoundTrip(req)
}

func asksForMetadata(r *http.Request) bool {
	return strings.Contains(r.Header.Get("Accept"), "as=PartialObjectMetadataList")
}

// listed returns what a source lists, by key, and the list's version.
func listed[T metav1.Object](src source.Source[T], req source.ListRequest[T]) (items map[kinglet.Key]source.Item[T], version string, err error) {
	items = map[kinglet.Key]source.Item[T]{}
	for {
		err = src.List(context.Background(), req, func(page source.Page[T]) error {
			for _, it := range page.Items {
				if _, twice := items[it.Key]; twice {
					return fmt.Errorf("%s is listed twice", it.Key)
				}
				items[it.Key] = it
			}
			if page.ResourceVersion != "" {
				version = page.ResourceVersion
			}
			req.Continue = page.Continue
			return nil
		})
		if err != nil || req.Continue == "" {
			return items, version, err
		}
		req.ResourceVersion, req.NotOlderThan, req.Exact = "", false, false
	}
}

// Whatever is chosen, held and changed meanwhile, a list of metadata with whole objects beside
// it is what a list of whole objects shows.
func TestAListOfMetadataAndWholeObjectsIsAListOfWholeObjects(t *testing.T) {
	t.Run("protobuf", func(t *testing.T) { listsAlike(t, fromConfig[*corev1.ConfigMap], true) })
	t.Run("JSON", func(t *testing.T) { listsAlike(t, openers()["JSON"], true) })
	t.Run("intercepted", func(t *testing.T) { listsAlike(t, openers()["intercepted"], true) })
	t.Run("closures", func(t *testing.T) { listsAlike(t, openers()["closures"], false) })
	t.Run("unstructured", func(t *testing.T) { listsAlike(t, ofConfigMaps(fromConfig[*unstructured.Unstructured]), true) })
	t.Run("unstructured, of any kind", func(t *testing.T) { listsAlike(t, fromConfig[*unstructured.Unstructured], true) })
	t.Run("unstructured, intercepted", func(t *testing.T) {
		listsAlike(t, ofConfigMaps(func(cfg *rest.Config, o source.Options) (source.Source[*unstructured.Unstructured], error) {
			cfg.Wrap(source.WrapTransport)
			o.Intercept = true
			r := dynamic.NewForConfigOrDie(cfg).Resource(configMapGVR)
			return source.FromListerWatcher[*unstructured.Unstructured](listWatch(r.List, r.Watch), o)
		}), true)
	})
	t.Run("metadata", func(t *testing.T) { listsAlike(t, fromConfig[*metav1.PartialObjectMetadata], false) })
}

func ofConfigMaps(open opener[*unstructured.Unstructured]) opener[*unstructured.Unstructured] {
	return func(cfg *rest.Config, o source.Options) (source.Source[*unstructured.Unstructured], error) {
		u := &unstructured.Unstructured{}
		u.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("ConfigMap"))
		o.Example = u
		return open(cfg, o)
	}
}

func listsAlike[T metav1.Object](t *testing.T, open opener[T], wire bool) {
	keeps := []string{"metadata", "metadata.annotations", "data"}
	if _, ok := any(*new(T)).(*metav1.PartialObjectMetadata); ok {
		keeps = keeps[:2]
	}
	for seed := range uint64(testkit.Trials(60)) {
		rnd := rand.New(rand.NewPCG(seed, 11))
		storage := apiserver.NewStorage(apiserver.ConfigMaps)
		change := func() {
			for range 1 + rnd.IntN(6) {
				c := configMap(fmt.Sprint("n", rnd.IntN(12)), fmt.Sprint(rnd.IntN(100)))
				c.Labels = map[string]string{"mine": []string{"yes", "no"}[rnd.IntN(2)], "app": []string{"a", "b", "c"}[rnd.IntN(3)]}
				c.Annotations = map[string]string{"a": "b"}
				if rnd.IntN(4) == 0 {
					_, _ = storage.Delete(corev1.Resource("configmaps"), types.NamespacedName{Namespace: "ns", Name: c.Name}, nil) // if there is one
				} else {
					must(storage.Put(c))
				}
			}
		}
		server := apiserver.New(storage, apiserver.Options{Inject: func(r *apiserver.Request) *apiserver.Fault {
			if strings.Contains(r.Options.LabelSelector, "mine") || r.Options.FieldSelector != "" {
				change() // between two requests of one list
			}
			return nil
		}})
		var trips []*roundTrips
		chosen := []labels.Selector{labels.Nothing(), labels.Everything(), labels.SelectorFromSet(labels.Set{"mine": "yes"})}[rnd.IntN(3)]
		var name string // which Hold might change
		byName := func(key store.Key, _ map[string]string, _ []metav1.OwnerReference) bool { return key.Name == name }
		var opts source.Options
		if rnd.IntN(2) == 0 {
			opts.Whole = byName
		}
		if rnd.IntN(2) == 0 {
			opts.Keep = []string{keeps[rnd.IntN(len(keeps))]}
		}
		if rnd.IntN(2) == 0 {
			opts.Drop = []string{source.DropManagedFields}
		}
		opts.LabelSelector = []string{"", " ", "app in (a,b)"}[rnd.IntN(3)]
		two := opts
		two.WholeLabels = chosen
		one := opts
		one.Whole = func(key store.Key, set map[string]string, owners []metav1.OwnerReference) bool {
			return chosen.Matches(labels.Set(set)) || opts.Whole != nil && opts.Whole(key, set, owners)
		}
		var sources []source.Source[T]
		for _, o := range []source.Options{two, one} {
			trip := &roundTrips{}
			cfg := server.Config()
			cfg.QPS = -1
			cfg.Wrap(func(rt http.RoundTripper) http.RoundTripper {
				trip.RoundTripper = rt
				return trip
			})
			sources, trips = append(sources, must(open(cfg, o))), append(trips, trip)
		}
		held := map[kinglet.Key]source.Item[T]{}
		for step := range 6 {
			failed := func(format string, args ...any) {
				t.Errorf("-seed %d, step %d, %v, %+v: %s", seed, step, chosen, opts, fmt.Sprintf(format, args...))
			}
			if before := storage.Revision(); rnd.IntN(3) == 0 {
				change()
				if err := storage.Restore(before); err != nil { // and what follows has the versions of what was lost
					failed("%v", err)
				}
			}
			change()
			name = fmt.Sprint("n", rnd.IntN(12))
			req := source.ListRequest[T]{ResourceVersion: "0", Limit: int64(rnd.IntN(2) * 4)}
			if step > 0 && rnd.IntN(2) == 0 {
				req.ResourceVersion = ""
			}
			if rnd.IntN(3) > 0 {
				req.Held = func(key kinglet.Key) (T, store.Memo, bool) {
					it, ok := held[key]
					return it.Object, it.Memo, ok
				}
			}
			got, version, err := listed(sources[0], req)
			if err != nil {
				failed("%v", err)
				break
			}
			want, _, err := listed(sources[1], source.ListRequest[T]{ResourceVersion: version, Exact: true})
			if err != nil {
				failed("the twin: %v", err)
				break
			}
			if len(got) != len(want) {
				failed("%d objects, want %d", len(got), len(want))
			}
			for key, it := range got {
				w := want[key]
				if it.Err != nil || w.Err != nil || it.UID != w.UID || it.ResourceVersion != w.ResourceVersion || !equality.Semantic.DeepEqual(it.Object, w.Object) {
					failed("%s is %+v (%v), want %+v (%v)", key, it.Object, it.Err, w.Object, w.Err)
				}
			}
			held = got
		}
		for _, r := range trips[0].lists {
			whole := !sources[0].Traits().NoWatchList || strings.Contains(r.URL.RawQuery, "resourceVersionMatch=Exact")
			if wire && asksForMetadata(r) == whole {
				t.Errorf("-seed %d, %+v: asked for %s with %q", seed, opts, r.URL, r.Header.Get("Accept"))
			}
		}
		server.Close()
		if t.Failed() {
			return
		}
	}
}

// A server that cannot do it is asked for whole objects instead.
func TestAServerThatCannotListMetadataIsAskedForWholeObjects(t *testing.T) {
	drop := func(param string) func(*http.Request) {
		return func(r *http.Request) {
			q := r.URL.Query()
			q.Del(param)
			r.URL.RawQuery = q.Encode()
		}
	}
	for name, c := range map[string]struct {
		change func(*http.Request)
		fails  int // lists
	}{
		"it has no other form":        {change: func(r *http.Request) { r.Header.Set("Accept", runtime.ContentTypeJSON) }},
		"it does not know Exact":      {change: drop("resourceVersionMatch"), fails: 1},
		"it does not know the labels": {change: drop("labelSelector")},
	} {
		t.Run(name, func(t *testing.T) {
			storage := apiserver.NewStorage(apiserver.ConfigMaps)
			server := apiserver.New(storage, apiserver.Options{Inject: func(r *apiserver.Request) *apiserver.Fault {
				if r.Options.ResourceVersion != "0" {
					must(storage.Put(configMap("later", fmt.Sprint(storage.Revision()))))
				}
				return nil
			}})
			t.Cleanup(server.Close)
			for _, name := range []string{"a", "b"} {
				must(storage.Create(configMap(name, name)))
			}
			cfg := server.Config()
			cfg.Wrap(func(rt http.RoundTripper) http.RoundTripper { return &roundTrips{RoundTripper: rt, change: c.change} })
			src := must(fromConfig[*corev1.ConfigMap](cfg, source.Options{WholeLabels: labels.SelectorFromSet(labels.Set{"data": "a"})}))
			if !src.Traits().NoWatchList {
				t.Error("initial events, which are whole, would be asked for")
			}
			for n := 0; ; n++ {
				got, _, err := listed(src, source.ListRequest[*corev1.ConfigMap]{ResourceVersion: "0"})
				if err != nil && n < c.fails {
					continue
				}
				var whole []string
				for key, it := range got {
					if !source.IsPartial(it.Object) {
						whole = append(whole, key.Name+" "+it.Object.Data["data"])
					}
				}
				if err != nil || n != c.fails || !slices.Equal(whole, []string{"a a"}) {
					t.Errorf("list %d: %v, whole are %v", n, err, whole)
				}
				return
			}
		})
	}
}

// A server that refuses the second request is asked for whole objects the next time, and
// for metadata again after that.
func TestAServerThatRefusesListsOfOneVersionIsAskedForWholeObjects(t *testing.T) {
	refusals := map[string]error{
		"expired":    apierrors.NewResourceExpired("not any more"),
		"invalid":    apierrors.NewBadRequest("no such option"),
		"forbidden":  apierrors.NewForbidden(corev1.Resource("configmaps"), "", errors.New("not you")),
		"overloaded": apierrors.NewTooManyRequests("later", 1),
		"broken":     apierrors.NewInternalError(errors.New("no")),
	}
	for name, refusal := range refusals {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				storage := apiserver.NewStorage(apiserver.ConfigMaps)
				must(storage.Create(configMap("a", "a")))
				refused := 0
				server := apiserver.New(storage, apiserver.Options{Inject: func(r *apiserver.Request) *apiserver.Fault {
					if r.Options.ResourceVersionMatch != metav1.ResourceVersionMatchExact {
						return nil
					}
					refused++
					return &apiserver.Fault{Answer: refusal}
				}})
				t.Cleanup(server.Close)
				src := must(fromConfig[*corev1.ConfigMap](server.Config(), source.Options{WholeLabels: labels.Everything()}))
				informer := must(kinglet.New(src, kinglet.Options[*corev1.ConfigMap]{}))
				ctx, stop := context.WithTimeout(t.Context(), time.Hour)
				defer stop()
				ended := make(chan error, 1)
				go func() { ended <- informer.Run(ctx) }()
				if err := informer.WaitSynced(ctx); err != nil {
					t.Fatal(err)
				}
				if a, _ := informer.Store().Get(mapKey("a")); dataOf(a) != "a" || refused == 0 {
					t.Errorf("the store has %v, after %d refusals", a, refused)
				}
				storage.Compact(storage.Revision())
				must(storage.Update(configMap("a", "b")))
				server.Disconnect()
				testbubble.Pass(time.Minute)
				if a, _ := informer.Store().Get(mapKey("a")); dataOf(a) != "b" {
					t.Errorf("later the store has %v", a)
				}
				stop()
				<-ended
			})
		})
	}
}

// However many objects are held, they are whole in the first list, with few requests.
func TestManyHeldObjectsTakeFewRequests(t *testing.T) {
	for held, most := range map[int]int64{10: 11, 200: 2} {
		synctest.Test(t, func(t *testing.T) {
			var names []string
			for i := range 300 {
				names = append(names, fmt.Sprint("n", i))
			}
			d := newDemand(t, fromConfig[*corev1.ConfigMap], kinglet.OnDemandOptions[*corev1.ConfigMap]{}, names...)
			for _, name := range names[:held] {
				d.Hold(mapKey(name))
			}
			lists := d.lists.Load()
			d.run()
			if n := len(d.wholeOnes()); n != held || d.lists.Load()-lists > most {
				t.Errorf("%d are whole after %d lists, want %d after %d", n, d.lists.Load()-lists, held, most)
			}
		})
	}
}

// A version that is gone by the time that whole objects are asked for is one that is gone,
// which a reflector knows how to go on from.
func TestAListOfWholeObjectsThatExpiresIsExpired(t *testing.T) {
	storage := apiserver.NewStorage(apiserver.ConfigMaps)
	server := apiserver.New(storage, apiserver.Options{Inject: func(r *apiserver.Request) *apiserver.Fault {
		if r.Options.LabelSelector != "" {
			must(storage.Put(configMap("b", "b")))
			storage.Compact(storage.Revision())
		}
		return nil
	}})
	t.Cleanup(server.Close)
	must(storage.Create(configMap("a", "a")))
	src := must(fromConfig[*corev1.ConfigMap](server.Config(), source.Options{WholeLabels: labels.SelectorFromSet(labels.Set{"data": "a"})}))
	if _, _, err := listed(src, source.ListRequest[*corev1.ConfigMap]{ResourceVersion: "0"}); !apierrors.IsResourceExpired(err) && !apierrors.IsGone(err) {
		t.Errorf("%v", err)
	}
	stop := errors.New("stop")
	if err := src.List(t.Context(), source.ListRequest[*corev1.ConfigMap]{ResourceVersion: "0"}, func(source.Page[*corev1.ConfigMap]) error { return stop }); err != stop {
		t.Errorf("the receiver's error came back as %v", err)
	}
}
