package interop

import (
	"context"
	"errors"
	"fmt"
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
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"

	"github.com/kinglet-go/kinglet"
	"github.com/kinglet-go/kinglet/internal/tests/testbubble"
	"github.com/kinglet-go/kinglet/internal/tests/testkit"
	"github.com/kinglet-go/kinglet/kinglettest/apiserver"
	"github.com/kinglet-go/kinglet/source"
	"github.com/kinglet-go/kinglet/test/internal/history"
)

// Two informers on demand of three namespaces share a server and perhaps a Budget, while
// sources come and go, keys are held and released, and reads fail, take long or answer an
// earlier state. Once all is quiet, they hold what the server has, in the form that it is to
// have, and what fits is whole. The Budget counts that and nothing else.
func TestInformersOnDemandOfNamespacesThatComeAndGo(t *testing.T) {
	first := testkit.Seed(t)
	for seed := first; seed < first+uint64(testkit.Trials(60)); seed++ {
		synctest.Test(t, func(t *testing.T) {
			m := newDemandModel(t, seed)
			ctx, cancel := context.WithCancel(t.Context())
			var running sync.WaitGroup
			for _, i := range m.informers {
				running.Go(func() { _ = i.Run(ctx) })
			}
			for range 120 {
				m.step(ctx)
			}
			m.gets.Wait()
			m.calm.Store(true)
			m.server.Disconnect()
			testbubble.Pass(10 * time.Minute)
			synctest.Wait()
			m.check(ctx)
			cancel()
			running.Wait()
			if m.budget != nil {
				if used, _ := m.budget.Used(); used != 0 {
					t.Errorf("%d are used after the end", used)
				}
			}
		})
		if t.Failed() {
			t.Fatal("seed", seed)
		}
	}
}

const budgetLimit = 60_000

type demandModel struct {
	*testing.T
	rnd       *rand.Rand
	storage   *apiserver.Storage
	server    *apiserver.Server
	closures  bool
	budget    *kinglet.Budget // may be nil
	informers [2]*demandOfNamespaces
	gets      sync.WaitGroup

	// failing makes reads of one name fail, and calm makes the server do as it should.
	failing, calm atomic.Bool
	// refused is a namespace of which only single objects are read.
	refused atomic.Value
}

type demandOfNamespaces struct {
	*kinglet.OnDemand[*corev1.ConfigMap]
	held    source.Options
	follows map[string]bool // by namespace
	sources map[string]kinglet.ScopedSource[*corev1.ConfigMap]
	holds   map[kinglet.Key]bool
	told    *history.History
}

var threeNamespaces = []string{"a", "b", "c"}

func newDemandModel(t *testing.T, seed uint64) *demandModel {
	m := &demandModel{T: t, rnd: rand.New(rand.NewPCG(seed, 5)), storage: apiserver.NewStorage(apiserver.ConfigMaps)}
	var mu sync.Mutex
	faults := rand.New(rand.NewPCG(seed, 6)) // guarded by mu
	m.server = apiserver.New(m.storage, apiserver.Options{WithoutWatchList: m.rnd.IntN(2) == 0, Inject: func(r *apiserver.Request) *apiserver.Fault {
		mu.Lock()
		defer mu.Unlock()
		byName := r.Verb == "list" && strings.Contains(r.Options.FieldSelector, "metadata.name=")
		switch {
		case !byName && r.Namespace == m.refused.Load():
			return &apiserver.Fault{Answer: apierrors.NewForbidden(corev1.Resource("configmaps"), "", errors.New("not yet"))}
		case m.calm.Load():
		case byName && m.failing.Load():
			return &apiserver.Fault{Answer: apierrors.NewInternalError(errors.New("no reads now"))}
		case byName:
			return &apiserver.Fault{Delay: time.Duration(faults.IntN(500)) * time.Millisecond, Behind: int64(faults.IntN(3))}
		case faults.IntN(10) == 0:
			return &apiserver.Fault{CutAfter: 1 + faults.Int64N(20_000)}
		}
		return nil
	}})
	t.Cleanup(m.server.Close)
	m.closures = m.rnd.IntN(3) == 0
	if m.rnd.IntN(4) > 0 {
		m.budget = kinglet.NewBudget(budgetLimit)
	}
	for n := range m.informers {
		i := &demandOfNamespaces{told: history.New(fmt.Sprint("informer ", n)), holds: map[kinglet.Key]bool{},
			follows: map[string]bool{"a": true}, sources: map[string]kinglet.ScopedSource[*corev1.ConfigMap]{}}
		opts := kinglet.OnDemandOptions[*corev1.ConfigMap]{
			Budget: m.budget, Bytes: []int64{0, 1, 30_000}[m.rnd.IntN(3)],
			Whole: func(_ kinglet.Key, l map[string]string, _ []metav1.OwnerReference) bool { return l["whole"] != "no" },
		}
		opts.PageSize, opts.OnError = 2, func(error) {}
		i.OnDemand = must(kinglet.NewScopedOnDemand(opts, func(held source.Options) []kinglet.ScopedSource[*corev1.ConfigMap] {
			i.held = held
			for _, ns := range threeNamespaces {
				i.sources[ns] = m.open(ns, held)
			}
			return []kinglet.ScopedSource[*corev1.ConfigMap]{i.sources["a"]}
		}))
		must(i.AddHandler(history.Typed[*corev1.ConfigMap]{History: i.told}, kinglet.HandlerOptions{}))
		m.informers[n] = i
	}
	return m
}

