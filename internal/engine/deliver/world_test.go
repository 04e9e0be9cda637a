package deliver

import (
	"fmt"
	"iter"
	"maps"
	"math/rand/v2"
	"slices"
	"strconv"
	"sync"
	"testing"

	"github.com/kinglet-go/kinglet/store"
)

// object is one state of one incarnation of a key.
type object struct {
	key     store.Key
	life    int
	version int
}

func (o *object) String() string {
	return fmt.Sprintf("%s (life %d, version %d)", o.key, o.life, o.version)
}

func keyOf(o *object) (store.Key, error) { return o.key, nil }

func key(i int) store.Key { return store.Key{Namespace: "ns", Name: strconv.Itoa(i)} }

// frozen is a snapshot as a sorted slice: the naive twin of package store's.
type frozen struct {
	store.Reader[*object]
	objects []*object
}

func (f frozen) Len() int               { return len(f.objects) }
func (f frozen) All() iter.Seq[*object] { return slices.Values(f.objects) }
func (f frozen) Keys() iter.Seq[store.Key] {
	return func(yield func(store.Key) bool) {
		for _, o := range f.objects {
			if !yield(o.key) {
				return
			}
		}
	}
}

func (f frozen) Get(k store.Key) (*object, bool) {
	i, ok := slices.BinarySearchFunc(f.objects, k, func(o *object, k store.Key) int { return o.key.Compare(k) })
	if !ok {
		return nil, false
	}
	return f.objects[i], true
}

// world is the truth: what there is, everything that ever happened, and a hub
// that is told of it.
type world struct {
	hub *Hub[*object]

	// real, if not nil, is kept equal to objects, and has its snapshots taken
	// instead of copies of objects.
	real *store.Store[*object]

	mu      sync.Mutex
	objects map[store.Key]*object
	lives   map[store.Key]int
	version int
	// history is every change, in order.
	history []store.Change[*object]
	// unknown has the lives whose end was missed.
	unknown map[object]bool
	errs    []error
}

func newWorld(t testing.TB, opts Options[*object]) *world {
	t.Helper()
	w := &world{objects: map[store.Key]*object{}, lives: map[store.Key]int{}, unknown: map[object]bool{}}
	opts.KeyFunc, opts.Snapshot = keyOf, w.snapshot
	if opts.Report == nil {
		opts.Report = func(err error) {
			w.mu.Lock()
			defer w.mu.Unlock()
			w.errs = append(w.errs, err)
		}
	}
	w.hub = NewHub(opts)
	return w
}

// useStore lets w keep a real store.
func (w *world) useStore(t testing.TB) {
	t.Helper()
	var err error
	if w.real, err = store.New(store.Options[*object]{KeyFunc: keyOf}); err != nil {
		t.Fatal(err)
	}
}

func (w *world) snapshot() store.Reader[*object] {
	if w.real != nil {
		return w.real.Snapshot()
	}
	return w.copied()
}

func (w *world) copied() frozen {
	w.mu.Lock()
	defer w.mu.Unlock()
	return frozen{objects: slices.SortedFunc(maps.Values(w.objects), func(a, b *object) int { return a.key.Compare(b.key) })}
}

// get returns what there is under k.
func (w *world) get(k store.Key) (*object, bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	o, ok := w.objects[k]
	return o, ok
}

func (w *world) reported() []error {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Clone(w.errs)
}

// happen commits what step does. Each of step's calls to put and del is one
// change.
func (w *world) happen(step func()) {
	w.hub.Commit(func() ([]store.Change[*object], string) {
		w.mu.Lock()
		defer w.mu.Unlock()
		first := len(w.history)
		step()
		changes := slices.Clone(w.history[first:])
		w.write(changes)
		return changes, strconv.Itoa(w.version)
	})
}

// write keeps the real store equal.
func (w *world) write(changes []store.Change[*object]) {
	if w.real == nil {
		return
	}
	for _, c := range changes {
		if c.Type == store.Deleted {
			w.real.Delete(c.Key)
		} else if err := w.real.Put(c.New); err != nil {
			panic(err)
		}
	}
}

func (w *world) record(c store.Change[*object]) {
	c.ResourceVersion = strconv.Itoa(w.version)
	w.history = append(w.history, c)
}

// put creates or updates; a step of happen.
func (w *world) put(k store.Key, why store.Reason) {
	w.version++
	old := w.objects[k]
	if old == nil {
		w.lives[k]++
	}
	obj := &object{key: k, life: w.lives[k], version: w.version}
	w.objects[k] = obj
	if old == nil {
		w.record(store.Change[*object]{Type: store.Added, Key: k, New: obj, Reason: why})
	} else {
		w.record(store.Change[*object]{Type: store.Updated, Key: k, Old: old, New: obj, Reason: why})
	}
}

// del deletes what is there, of which the final state is another one, unless it is
// unknown; a step of happen.
func (w *world) del(k store.Key, why store.Reason, unknown bool) {
	old := w.objects[k]
	if old == nil {
		return
	}
	w.version++
	delete(w.objects, k)
	w.unknown[object{key: k, life: old.life}] = unknown
	final := old
	if !unknown {
		final = &object{key: k, life: old.life, version: w.version}
	}
	w.record(store.Change[*object]{Type: store.Deleted, Key: k, Old: final, Last: old, Reason: why, FinalStateUnknown: unknown})
}

// recreate replaces what is there by another object of the same name, both at
// one version, as when this happened out of sight; a step of happen.
func (w *world) recreate(k store.Key) {
	first := len(w.history)
	w.del(k, store.Relist, true)
	w.put(k, store.Relist)
	w.history[first].ResourceVersion = strconv.Itoa(w.version)
}

// relist changes many keys at one version; a step of happen.
func (w *world) relist(rng *rand.Rand, keys int) {
	first := len(w.history)
	for i := range keys {
		switch rng.IntN(4) {
		case 0:
			w.put(key(i), store.Relist)
		case 1:
			w.del(key(i), store.Relist, true)
		}
	}
	for i := range w.history[first:] {
		w.history[first+i].ResourceVersion = strconv.Itoa(w.version)
	}
}

// anything does something at random to one of so many keys.
func (w *world) anything(rng *rand.Rand, keys int) {
	k := key(rng.IntN(keys))
	w.happen(func() {
		switch rng.IntN(20) {
		case 0:
			w.relist(rng, keys)
		case 1:
			w.recreate(k)
		case 2, 3, 4:
			w.del(k, store.Live, false)
		case 5:
			for range 1 + rng.IntN(6) {
				w.put(key(rng.IntN(keys)), store.Live)
			}
		default:
			w.put(k, store.Live)
		}
	})
}
