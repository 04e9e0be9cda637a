package mutation

import (
	"context"
	"fmt"
	"math/rand/v2"
	"reflect"
	"sync"
	"sync/atomic"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kinglet-go/kinglet/store"
)

const (
	// maxErrors is how many errors end a check. The next check finds the rest.
	maxErrors = 64
	// maxPlaces is how many places are remembered, so that none is reported
	// twice. Each keeps its memory alive.
	maxPlaces = 256
	// slack is how many more old versions than objects full mode keeps before the
	// writer helps to check them, if there are few objects.
	slack = 4096
)

// Detector watches the objects of one store. Make one with New. A nil Detector
// does nothing. Its methods are safe for concurrent use.
type Detector[T any] struct {
	opts Options[T]

	// checking is held during a comparison.
	checking sync.Mutex
	rand     *rand.Rand         // guarded by checking
	differ   differ             // guarded by checking
	places   map[place]struct{} // guarded by checking
	oldest   []place            // guarded by checking: those of places, oldest first

	mu     sync.Mutex
	roster roster[T] // guarded by mu
	sample sample[T] // guarded by mu

	// spent is what this interval has cost so far.
	spent atomic.Int64
	stats counters
}

// Stats counts what a detector has done since it was made.
type Stats struct {
	// Copied and Compared count objects; Searched counts those that were searched
	// for sharers.
	Copied, Compared, Searched uint64
	// Found counts the writes that were reported.
	Found uint64
	// Watched is how many objects are watched now.
	Watched int
}

type counters struct{ copied, compared, searched, found atomic.Uint64 }

// New returns a detector. It starts nothing; see Run. The error lists everything that
// is wrong with opts.
func New[T any](opts Options[T]) (*Detector[T], error) {
	if err := opts.validate(); err != nil {
		return nil, fmt.Errorf("mutation detector: %w", err)
	}
	switch {
	case opts.Interval != 0:
	case opts.All:
		opts.Interval = DefaultInterval
	default:
		opts.Interval = DefaultSampleInterval
	}
	if opts.Clock == nil {
		opts.Clock = time.Now
	}
	if opts.Seed == 0 {
		opts.Seed = rand.Uint64()
	}
	d := &Detector[T]{opts: opts, places: map[place]struct{}{}, rand: rand.New(rand.NewPCG(opts.Seed, 1))}
	d.sample.max, d.sample.rand = opts.Sample, rand.New(rand.NewPCG(opts.Seed, 0))
	return d, nil
}

// Entering tells the detector of an object that is about to be stored, before other
// code can write to it. An object that is then not stored does no harm. It costs a
// deep copy if the object is to be watched, and otherwise, in sampling mode, about
// 20 ns.
func (d *Detector[T]) Entering(key store.Key, obj T) {
	if d == nil {
		return
	}
	if d.opts.All {
		d.enterRoster(key, obj)
		return
	}
	if d.overspent() {
		return
	}
	d.mu.Lock()
	place, ok := d.sample.admit()
	d.mu.Unlock()
	if !ok {
		return
	}
	w := d.watch(key, obj)
	d.mu.Lock()
	defer d.mu.Unlock()
	d.sample.put(place, w)
}

func (d *Detector[T]) enterRoster(key store.Key, obj T) {
	d.mu.Lock()
	known := d.roster.has(key, obj)
	d.mu.Unlock()
	if known {
		return
	}
	w := d.watch(key, obj)
	d.mu.Lock()
	defer d.mu.Unlock()
	d.roster.add(w)
}

// Settled tells the detector that all entering objects have been stored, or will not
// be. In full mode it runs a check if there are many more old versions than objects,
// which bounds how many can accumulate between two intervals.
func (d *Detector[T]) Settled() {
	if d == nil || !d.opts.All {
		return
	}
	n := d.opts.Snapshot().Len()
	d.mu.Lock()
	crowded := d.roster.settle(n)
	d.mu.Unlock()
	if crowded {
		d.Check()
	}
}

// watch copies an object.
func (d *Detector[T]) watch(key store.Key, obj T) *watch[T] {
	defer d.spend(d.opts.Clock())
	d.stats.copied.Add(1)
	return &watch[T]{key: key, obj: obj, was: deepCopy(obj)}
}

// spend counts the time since start.
func (d *Detector[T]) spend(start time.Time) { d.spent.Add(int64(d.opts.Clock().Sub(start))) }

// overspent reports whether the time allowed in this interval is used up.
func (d *Detector[T]) overspent() bool {
	return !d.opts.All && time.Duration(d.spent.Load()) >= d.opts.Interval/share
}

// Run checks every interval until ctx ends. It is for one goroutine.
func (d *Detector[T]) Run(ctx context.Context) {
	timer := time.NewTimer(d.opts.Interval)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-timer.C:
			d.Check()
			timer.Reset(d.opts.Interval)
		}
	}
}

// Check compares the watched objects, reports writes, and in sampling mode draws the
// next sample.
func (d *Detector[T]) Check() {
	if d == nil {
		return
	}
	for _, err := range d.check() {
		d.stats.found.Add(1)
		d.opts.Report(err)
	}
}