func (m *demandModel) open(ns string, held source.Options) kinglet.ScopedSource[*corev1.ConfigMap] {
	one := func(o source.Options) source.Source[*corev1.ConfigMap] {
		cfg := m.server.Config()
		cfg.QPS = -1
		if m.closures {
			maps := kubernetes.NewForConfigOrDie(cfg).CoreV1().ConfigMaps(ns)
			return must(source.FromListerWatcher[*corev1.ConfigMap](listWatch(maps.List, maps.Watch), o))
		}
		o.Namespace = ns
		return must(source.FromConfig[*corev1.ConfigMap](cfg, configMapGVR, o))
	}
	return kinglet.ScopedSource[*corev1.ConfigMap]{Scope: kinglet.NamespaceScope(ns), Source: one(held), Whole: one(source.Options{})}
}

func (m *demandModel) step(ctx context.Context) {
	i := m.informers[m.rnd.IntN(2)]
	ns := threeNamespaces[m.rnd.IntN(3)]
	key := kinglet.Key{Namespace: ns, Name: fmt.Sprint("n", m.rnd.IntN(5))}
	switch m.rnd.IntN(12) {
	case 0, 1, 2, 3:
		cm := large(key.Name, m.rnd.IntN(15_000))
		cm.Namespace, cm.Labels = ns, map[string]string{"whole": []string{"yes", "yes", "no"}[m.rnd.IntN(3)]}
		cm.Data["once"] = fmt.Sprint(m.rnd.Uint64())
		must(m.storage.Put(cm))
	case 4:
		_, _ = m.storage.Delete(corev1.Resource("configmaps"), types.NamespacedName{Namespace: ns, Name: key.Name}, nil) // if there is one
	case 5:
		do := i.Release
		if i.holds[key] = m.rnd.IntN(2) == 0; i.holds[key] {
			do = i.Hold
		}
		do(key)
	case 6, 7:
		patience := time.Duration(m.rnd.IntN(2000)) * time.Millisecond
		m.gets.Go(func() {
			ctx, cancel := context.WithTimeout(ctx, patience)
			defer cancel()
			if obj, err := i.Get(ctx, key); err == nil && (source.IsPartial(obj) || history.KeyOf(obj) != key) {
				m.Errorf("Get %s: %v", key, obj)
			}
		})
	case 8:
		m.change(i, ns)
	case 9:
		if m.rnd.IntN(2) == 0 {
			m.storage.Compact(m.storage.Revision())
		}
		m.server.Disconnect()
	case 10:
		m.failing.Store(m.rnd.IntN(3) == 0)
	default:
		testbubble.Pass(time.Duration(m.rnd.IntN(3000)) * time.Millisecond)
	}
}

// change changes the sources of an informer.
func (m *demandModel) change(i *demandOfNamespaces, ns string) {
	switch m.rnd.IntN(3) {
	case 0:
		i.follows[ns] = i.AddSource(i.sources[ns]) == nil || i.follows[ns]
	case 1:
		_ = i.RemoveSource(ns) // if there is one
		delete(i.follows, ns)
	case 2:
		clear(i.follows)
		var all []kinglet.ScopedSource[*corev1.ConfigMap]
		for _, ns := range threeNamespaces {
			if m.rnd.IntN(2) == 0 {
				continue
			}
			if m.rnd.IntN(2) == 0 {
				i.sources[ns] = m.open(ns, i.held)
			}
			all = append(all, i.sources[ns])
			i.follows[ns] = true
		}
		if err := i.SetSources(all...); err != nil {
			m.Error(err)
		}
	}
}

