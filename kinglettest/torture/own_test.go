package torture_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strconv"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kinglet-go/kinglet"
	"github.com/kinglet-go/kinglet/internal/tests/testbubble"
	"github.com/kinglet-go/kinglet/internal/tests/testkit"
	"github.com/kinglet-go/kinglet/kinglettest/apiserver"
	"github.com/kinglet-go/kinglet/source"
)

// The trials of reads that include a program's own writes. Workers write config
// maps by all verbs and tell the informer of what the server answered, at once or
// late and in any order, while others write as well and the watch is 5 s behind.
// Readers hold every read against what really was (owntruth_test.go).

const (
	ownLag     = 5 * time.Second
	ownKeys    = 12
	ownWorkers = 8
	// ownLeap keeps versions from before and after a restored backup apart.
	ownLeap = 1 << 20
)

type configMap = *corev1.ConfigMap

// ownTrial is one trial.
type ownTrial struct {
	seed   uint64
	writes int // of all workers
	// selects: the informer has a label selector, which objects enter and leave.
	selects bool
	// scoped: the informer has a source for each of three namespaces, and another one
	// that comes and goes.
	scoped bool
}

// ownScopes are the namespaces of a scoped trial.
var ownScopes = []string{"ns-0", "ns-1", "ns-2"}

// idleScope is a namespace without objects. Its version is ahead of the others', since
// it is listed each time that it comes.
const idleScope = "idle"

// key is the key of a name.
func (tr ownTrial) key(name string) kinglet.Key {
	return kinglet.Key{Namespace: tr.namespace(name), Name: name}
}

func (tr ownTrial) namespace(name string) string {
	if tr.scoped {
		return ownScopes[int(name[len(name)-1])%len(ownScopes)]
	}
	return "default"
}

// scope is the ID of the scope of a name.
func (tr ownTrial) scope(name string) string {
	if tr.scoped {
		return tr.namespace(name)
	}
	return ""
}

// ownWorld is what a trial works on.
type ownWorld struct {
	ownTrial
	t       *testing.T
	storage *apiserver.Storage
	server  *apiserver.Server
	inf     *kinglet.Informer[configMap]
	truth   ownTruth

	mu     sync.Mutex
	errs   []error // reported; guarded by mu
	late   sync.WaitGroup
	revs   []seenAt // what the watch is to come to; guarded by mu
	echoes int      // guarded by mu
	// expired is how many writes were not confirmed in time while the storage was
	// restored.
	expired uint64
}

// seenAt is what the storage's revision was at some time.
type seenAt struct {
	at       time.Time
	revision int64
}

func newOwnWorld(t *testing.T, tr ownTrial) *ownWorld {
	w := &ownWorld{ownTrial: tr, t: t, storage: apiserver.NewStorage(apiserver.ConfigMaps)}
	w.truth.init(tr.selects)
	w.server = apiserver.New(w.storage, apiserver.Options{})
	opts := kinglet.Options[configMap]{
		OnError: w.report,
		Indexers: map[string]kinglet.IndexFunc[configMap]{
			"value": func(o configMap) ([]string, error) { return []string{o.Data["value"]}, nil },
		},
	}
	var err error
	if tr.scoped {
		var sources []kinglet.ScopedSource[configMap]
		for _, ns := range append([]string{idleScope}, ownScopes...) {
			sources = append(sources, w.scopedSource(ns))
		}
		w.inf, err = kinglet.NewScoped(opts, sources...)
	} else {
		w.inf, err = kinglet.New(w.source(""), opts)
	}
	if err != nil {
		t.Fatal(err)
	}
	return w
}

// source is what the informer lists and watches of a namespace, or of all.
func (w *ownWorld) source(namespace string) source.Source[configMap] {
	opts := source.Options{Namespace: namespace}
	if w.selects {
		opts.LabelSelector = "in=yes"
	}
	src, err := source.FromConfig[configMap](w.server.Config(), corev1.SchemeGroupVersion.WithResource("configmaps"), opts)
	if err != nil {
		w.t.Fatal(err)
	}
	return src
}

func (w *ownWorld) scopedSource(namespace string) kinglet.ScopedSource[configMap] {
	return kinglet.ScopedSource[configMap]{Scope: kinglet.NamespaceScope(namespace), Source: w.source(namespace)}
}

// comeAndGo has the scope without objects leave and come again.
func (w *ownWorld) comeAndGo() {
	if err := w.inf.RemoveSource(idleScope); err != nil {
		w.truth.violated("the scope cannot leave: %v", err)
	}
	if err := w.inf.AddSource(w.scopedSource(idleScope)); err != nil {
		w.truth.violated("the scope cannot come: %v", err)
	}
}

