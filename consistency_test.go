package kinglet_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kinglet-go/kinglet"
	"github.com/kinglet-go/kinglet/kinglettest/apiserver"
	"github.com/kinglet-go/kinglet/source"
	"github.com/kinglet-go/kinglet/store"
)

type configMap = *corev1.ConfigMap

// checked is an informer of config maps over HTTP, in a bubble.
type checked struct {
	*testing.T
	storage  *apiserver.Storage
	server   *apiserver.Server
	informer *kinglet.Informer[configMap]

	mu    sync.Mutex
	errs  []error  // guarded by mu
	lines []string // guarded by mu; what the handler was told
}

// inChecked runs test in a bubble, with a server that has the given objects,
// named "namespace/name", and an informer that has synced.
func inChecked(t *testing.T, objects []string, server apiserver.Options, opts kinglet.Options[configMap], over func(source.Source[configMap]) source.Source[configMap], test func(*checked)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		c := &checked{T: t, storage: apiserver.NewStorage(apiserver.ConfigMaps)}
		for _, name := range objects {
			c.create(name)
		}
		c.server = apiserver.New(c.storage, server)
		defer c.server.Close()
		src, err := source.FromConfig[configMap](c.server.Config(), apiserver.ConfigMaps.GroupVersionResource, source.Options{})
		c.must(err)
		if over != nil {
			src = over(src)
		}
		opts.OnError = func(err error) {
			c.mu.Lock()
			defer c.mu.Unlock()
			c.errs = append(c.errs, err)
		}
		c.informer, err = kinglet.New(src, opts)
		c.must(err)
		_, err = c.informer.AddHandler(kinglet.HandlerFuncs[configMap]{
			OnAdd: func(_ context.Context, obj configMap, initial bool) {
				if !initial {
					c.told("add " + obj.Name)
				}
			},
			OnUpdate: func(_ context.Context, _, obj configMap) { c.told("update " + obj.Name) },
			OnDelete: func(_ context.Context, d kinglet.DeletedObject[configMap]) {
				c.told(fmt.Sprintf("delete %s, final state unknown %v", d.Key.Name, d.FinalStateUnknown))
			},
		}, kinglet.HandlerOptions{})
		c.must(err)
		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- c.informer.Run(ctx) }()
		defer func() {
			stop()
			if err := <-ended; err != nil {
				t.Error("Run returned", err)
			}
		}()
		c.must(c.informer.WaitSynced(ctx))
		synctest.Wait()
		test(c)
	})
}

func (c *checked) must(err error) {
	c.Helper()
	if err != nil {
		c.Fatal(err)
	}
}

func (c *checked) told(line string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.lines = append(c.lines, line)
}

// take returns what the handler was told and what was reported since the last
// take.
func (c *checked) take() (lines []string, errs []error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	lines, errs = c.lines, c.errs
	c.lines, c.errs = nil, nil
	return lines, errs
}

func parted(name string) (namespace, rest string) {
	namespace, rest, _ = strings.Cut(name, "/")
	return namespace, rest
}

func named(name string) kinglet.Key {
	namespace, rest := parted(name)
	return kinglet.Key{Namespace: namespace, Name: rest}
}

func (c *checked) create(name string) {
	c.Helper()
	namespace, rest := parted(name)
	_, err := c.storage.Create(&corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: rest}, Data: map[string]string{"n": "0"},
	})
	c.must(err)
}

func (c *checked) update(name string) {
	c.Helper()
	for _, obj := range c.has() {
		if obj.Namespace+"/"+obj.Name == name {
			obj = obj.DeepCopy()
			n, _ := strconv.Atoi(obj.Data["n"])
			obj.Data["n"] = strconv.Itoa(n + 1)
			_, err := c.storage.Update(obj)
			c.must(err)
		}
	}
}

func (c *checked) delete(name string) {
	c.Helper()
	namespace, rest := parted(name)
	_, err := c.storage.Delete(apiserver.ConfigMaps.GroupResource(), types.NamespacedName{Namespace: namespace, Name: rest}, nil)
	c.must(err)
}