// check compares the informers with the server, at rest.
func (m *demandModel) check(ctx context.Context) {
	state, _ := m.storage.List(corev1.Resource("configmaps"))
	room := int64(budgetLimit)
	for _, i := range m.informers {
		room -= i.Status().Budget.Whole
	}
	for n, i := range m.informers {
		objects, short := 0, 0
		for _, obj := range state {
			want := obj.(*corev1.ConfigMap)
			key := history.KeyOf(want)
			if !i.follows[key.Namespace] {
				continue
			}
			objects++
			held, ok := i.Store().Get(key)
			if !ok || held.ResourceVersion != want.ResourceVersion {
				m.Errorf("informer %d has %v of %s, the server version %s", n, held, key, want.ResourceVersion)
				continue
			}
			chosen := want.Labels["whole"] != "no"
			switch whole := !source.IsPartial(held); {
			case whole && held.Data["once"] != want.Data["once"]:
				m.Errorf("informer %d: %s has other data", n, key)
			case whole && !chosen && !i.holds[key], !whole && (i.holds[key] || chosen && m.budget == nil):
				m.Errorf("informer %d: %s, chosen %v, held %v, is whole: %v", n, key, chosen, i.holds[key], whole)
			case whole && !i.holds[key] && room < 0:
				m.Errorf("informer %d: %s is whole, and there is no room for it: %d", n, key, room)
			case !whole && chosen:
				short++
				// Metadata and what Go takes for maps are less than 2,000 bytes.
				if size := int64(len(want.Data["data"]) + 2_000); size < room {
					m.Errorf("informer %d: %s is metadata, and its %d bytes fit: there is room for %d", n, key, size, room)
				}
			}
			if got, err := i.Get(ctx, key); err != nil || source.IsPartial(got) || got.Data["once"] != want.Data["once"] {
				m.Errorf("informer %d: Get %s: %v, %v", n, key, got, err)
			}
		}
		if b := i.Status().Budget; i.Store().Len() != objects || m.budget != nil && b.Short != short {
			m.Errorf("informer %d has %d objects of %d, %d of them short; %+v", n, i.Store().Len(), objects, short, b)
		}
		if r, err := i.CheckConsistency(ctx); r.Differences > 0 {
			m.Errorf("informer %d: %+v, %v", n, r, err)
		}
		if wrong := i.told.Wrong(); len(wrong) > 0 {
			m.Error(wrong)
		}
	}
	synctest.Wait() // Get has read some
	if m.budget != nil {
		used, _ := m.budget.Used()
		for _, i := range m.informers {
			used -= i.Status().Budget.Whole + i.OnDemandStats().Bytes
		}
		if used != 0 {
			m.Errorf("%d are used beyond what is held", used)
		}
	}
}

// The store of an informer that has synced says nothing of a scope that has not been listed.
func TestGetReadsWhatIsInAScopeThatHasNotBeenListed(t *testing.T) {
	for how, add := range map[string]func(i *demandOfNamespaces) error{
		"AddSource":  func(i *demandOfNamespaces) error { return i.AddSource(i.sources["b"]) },
		"SetSources": func(i *demandOfNamespaces) error { return i.SetSources(i.sources["a"], i.sources["b"]) },
	} {
		t.Run(how, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				m := newDemandModel(t, 1)
				m.calm.Store(true)
				i := m.informers[0]
				ctx, cancel := context.WithCancel(t.Context())
				ended := make(chan error, 1)
				go func() { ended <- i.Run(ctx) }()
				cm := configMap("n", "1")
				cm.Namespace = "b"
				must(m.storage.Put(cm))
				synctest.Wait()
				m.refused.Store("b") // all but reads of one object
				if err := add(i); err != nil {
					t.Fatal(err)
				}
				synctest.Wait()
				for range 3 {
					if obj, err := i.Get(ctx, kinglet.Key{Namespace: "b", Name: "n"}); err != nil || dataOf(obj) != "1" {
						t.Errorf("%v, %v", obj, err)
					}
					if _, err := i.Get(ctx, kinglet.Key{Namespace: "b", Name: "none"}); !apierrors.IsNotFound(err) {
						t.Errorf("of none: %v", err)
					}
					testbubble.Pass(time.Minute)
				}
				cancel()
				<-ended
			})
		})
	}
}
