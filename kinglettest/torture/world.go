package torture

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kinglet-go/kinglet/internal/tests/testbubble"
	"github.com/kinglet-go/kinglet/kinglettest/apiserver"
)

// world is the state of one trial.
type world struct {
	Trial
	plan    Plan
	engine  Engine
	storage *apiserver.Storage
	server  *apiserver.Server
	replica *apiserver.Server
	inf     Informer

	handlers []*Recorder
	// released is closed when stalled handlers may return.
	released chan struct{}
	prints   prints

	// backup is the revision of the last backup, or 0; past is the history at the
	// moment when it was restored.
	backup      int64
	past        []apiserver.Change
	restoration restoration // written under mu

	// looks are what readers saw.
	looks  looks
	broken []string
	// quarantined counts the objects in quarantine at the end.
	quarantined int

	mu sync.Mutex
	// number counts requests to both replicas, damaged the damaged objects that were
	// sent, by name; guarded by mu.
	number  int
	damaged map[string]int64
	// strangers counts objects of another kind that were sent; guarded by mu.
	strangers int64
	// over is set when faults end. Guarded by mu.
	over bool
}

func newWorld(e Engine, res *Result) *world {
	w := &world{
		Trial: res.Trial, plan: res.Plan, engine: e, storage: apiserver.NewStorage(apiserver.ConfigMaps),
		released: make(chan struct{}), prints: prints{was: map[Object]print{}}, damaged: map[string]int64{},
	}
	faults := &apiserver.Plan{Seed: w.Seed, Only: w.Faults, Rate: w.plan.Rate}
	inject := func(r *apiserver.Request) *apiserver.Fault { return w.inject(faults, r, res.Played) }
	if w.plan.Restarts {
		w.storage.Skip(leap) // so that versions tell before from after
	}
	w.replica = apiserver.New(w.storage, apiserver.Options{Inject: inject})
	opts := apiserver.Options{Inject: inject, WithoutWatchList: w.plan.WithoutWatchList}
	if w.plan.Replicas {
		opts.Replicas = []*apiserver.Server{w.replica}
	}
	w.server = apiserver.New(w.storage, opts)
	return w
}

// inject returns the fault of the answer to a request, or nil.
func (w *world) inject(plan *apiserver.Plan, r *apiserver.Request, played map[int]string) *apiserver.Fault {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.number++
	r.Number = w.number
	name, f := plan.Of(r)
	if name == "" || w.over {
		return nil
	}
	if r.Options.ResourceVersion == "" && !w.restoration.at.IsZero() {
		// A consistent read that lags looks like one of a restored backup, so there
		// is none after a restoration.
		f.Behind = 0
	}
	played[r.Number] = name
	if strange := f.Stranger; strange != nil {
		f.Stranger = func(obj runtime.Object) runtime.Object {
			w.mu.Lock()
			defer w.mu.Unlock()
			w.strangers++
			return strange(obj)
		}
	}
	if chosen := f.Damage; chosen != nil {
		f.Damage = func(key types.NamespacedName) bool {
			if !chosen(key) {
				return false
			}
			w.mu.Lock()
			defer w.mu.Unlock()
			w.damaged[key.Name]++
			return true
		}
	}
	return &f
}

func (w *world) close() {
	w.server.Close()
	w.replica.Close()
}

// run performs the steps, and gives the informer time to settle.
func (w *world) run(ctx context.Context) error {
	cfg := w.server.Config()
	cfg.ContentType = w.plan.ContentType
	inf, err := w.engine.Start(cfg)
	if err != nil {
		return err
	}
	w.inf = inf
	w.write(w.random(0), int64(w.plan.Before))
	for kind, slow := range []time.Duration{0, time.Second} {
		if err := w.addHandler(int64(kind), slow); err != nil {
			return err
		}
	}
	ctx, stop := context.WithCancel(ctx)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		inf.Run(ctx)
	}()
	defer w.stopped(stop, ended)
	if err := w.perform(); err != nil || w.plan.Early {
		return err
	}
	w.mu.Lock()
	w.over = true
	w.mu.Unlock()
	w.server.Release()
	w.replica.Release()
	close(w.released)
	if w.plan.Restarts {
		// Only an event shows a restart. It is sent once every backoff has ended, and is
		// followed by a list when the watch ends.
		testbubble.Pass(3 * time.Minute)
		w.write(w.random(-2), 3)
	}
	testbubble.Pass(settle)
	// Some damage shows only later: a last round of writes is delivered live.
	rnd := w.random(-1)
	for range 5 {
		w.write(rnd, 1)
		testbubble.Pass(time.Second)
	}
	testbubble.Pass(time.Minute)
	w.look()
	w.atRest()
	return nil
}