// has is what the server has.
func (c *checked) has() (objs []configMap) {
	all, _ := c.storage.List(apiserver.ConfigMaps.GroupResource())
	for _, obj := range all {
		objs = append(objs, obj.(configMap))
	}
	return objs
}

// equal fails unless the store holds what the server does.
func (c *checked) equal() {
	c.Helper()
	want := map[kinglet.Key]string{}
	for _, obj := range c.has() {
		want[kinglet.Key{Namespace: obj.Namespace, Name: obj.Name}] = fmt.Sprint(obj.UID, obj.ResourceVersion, obj.Data)
	}
	for obj := range c.informer.Store().All() {
		key := kinglet.Key{Namespace: obj.Namespace, Name: obj.Name}
		if got := fmt.Sprint(obj.UID, obj.ResourceVersion, obj.Data); got != want[key] {
			c.Errorf("the store has %s as %s, the server as %q", key, got, want[key])
		}
		delete(want, key)
	}
	for key := range want {
		c.Errorf("the store lacks %s", key)
	}
}

func (c *checked) check() kinglet.ConsistencyReport {
	c.Helper()
	report, err := c.informer.CheckConsistency(c.Context())
	c.must(err)
	return report
}

// damages are what may be wrong with a store, done behind its informer's back.
var damages = map[kinglet.InconsistencyKind]func(c *checked, name string){
	kinglet.Missing: func(c *checked, name string) {
		c.must(c.informer.WritableStore().Write(store.Op[configMap]{Key: named(name), Delete: true}))
	},
	kinglet.Surplus: func(c *checked, name string) {
		obj, _ := c.informer.Store().Get(named(name))
		obj = obj.DeepCopy()
		obj.Name, obj.UID = obj.Name+"-ghost", "ghost"
		c.write(obj)
	},
	kinglet.OtherVersion: func(c *checked, name string) {
		obj, _ := c.informer.Store().Get(named(name))
		obj = obj.DeepCopy()
		obj.ResourceVersion = "7"
		c.write(obj)
	},
	kinglet.OtherObject: func(c *checked, name string) {
		obj, _ := c.informer.Store().Get(named(name))
		obj = obj.DeepCopy()
		obj.UID = "another"
		c.write(obj)
	},
	kinglet.OtherContent: func(c *checked, name string) {
		obj, _ := c.informer.Store().Get(named(name))
		obj = obj.DeepCopy()
		obj.Data = map[string]string{"n": "altered"}
		c.write(obj)
	},
}

// write puts an object into the store by hand.
func (c *checked) write(obj configMap) {
	c.Helper()
	c.must(c.informer.WritableStore().Write(store.Op[configMap]{
		Key: kinglet.Key{Namespace: obj.Namespace, Name: obj.Name}, Object: obj,
	}))
}

func TestEachKindOfDifferenceIsFoundReportedAndHealedByARelist(t *testing.T) {
	told := map[kinglet.InconsistencyKind][]string{
		kinglet.Missing:      {"add b"},
		kinglet.Surplus:      {"delete b-ghost, final state unknown true"},
		kinglet.OtherVersion: {"update b"},
		kinglet.OtherObject:  {"delete b, final state unknown true", "add b"},
		kinglet.OtherContent: {"update b"},
	}
	for kind, damage := range damages {
		t.Run(kind.String(), func(t *testing.T) {
			inChecked(t, []string{"ns/a", "ns/b", "ns/c"}, apiserver.Options{}, kinglet.Options[configMap]{}, nil, func(c *checked) {
				if r := c.check(); r.Differences != 0 || r.Compared != 3 || !r.Complete || r.Bytes == 0 {
					c.Fatalf("before: %+v", r)
				}
				damage(c, "ns/b")
				r := c.check()
				if r.Differences != 1 || len(r.Found) != 1 || r.Found[0].Kind != kind || !strings.HasPrefix(r.Found[0].Key.Name, "b") || !r.Relisting {
					c.Errorf("found %+v", r)
				}
				synctest.Wait()
				c.equal()
				lines, errs := c.take()
				if !slices.Equal(lines, told[kind]) {
					c.Errorf("the handler was told %q", lines)
				}
				var found *kinglet.InconsistentError
				if len(errs) != 1 || !errors.As(errs[0], &found) || len(found.Found) != 1 || found.Found[0] != r.Found[0] {
					c.Errorf("reported: %v", errs)
				}
				st := c.informer.Status()
				if s := st.Consistency; s.Checks != 2 || s.Differences != 1 || s.Relists != 1 || s.NotChecked != 0 || s.Sweeps != 2 {
					c.Errorf("status: %+v", s)
				}
				if st.Degraded || st.LastError != nil || st.Phase.String() != "Watching" {
					c.Errorf("after the relist: %+v", st)
				}
				if r := c.check(); r.Differences != 0 || r.Compared != 3 {
					c.Errorf("after: %+v", r)
				}
			})
		})
	}
}