// version is what the store is at for a name.
func (w *ownWorld) version(name string) string { return w.inf.Store().ResourceVersion(w.scope(name)) }

func (w *ownWorld) report(err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.errs = append(w.errs, err)
}

// lag has the server's watches learn of each revision 5 s late, until ctx ends.
func (w *ownWorld) lag(ctx context.Context) {
	w.server.Hold()
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
		w.mu.Lock()
		w.revs = append(w.revs, seenAt{time.Now(), w.storage.Revision()})
		due := int64(0)
		for len(w.revs) > 0 && time.Since(w.revs[0].at) >= ownLag {
			due, w.revs = w.revs[0].revision, w.revs[1:]
		}
		if n := due - w.server.Advance(0); n > 0 {
			w.server.Advance(n)
		}
		w.mu.Unlock()
	}
}

// run runs the trial and returns what was wrong.
func (tr ownTrial) run(t *testing.T) (wrong []string) {
	synctest.Test(t, func(t *testing.T) {
		w := newOwnWorld(t, tr)
		defer w.server.Close()
		ctx, stop := context.WithCancel(t.Context())
		var running sync.WaitGroup
		running.Go(func() {
			if err := w.inf.Run(ctx); err != nil {
				t.Error(err)
			}
		})
		running.Go(func() { w.lag(ctx) })
		w.addHandlers()
		if err := w.inf.WaitSynced(ctx); err != nil {
			t.Fatal(err)
		}
		w.round(1, tr.writes/2, true)
		w.restore(ctx)
		w.round(2, tr.writes/2, false)
		// The last bookmark may be a minute away, and 5 s late.
		testbubble.Pass(2*time.Minute + ownLag)
		w.settled()
		stop()
		running.Wait()
		wrong = w.truth.wrong
	})
	return wrong
}

// round has the workers write, with readers and faults beside them.
func (w *ownWorld) round(n uint64, writes int, faults bool) {
	var workers, beside sync.WaitGroup
	over := make(chan struct{})
	for i := range ownWorkers {
		rnd := rand.New(rand.NewPCG(w.seed, n<<8|uint64(i)))
		workers.Go(func() {
			for range writes / ownWorkers {
				testbubble.Pass(time.Duration(rnd.Int64N(int64(300 * time.Millisecond))))
				w.write(rnd)
			}
		})
	}
	for i := range 3 {
		rnd := rand.New(rand.NewPCG(w.seed, n<<8|uint64(100+i)))
		beside.Go(func() {
			for w.goesOn(over, time.Duration(rnd.Int64N(int64(30*time.Millisecond)))) {
				w.look()
			}
		})
	}
	if faults {
		rnd := rand.New(rand.NewPCG(w.seed, n<<8|200))
		beside.Go(func() {
			for w.goesOn(over, time.Duration(rnd.Int64N(int64(20*time.Second)))) {
				if w.scoped && rnd.IntN(2) == 0 {
					w.comeAndGo()
					continue
				}
				switch rnd.IntN(3) {
				case 0: // watched again
				case 1: // 410: listed again
					w.storage.Compact(w.storage.Revision())
				case 2:
					w.storage.Skip(rnd.Int64N(20)) // writes to other resources
				}
				w.server.Disconnect()
			}
		})
	}
	workers.Wait()
	w.late.Wait()
	close(over)
	beside.Wait()
}

// goesOn waits, and reports whether the round goes on.
func (w *ownWorld) goesOn(over <-chan struct{}, wait time.Duration) bool {
	select {
	case <-over:
		return false
	case <-time.After(wait):
		return true
	}
}

// write makes one write, and tells the informer if it was its own.
func (w *ownWorld) write(rnd *rand.Rand) {
	name := fmt.Sprintf("object-%d", rnd.IntN(ownKeys))
	own := rnd.IntN(3) > 0
	known, _ := w.inf.Store().Get(w.key(name))
	ch := w.truth.write(w.storage, name, func() (runtime.Object, bool) { return w.verb(rnd, name, known) })
	if ch == nil || !own {
		return
	}
	if rnd.IntN(4) > 0 {
		w.tell(ch)
		return
	}
	late := time.Duration(rnd.Int64N(int64(2 * ownLag)))
	w.late.Go(func() {
		testbubble.Pass(late)
		w.tell(ch)
	})
}