// stopped ends the informer, and checks that nothing happens after that.
func (w *world) stopped(stop context.CancelFunc, ended <-chan struct{}) {
	if w.plan.Early {
		close(w.released)
	}
	stop()
	began := time.Now()
	<-ended
	// A handler may take 4 seconds to return.
	if took := time.Since(began); took > 10*time.Second {
		w.violated("9, run owns everything: it took %v to return", took)
	}
	for _, h := range w.handlers {
		h.mu.Lock()
		if h.over = true; h.calling > 0 {
			w.violated("9, run owns everything: it returned while %s was being called", h.Name)
		}
		h.mu.Unlock()
	}
	testbubble.Pass(time.Minute)
	synctest.Wait()
	for _, h := range w.handlers {
		h.mu.Lock()
		if h.late > 0 {
			w.violated("9, run owns everything: %s was called %d times after it had returned", h.Name, h.late)
		}
		h.mu.Unlock()
	}
}

// perform performs the steps.
func (w *world) perform() error {
	for i, s := range w.plan.Steps {
		testbubble.Pass(s.After)
		if w.Steps != nil && !w.Steps[i+1] {
			continue
		}
		if err := w.step(i+1, s); err != nil {
			return err
		}
		if w.engine.Snapshots {
			w.glance() // in the midst of it
		}
		w.look()
	}
	return nil
}

// random returns the source of a step's random choices.
func (w *world) random(step int) *rand.Rand { return rand.New(rand.NewPCG(w.Seed, uint64(1000+step))) }

// step performs one step.
func (w *world) step(i int, s Step) error {
	switch s.Kind {
	case Write:
		w.write(w.random(i), s.N)
	case Disconnect:
		w.server.Disconnect()
	case Compact:
		to := w.storage.Revision() - s.N
		if w.backup > 0 && w.restoration.at.IsZero() {
			to = min(to, w.backup) // a backup can be restored
		}
		w.storage.Compact(to)
	case Skip:
		w.storage.Skip(s.N)
	case Hold:
		w.replica.Hold()
	case Release:
		w.replica.Release()
	case AddHandler:
		if len(w.handlers) < 5 {
			return w.addHandler(s.N, s.Slow)
		}
	case Backup:
		if w.backup == 0 {
			w.backup = w.storage.Revision()
			w.storage.Skip(leap)
		}
	case Restore:
		return w.restore()
	case Restart:
		w.restart()
	}
	return nil
}

// restore restores the backup, once, as an operator does: nothing is served meanwhile.
func (w *world) restore() error {
	if w.backup == 0 || !w.restoration.at.IsZero() {
		return nil
	}
	w.past = w.history()
	w.mu.Lock()
	w.restoration = restoration{backup: w.backup, at: time.Now()}
	w.mu.Unlock()
	if err := w.storage.Restore(w.backup); err != nil {
		return err
	}
	w.server.Disconnect()
	return nil
}

// restart empties the storage and starts its revisions again, once.
func (w *world) restart() {
	if !w.restoration.at.IsZero() {
		return
	}
	w.past = w.history()
	w.mu.Lock()
	w.restoration = restoration{at: time.Now()}
	w.mu.Unlock()
	w.storage.Restart()
	w.server.Disconnect()
	w.replica.Disconnect()
}

// write makes random writes.
func (w *world) write(rnd *rand.Rand, n int64) {
	for range n {
		w.writeOne(rnd)
	}
}

func (w *world) writeOne(rnd *rand.Rand) {
	name := fmt.Sprintf("object-%d", rnd.IntN(keys))
	gr := apiserver.ConfigMaps.GroupResource()
	obj := &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name, Labels: map[string]string{"name": name}},
		Data:       map[string]string{"value": fmt.Sprint(rnd.IntN(values)), "filler": fmt.Sprint(rnd.Uint64())},
	}
	key := types.NamespacedName{Namespace: "default", Name: name}
	switch rnd.IntN(4) {
	case 0:
		_, _ = w.storage.Delete(gr, key, nil) // it may not be there
		if rnd.IntN(2) == 0 {
			_, _ = w.storage.Create(obj)
		}
	default:
		if _, err := w.storage.Update(obj); err != nil {
			_, _ = w.storage.Create(obj)
		}
	}
}

// addHandler adds a handler; one kind in three asks for every version.
func (w *world) addHandler(kind int64, slow time.Duration) error {
	r := &Recorder{
		Name: fmt.Sprintf("handler %d", len(w.handlers)+1), slow: slow, every: kind == 2, world: w,
		rnd: rand.New(rand.NewPCG(w.Seed, 100+uint64(len(w.handlers)))), knows: map[string]version{},
	}
	w.handlers = append(w.handlers, r)
	reg, err := w.inf.AddHandler(r)
	r.registered(reg)
	return err
}

// history returns what led to the present state of the storage.
func (w *world) history() []apiserver.Change {
	return w.storage.History(apiserver.ConfigMaps.GroupResource())
}