func TestAnEventThatTheServerFalsifiedIsFoundAndHealed(t *testing.T) {
	script := apiserver.Script{{Match: apiserver.On("watch"), Times: -1, Fault: apiserver.Fault{
		Replace: func(obj runtime.Object) runtime.Object {
			cm := obj.(configMap).DeepCopy()
			if cm.Data["n"] == "1" {
				cm.Data["n"] = "falsified"
			}
			return cm
		},
	}}}
	inChecked(t, []string{"ns/a", "ns/b"}, apiserver.Options{Inject: script.Inject()}, kinglet.Options[configMap]{DisableWatchList: true}, nil, func(c *checked) {
		c.update("ns/b")
		synctest.Wait()
		r := c.check()
		if r.Differences != 1 || r.Found[0].Kind != kinglet.OtherContent || r.Found[0].Key != named("ns/b") {
			c.Errorf("found %+v", r)
		}
		synctest.Wait()
		c.equal()
		if lines, _ := c.take(); !slices.Equal(lines, []string{"update b", "update b"}) {
			c.Errorf("the handler was told %q", lines)
		}
	})
}

func TestWhatARelistDoesNotMendIsReportedAgainAndNotListedForAgain(t *testing.T) {
	lists := 0
	inject := func(r *apiserver.Request) *apiserver.Fault {
		if r.Verb != "list" || r.Options.ResourceVersionMatch == metav1.ResourceVersionMatchExact {
			return nil
		}
		lists++
		return &apiserver.Fault{Replace: func(obj runtime.Object) runtime.Object {
			cm := obj.(configMap).DeepCopy()
			cm.Data["n"] = "falsified"
			return cm
		}}
	}
	inChecked(t, []string{"ns/a"}, apiserver.Options{Inject: inject}, kinglet.Options[configMap]{DisableWatchList: true}, nil, func(c *checked) {
		for n := range 3 {
			if r := c.check(); r.Differences != 1 || r.Relisting != (n == 0) {
				c.Errorf("check %d: %+v", n, r)
			}
			synctest.Wait()
			pass(10 * time.Minute)
		}
		if lists != 2 {
			c.Errorf("%d lists", lists)
		}
		if _, errs := c.take(); len(errs) != 3 {
			c.Errorf("reported: %v", errs)
		}
	})
}

func TestReportOnlyListsNothingAgain(t *testing.T) {
	opts := kinglet.Options[configMap]{ConsistencyCheck: kinglet.ConsistencyCheck{ReportOnly: true}}
	inChecked(t, []string{"ns/a"}, apiserver.Options{}, opts, nil, func(c *checked) {
		damages[kinglet.Missing](c, "ns/a")
		if r := c.check(); r.Differences != 1 || r.Relisting {
			c.Errorf("%+v", r)
		}
		synctest.Wait()
		if n := c.informer.Store().Len(); n != 0 {
			c.Errorf("%d objects", n)
		}
	})
}