// verb makes a write of a random kind. It returns what the server answered, nil
// if it refused, and whether the object has been deleted.
func (w *ownWorld) verb(rnd *rand.Rand, name string, known configMap) (answer runtime.Object, deleted bool) {
	key := types.NamespacedName{Namespace: w.namespace(name), Name: name}
	gr := apiserver.ConfigMaps.GroupResource()
	obj := &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Namespace: key.Namespace, Name: name, Labels: map[string]string{"in": "yes"}},
		Data:       map[string]string{"value": strconv.Itoa(rnd.IntN(4)), "filler": strconv.FormatUint(rnd.Uint64(), 36)},
	}
	if w.selects && rnd.IntN(4) == 0 {
		obj.Labels["in"] = "no"
	}
	if rnd.IntN(6) == 0 {
		obj.Finalizers = []string{"example.com/f"}
	}
	var err error
	switch n := rnd.IntN(10); {
	case n < 3: // a create
		answer, err = w.storage.Create(obj)
	case n < 5: // a patch, or an apply
		answer, err = w.storage.Update(obj)
	case n < 8 && known != nil: // an update of what was read
		next := known.DeepCopy()
		next.Data, next.Labels, next.Finalizers = obj.Data, obj.Labels, obj.Finalizers
		answer, err = w.storage.Update(next)
	case n < 9 && known != nil: // a delete of what was read
		answer, err = w.storage.Delete(gr, key, &metav1.Preconditions{UID: &known.UID})
		deleted = true
	default:
		answer, err = w.storage.Delete(gr, key, nil)
		deleted = true
	}
	if err != nil {
		return nil, false
	}
	return answer, deleted
}

// tell tells the informer of a write.
func (w *ownWorld) tell(ch *ownWrite) {
	w.truth.telling(ch, w.shown(ch.name))
	version := w.version(ch.name)
	var err error
	if ch.deleted {
		err = w.inf.WroteDelete(w.key(ch.name), ch.uid)
	} else {
		err = w.inf.Wrote(ch.obj)
	}
	if err != nil {
		w.truth.violated("telling of %v: %v", ch, err)
	}
	w.truth.told(ch, w.version(ch.name) == version)
	w.get(ch.name)
}

// shown is the UID that a read shows of a name.
func (w *ownWorld) shown(name string) types.UID {
	if obj, ok := w.inf.Store().Get(w.key(name)); ok {
		return obj.UID
	}
	return ""
}

// get reads one object, and holds it against the truth.
func (w *ownWorld) get(name string) {
	began := time.Now()
	least := w.truth.floor(name, number(w.version(name)))
	obj, ok := w.inf.Store().Get(w.key(name))
	if took := time.Since(began); took > 0 {
		w.truth.violated("a read waited for %v", took)
	}
	w.truth.check("get", name, obj, ok, least, -1)
}

// addHandlers adds one handler that is told of every version, and one whose
// changes fold.
func (w *ownWorld) addHandlers() {
	for _, opts := range []kinglet.HandlerOptions{{EveryVersion: true, Bound: 1 << 20}, {}} {
		reg, err := w.inf.AddHandler(kinglet.HandlerFunc[configMap](func(_ context.Context, changes []kinglet.Change[configMap]) {
			for i := range changes {
				w.changed(&changes[i], opts.EveryVersion)
			}
			if !opts.EveryVersion {
				testbubble.Pass(2 * time.Second) // so that changes fold
			}
		}), opts)
		if err != nil || reg == nil {
			w.t.Fatal(err)
		}
	}
}

// changed takes what a handler was told.
func (w *ownWorld) changed(c *kinglet.Change[configMap], every bool) {
	w.truth.change(c, every)
	if c.OwnEcho {
		w.mu.Lock()
		w.echoes++
		w.mu.Unlock()
	}
	if at := w.version(c.Key.Name); number(c.ResourceVersion) > number(at) {
		w.truth.violated("a handler was told of version %s, and the store is at %s", c.ResourceVersion, at)
	}
}

func number(rv string) int64 {
	n, err := strconv.ParseInt(rv, 10, 64)
	if err != nil {
		return 0
	}
	return n
}

func TestNoReadIsOlderThanTheProgramsOwnWrites(t *testing.T) {
	for i := range 4 {
		selects, scoped := i%2 == 1, i >= 2
		t.Run(fmt.Sprintf("selects=%v,scoped=%v", selects, scoped), func(t *testing.T) {
			tr := ownTrial{seed: firstSeed() + uint64(i), writes: max(2_500, testkit.Trials(10_000)), selects: selects, scoped: scoped}
			for _, wrong := range tr.run(t) {
				t.Errorf("seed %d: %s", tr.seed, wrong)
			}
		})
	}
	t.Run("many seeds", func(t *testing.T) {
		for seed := firstSeed() + 10; seed < firstSeed()+10+uint64(max(10, testkit.Trials(30))); seed++ {
			tr := ownTrial{seed: seed, writes: 300, selects: seed%2 == 0, scoped: seed%4 < 2}
			for _, wrong := range tr.run(t) {
				t.Errorf("seed %d: %s", tr.seed, wrong)
			}
		}
	})
}
