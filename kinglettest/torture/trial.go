package torture

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kinglet-go/kinglet/kinglettest/apiserver"
)

// Trial is one seed. The zero value of all but Seed is fit for use.
type Trial struct {
	Seed uint64
	// Faults is how long things go wrong; 3 minutes of the bubble's time if 0.
	Faults time.Duration
	// Settle is how long the informer then has; 15 minutes if 0, which is more
	// than the longest watch lasts (a connection that is half open ends then).
	Settle time.Duration
	// Only, if not nil, are the numbers of the requests that may have a fault.
	Only map[int]bool
}

// Result is what came of a Trial.
type Result struct {
	Seed uint64
	// Played are the faults, by the number of the request, and their names.
	Played map[int]string
	// Violations are the guarantees that were broken, each with what shows it.
	Violations []string
	// Quarantined is how many objects the informer knew, in the end, not to have
	// the latest version of, because that could not be decoded.
	Quarantined int
	// Events is how many calls handlers had.
	Events int
}

// keys is how many objects there can be at once: few, so that each is deleted
// and created again often.
const keys = 7

// Run runs an engine through the trial, in a bubble of its own.
func (tr Trial) Run(t *testing.T, e Engine) Result {
	t.Helper()
	if tr.Faults == 0 {
		tr.Faults = 3 * time.Minute
	}
	if tr.Settle == 0 {
		tr.Settle = 15 * time.Minute
	}
	res := Result{Seed: tr.Seed, Played: map[int]string{}}
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(tr, &res)
		defer w.close()
		if err := w.run(t.Context(), e); err != nil {
			t.Fatal(err)
		}
		res.Violations = w.check()
		res.Quarantined = w.quarantined
		for _, h := range w.handlers {
			told, _ := h.told()
			res.Events += len(told)
		}
	})
	return res
}

// world is everything of one trial.
type world struct {
	Trial
	rnd     *rand.Rand
	storage *apiserver.Storage
	server  *apiserver.Server
	replica *apiserver.Server

	inf      Informer
	handlers []*Recorder
	// seen is what a reader saw: what the store was at, in order.
	seen   []string
	broken []string
	// quarantined counts objects that were so in the end.
	quarantined int
}

func newWorld(tr Trial, res *Result) *world {
	w := &world{Trial: tr, rnd: rand.New(rand.NewPCG(tr.Seed, 1)), storage: apiserver.NewStorage(apiserver.ConfigMaps)}
	plan := &apiserver.Plan{Seed: tr.Seed, Only: tr.Only, Rate: 100 + w.rnd.IntN(500)}
	over := time.Now().Add(tr.Faults)
	var mu sync.Mutex
	number := 0
	inject := func(r *apiserver.Request) *apiserver.Fault {
		mu.Lock()
		defer mu.Unlock()
		// Both replicas count together.
		number++
		r.Number = number
		name, f := plan.Of(r)
		if name == "" || time.Now().After(over) {
			return nil
		}
		res.Played[number] = name
		return &f
	}
	w.replica = apiserver.New(w.storage, apiserver.Options{Inject: inject})
	opts := apiserver.Options{Inject: inject, WithoutWatchList: w.rnd.IntN(4) == 0}
	if w.rnd.IntN(2) == 0 {
		opts.Replicas = []*apiserver.Server{w.replica}
	}
	w.server = apiserver.New(w.storage, opts)
	return w
}

func (w *world) close() {
	w.server.Close()
	w.replica.Close()
}

// run writes and breaks things, and lets them settle.
func (w *world) run(ctx context.Context, e Engine) error {
	cfg := w.server.Config()
	cfg.ContentType = []string{runtime.ContentTypeJSON, runtime.ContentTypeProtobuf}[w.rnd.IntN(2)]
	inf, err := e.Start(cfg)
	if err != nil {
		return err
	}
	w.inf = inf
	for range w.rnd.IntN(keys) {
		w.write()
	}
	for _, slow := range []time.Duration{0, time.Second} {
		if err := w.addHandler(slow); err != nil {
			return err
		}
	}
	ctx, stop := context.WithCancel(ctx)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		inf.Run(ctx)
	}()
	defer func() {
		stop()
		<-ended
	}()
	for end := time.Now().Add(w.Faults); time.Now().Before(end); {
		time.Sleep(time.Duration(w.rnd.Int64N(int64(4 * time.Second))))
		if err := w.happen(); err != nil {
			return err
		}
		w.look()
	}
	w.server.Release()
	w.replica.Release()
	time.Sleep(w.Settle)
	// What only shows a while after: a last round of writes, delivered live.
	for range 5 {
		w.write()
		time.Sleep(time.Second)
	}
	time.Sleep(time.Minute)
	w.look()
	w.atRest()
	return nil
}

// happen does one random thing.
func (w *world) happen() error {
	switch n := w.rnd.IntN(100); {
	case n < 70:
		for range 1 + w.rnd.IntN(5) {
			w.write()
		}
	case n < 75:
		w.server.Disconnect()
	case n < 80:
		w.storage.Compact(w.storage.Revision() - w.rnd.Int64N(5))
	case n < 85:
		w.storage.Skip(1 + w.rnd.Int64N(50))
	case n < 90:
		w.replica.Hold()
	case n < 95:
		w.replica.Release()
	case len(w.handlers) < 5:
		return w.addHandler(time.Duration(w.rnd.Int64N(int64(3 * time.Second))))
	}
	return nil
}

// write makes one random write.
func (w *world) write() {
	name := fmt.Sprintf("object-%d", w.rnd.IntN(keys))
	gr := apiserver.ConfigMaps.GroupResource()
	obj := &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name, Labels: map[string]string{"name": name}},
		Data:       map[string]string{"value": fmt.Sprint(w.rnd.IntN(4)), "filler": fmt.Sprint(w.rnd.Uint64())},
	}
	key := types.NamespacedName{Namespace: "default", Name: name}
	switch w.rnd.IntN(4) {
	case 0:
		_, _ = w.storage.Delete(gr, key, nil) // it may not be there
		if w.rnd.IntN(2) == 0 {
			_, _ = w.storage.Create(obj)
		}
	default:
		if _, err := w.storage.Update(obj); err != nil {
			_, _ = w.storage.Create(obj)
		}
	}
}

func (w *world) addHandler(slow time.Duration) error {
	r := &Recorder{
		Name: fmt.Sprintf("handler %d", len(w.handlers)+1), slow: slow, inf: w.inf,
		rnd: rand.New(rand.NewPCG(w.Seed, 100+uint64(len(w.handlers)))),
	}
	w.handlers = append(w.handlers, r)
	synced, err := w.inf.AddHandler(r)
	r.mu.Lock()
	r.synced = synced
	r.mu.Unlock()
	return err
}

// look reads the store as a reader does.
func (w *world) look() {
	w.seen = append(w.seen, w.inf.ResourceVersion())
	if err := w.inf.Check(); err != nil {
		w.broken = append(w.broken, "3, consistent snapshots: "+err.Error())
	}
}

// history is the truth.
func (w *world) history() []apiserver.Change {
	return w.storage.History(schema.GroupResource{Resource: "configmaps"})
}