func TestWhatTheServerDoesNotServeAtExactlyOneVersionIsNotChecked(t *testing.T) {
	exact := func(r *apiserver.Request) bool {
		return r.Options.ResourceVersionMatch == metav1.ResourceVersionMatchExact
	}
	for name, c := range map[string]struct {
		fault apiserver.Fault
		is    func(error) bool
	}{
		"refused":   {apiserver.Fault{Answer: apierrors.NewBadRequest("resourceVersionMatch: Invalid value")}, apierrors.IsBadRequest},
		"compacted": {apiserver.Fault{Answer: apierrors.NewResourceExpired("too old")}, apierrors.IsResourceExpired},
		"forbidden": {apiserver.Fault{Answer: apierrors.NewForbidden(apiserver.ConfigMaps.GroupResource(), "", errors.New("no"))}, apierrors.IsForbidden},
		"cut off":   {apiserver.Fault{CutAfter: 50}, func(error) bool { return true }},
		"no answer": {apiserver.Fault{StallAfter: -1}, func(err error) bool { return errors.Is(err, context.DeadlineExceeded) }},
	} {
		t.Run(name, func(t *testing.T) {
			script := apiserver.Script{{Match: exact, Times: -1, Fault: c.fault}}
			inChecked(t, []string{"ns/a", "ns/b"}, apiserver.Options{Inject: script.Inject()}, kinglet.Options[configMap]{}, nil, func(w *checked) {
				damages[kinglet.Missing](w, "ns/a")
				began := time.Now()
				r, err := w.informer.CheckConsistency(w.Context())
				var not *kinglet.NotCheckedError
				if !errors.As(err, &not) || !c.is(err) || r.Differences != 0 || r.Compared != 0 {
					w.Errorf("%+v, %v", r, err)
				}
				if took := time.Since(began); took > time.Minute {
					w.Errorf("took %v", took)
				}
				if s := w.informer.Status().Consistency; s.NotChecked != 1 || s.LastNotChecked == nil || s.Differences != 0 || s.Relists != 0 {
					w.Errorf("%+v", s)
				}
				if _, errs := w.take(); len(errs) != 0 {
					w.Errorf("reported: %v", errs)
				}
			})
		})
	}
}

func TestNothingIsCheckedUnlessTheInformerIsWatching(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, kinglet.Options[pod]{}, newPod("a", "n1"))
		refused := func(when string) {
			t.Helper()
			if _, err := r.informer.CheckConsistency(t.Context()); !errors.Is(err, kinglet.ErrNotWatching) {
				t.Errorf("%s: %v", when, err)
			}
		}
		refused("before Run")
		r.src.FailLists(-1, errors.New("no"))
		r.src.RefuseWatchList(errors.New("no"))
		r.run()
		refused("without a list")
		r.src.FailLists(0, nil)
		pass(time.Minute)
		if report, err := r.informer.CheckConsistency(t.Context()); err != nil || report.Compared != 1 {
			t.Errorf("while watching: %+v, %v", report, err)
		}
		r.end()
		refused("after Run")
	})
}

// someObjects are in namespaces that a server has in another order than a
// store.
func someObjects(n int) []string {
	var names []string
	for i := range n {
		names = append(names, fmt.Sprintf("%s/o%02d", []string{"a", "a-b", "a-b.c", "b"}[i%4], i))
	}
	return names
}

func TestASweepGoesOnFromCheckToCheckAndComesRound(t *testing.T) {
	opts := kinglet.Options[configMap]{ConsistencyCheck: kinglet.ConsistencyCheck{Limit: 7}}
	inChecked(t, someObjects(40), apiserver.Options{}, opts, nil, func(c *checked) {
		for round := range 3 {
			compared := 0
			for page := 1; ; page++ {
				r := c.check()
				compared += r.Compared
				if r.Differences != 0 || r.Skipped != 0 || r.Complete != (page == 6) {
					c.Fatalf("round %d, page %d: %+v", round, page, r)
				}
				if r.Complete {
					break
				}
			}
			if compared != 40 {
				c.Errorf("round %d: %d objects", round, compared)
			}
		}
	})
}

func TestASweepGoesOnBehindACompactionAndFindsWhatIsThere(t *testing.T) {
	for kind, damage := range damages {
		t.Run(kind.String(), func(t *testing.T) {
			opts := kinglet.Options[configMap]{ConsistencyCheck: kinglet.ConsistencyCheck{Limit: 7}}
			inChecked(t, someObjects(40), apiserver.Options{}, opts, nil, func(c *checked) {
				c.check()
				c.check()
				c.update("b/o03")
				synctest.Wait()
				c.storage.Compact(c.storage.Revision())
				damage(c, "a/o24") // on the fourth page: a-b.c, a-b, a, b
				found := 0
				for range 4 {
					r := c.check()
					found += r.Differences
					synctest.Wait()
				}
				synctest.Wait()
				c.equal()
				if found != 1 {
					c.Errorf("%d differences", found)
				}
			})
		})
	}
}