func (d *Detector[T]) check() (errs []*Error) {
	d.checking.Lock()
	defer d.checking.Unlock()
	d.spent.Store(0)
	d.mu.Lock()
	watches := d.sample.end()
	if d.opts.All {
		watches = append(watches, d.roster.watches...)
	}
	d.mu.Unlock()
	for i, w := range watches {
		if len(errs) >= maxErrors || d.overspent() {
			watches = watches[:i]
			break
		}
		errs = append(errs, d.compare(w)...)
	}
	if d.opts.All {
		now := d.opts.Snapshot()
		d.mu.Lock()
		defer d.mu.Unlock()
		d.roster.retire(watches, now)
	} else {
		d.draw()
	}
	return errs
}

// draw fills the sample's places for stored objects.
func (d *Detector[T]) draw() {
	now := d.opts.Snapshot()
	start := d.opts.Clock()
	chosen := choose(d.rand, d.sample.max/2, now.Len(), now.All())
	d.spend(start)
	resident := make([]*watch[T], 0, len(chosen))
	for _, obj := range chosen {
		if d.overspent() {
			break
		}
		if key, err := d.opts.KeyFunc(obj); err == nil {
			resident = append(resident, d.watch(key, obj))
		}
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.sample.resident = resident
}

// compare returns the writes to one object, except at places that were reported
// before.
func (d *Detector[T]) compare(w *watch[T]) (errs []*Error) {
	start := d.opts.Clock()
	defer func() { d.spend(start) }()
	d.stats.compared.Add(1)
	found := d.differ.diff(reflect.ValueOf(&w.obj).Elem(), reflect.ValueOf(&w.was).Elem())
	for i := range found {
		if i > 0 && d.overspent() {
			break
		}
		if f := &found[i]; d.first(f.place()) {
			e := &Error{Type: describe(w.obj), Key: w.key, Path: render(f.steps), Was: f.was, Is: f.is}
			d.spend(start)
			start = d.opts.Clock()
			e.Sharers, e.Unsearched = d.sharers(f, start)
			errs = append(errs, e)
		}
	}
	if len(found) > 0 {
		w.was = deepCopy(w.obj)
	}
	return errs
}

// first reports whether a place is found for the first time.
func (d *Detector[T]) first(p place) bool {
	if _, ok := d.places[p]; ok {
		return false
	}
	if len(d.oldest) == maxPlaces {
		delete(d.places, d.oldest[0])
		d.oldest = append(d.oldest[:0], d.oldest[1:]...)
	}
	d.places[p] = struct{}{}
	d.oldest = append(d.oldest, p)
	return true
}

// sharers returns the keys of the stored objects that reach the memory of a
// difference, and how many objects were searched along the path only, since the
// interval's time was used up.
func (d *Detector[T]) sharers(f *difference, start time.Time) (keys []store.Key, unsearched int) {
	if f.in.ptr == nil {
		return nil, 0
	}
	s := newSearch(f.in)
	var obj T
	v := reflect.ValueOf(&obj).Elem()
	limit := d.opts.Interval/share - time.Duration(d.spent.Load())
	for obj = range d.opts.Snapshot().All() {
		d.stats.searched.Add(1)
		reached := reachesAlong(v, f.steps, f.in)
		if !reached {
			if d.opts.All || d.opts.Clock().Sub(start) < limit {
				reached = s.find(v, 0)
			} else {
				unsearched++
			}
		}
		if reached {
			if key, err := d.opts.KeyFunc(obj); err == nil {
				keys = append(keys, key)
			}
		}
	}
	return keys, unsearched
}

// Stats returns the counts so far.
func (d *Detector[T]) Stats() Stats {
	d.mu.Lock()
	defer d.mu.Unlock()
	return Stats{
		Copied:   d.stats.copied.Load(),
		Compared: d.stats.compared.Load(),
		Searched: d.stats.searched.Load(),
		Found:    d.stats.found.Load(),
		Watched:  len(d.roster.watches) + len(d.roster.entering) + len(d.sample.resident) + len(d.sample.arrived),
	}
}

// Found returns Stats().Found without taking a lock.
func (d *Detector[T]) Found() uint64 {
	if d == nil {
		return 0
	}
	return d.stats.found.Load()
}

// same reports whether a and b are the same object; objects without identity never
// are.
func same[T any](a, b T) bool {
	p := identity(reflect.ValueOf(&a).Elem())
	return p != nil && p == identity(reflect.ValueOf(&b).Elem())
}

// identified reports whether objects like obj have an identity.
func identified[T any](obj T) bool { return identity(reflect.ValueOf(&obj).Elem()) != nil }

// describe returns an object's type, and its kind if the type does not imply it.
func describe[T any](obj T) string {
	if u, ok := any(obj).(interface {
		GroupVersionKind() schema.GroupVersionKind
		UnstructuredContent() map[string]any
	}); ok {
		gvk := u.GroupVersionKind()
		return fmt.Sprintf("%T (%s %s)", obj, gvk.GroupVersion(), gvk.Kind)
	}
	return fmt.Sprintf("%T", obj)
}