func TestWhatIsMissingOnAPageThatIsTooOldToTellIsFoundOnceItIsNot(t *testing.T) {
	opts := kinglet.Options[configMap]{ConsistencyCheck: kinglet.ConsistencyCheck{Limit: 7}}
	inChecked(t, someObjects(40), apiserver.Options{}, opts, nil, func(c *checked) {
		c.check()
		c.delete("a-b/o01") // on the second page, as is what is missing
		synctest.Wait()
		damages[kinglet.Missing](c, "a-b/o05")
		for range 3 {
			if r := c.check(); r.Differences != 0 || r.Skipped != 2 || r.Complete {
				c.Errorf("a page of the past: %+v", r)
			}
		}
		c.storage.Compact(c.storage.Revision())
		r := c.check()
		if r.Differences != 1 || r.Found[0].Kind != kinglet.Missing || r.Found[0].Key != named("a-b/o05") {
			c.Errorf("found %+v", r)
		}
		synctest.Wait()
		c.equal()
	})
}

// Whatever is written meanwhile, compacted meanwhile, and broken meanwhile: no
// check finds a difference while there is none, and each that there is made is
// found within one sweep after things have come to rest.
func TestNoCheckUnderChurnFindsADifferenceUnlessThereIsOne(t *testing.T) {
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	checks, compared, skipped, sweeps, found := 0, 0, 0, 0, 0
	for n := range uint64(4) {
		rnd := rand.New(rand.NewPCG(seed, n))
		opts := kinglet.Options[configMap]{ConsistencyCheck: kinglet.ConsistencyCheck{
			Limit: 1 + rnd.Int64N(12), Every: time.Second,
		}}
		names := someObjects(60)
		plan := apiserver.Plan{Seed: seed + n, Rate: 30}
		var calm atomic.Bool
		inChecked(t, names[:30], apiserver.Options{BookmarkInterval: 2 * time.Second, Inject: func(r *apiserver.Request) *apiserver.Fault {
			if r.Number < 5 || calm.Load() {
				return nil
			}
			_, f := plan.Of(r)
			return &f
		}}, opts, nil, func(c *checked) {
			for range 150 {
				c.someWrites(rnd, names)
				switch rnd.IntN(8) {
				case 0:
					c.storage.Compact(c.storage.Revision() - rnd.Int64N(20))
				case 1:
					c.storage.Skip(rnd.Int64N(5))
				case 2:
					synctest.Wait()
				case 3:
					pass(time.Duration(rnd.Int64N(int64(3 * time.Second))))
				}
				r, err := c.informer.CheckConsistency(c.Context())
				if r.Differences != 0 {
					c.Errorf("machine %d: %+v, %v", n, r, err)
				}
			}
			calm.Store(true)
			pass(10 * time.Minute)
			s := c.informer.Status().Consistency
			if s.Differences != 0 {
				c.Errorf("%d differences in the background", s.Differences)
			}
			checks += int(s.Checks - s.NotChecked)
			compared += int(s.Compared)
			skipped += int(s.Skipped)
			sweeps += int(s.Sweeps)
			for kind := kinglet.Missing; kind <= kinglet.OtherContent; kind++ {
				objs := c.has()
				if len(objs) == 0 {
					continue
				}
				before := c.informer.Status().Consistency
				obj := objs[rnd.IntN(len(objs))]
				c.storage.Compact(c.storage.Revision())
				damages[kind](c, obj.Namespace+"/"+obj.Name)
				for s = before; s.Sweeps < before.Sweeps+2; s = c.informer.Status().Consistency {
					pass(time.Second)
				}
				synctest.Wait()
				c.equal()
				if s.Differences != before.Differences+1 {
					c.Errorf("machine %d, %v of %s/%s: %d differences were found", n, kind, obj.Namespace, obj.Name, s.Differences-before.Differences)
				}
				found++
			}
		})
	}
	t.Logf("%d checks, %d objects compared, %d skipped, %d sweeps, %d differences made", checks, compared, skipped, sweeps, found)
	if checks == 0 || compared == 0 || skipped == 0 || sweeps == 0 || found == 0 {
		t.Error("the random operations did not reach all that they should")
	}
}

func (c *checked) someWrites(rnd *rand.Rand, names []string) {
	exists := map[string]bool{}
	for _, obj := range c.has() {
		exists[obj.Namespace+"/"+obj.Name] = true
	}
	for range rnd.IntN(6) {
		name := names[rnd.IntN(len(names))]
		switch {
		case !exists[name]:
			c.create(name)
			exists[name] = true
		case rnd.IntN(3) == 0:
			c.delete(name)
			exists[name] = false
		default:
			c.update(name)
		}
	}
}

func TestChecksRunByThemselvesAtTheirTimeAndNotAtAllWhenOff(t *testing.T) {
	for _, every := range []time.Duration{0, time.Minute} {
		opts := kinglet.Options[configMap]{ConsistencyCheck: kinglet.ConsistencyCheck{Every: every}}
		inChecked(t, []string{"ns/a"}, apiserver.Options{}, opts, nil, func(c *checked) {
			pass(3 * time.Hour)
			n := c.informer.Status().Consistency.Checks
			if every == 0 && n != 0 || every > 0 && (n < 120 || n > 180) {
				c.Errorf("every %v: %d checks in three hours", every, n)
			}
		})
	}
}

func TestAfterATransformIdentityIsComparedAndContentIsNot(t *testing.T) {
	calls := 0
	over := func(src source.Source[configMap]) source.Source[configMap] {
		return source.Map(src, func(cm configMap) (configMap, error) {
			calls++
			cm.Data = map[string]string{"transformed": "yes"}
			return cm, nil
		})
	}
	inChecked(t, []string{"ns/a", "ns/b"}, apiserver.Options{}, kinglet.Options[configMap]{}, over, func(c *checked) {
		if r := c.check(); r.Differences != 0 || r.Compared != 2 || calls != 2 {
			c.Errorf("%+v, %d calls of the transform", r, calls)
		}
		damages[kinglet.OtherContent](c, "ns/a")
		if r := c.check(); r.Differences != 0 || r.Compared != 2 {
			c.Errorf("content: %+v", r)
		}
		damages[kinglet.OtherVersion](c, "ns/a")
		if r := c.check(); r.Differences != 1 || r.Found[0].Kind != kinglet.OtherVersion {
			c.Errorf("version: %+v", r)
		}
	})
}

func TestWhatIsQuarantinedOrAheadOfTheServerIsNoDifference(t *testing.T) {
	script := apiserver.Script{{Match: apiserver.On("watch"), Times: -1, Fault: apiserver.Fault{
		Damage: func(key types.NamespacedName) bool { return key.Name == "broken" },
	}}}
	inChecked(t, []string{"ns/a", "ns/broken"}, apiserver.Options{Inject: script.Inject()}, kinglet.Options[configMap]{DisableWatchList: true}, nil, func(c *checked) {
		c.update("ns/broken")
		ahead, _ := c.informer.Store().Get(named("ns/a"))
		ahead = ahead.DeepCopy()
		ahead.ResourceVersion = strconv.FormatInt(c.storage.Revision()+5, 10)
		c.write(ahead)
		synctest.Wait()
		if n := len(c.informer.Quarantined()); n != 1 {
			c.Fatalf("%d in quarantine", n)
		}
		if r := c.check(); r.Differences != 0 || r.Compared != 0 || r.Skipped != 2 {
			c.Errorf("%+v", r)
		}
		// What a hand writes may move the store's own version back.
		c.delete("ns/a")
		synctest.Wait()
		c.must(c.informer.WritableStore().Write(store.Op[configMap]{Key: named("ns/nobody"), Delete: true, ResourceVersion: "101"}))
		if r := c.check(); r.Differences != 0 || r.Skipped != 1 || r.ResourceVersion == "101" {
			c.Errorf("after a write by hand: %+v", r)
		}
	})
}
