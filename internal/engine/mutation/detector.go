package mutation

import (
	"context"
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kinglet-go/kinglet/internal/wire/official"
	"github.com/kinglet-go/kinglet/store"
)

const (
	// DefaultInterval is that of full mode: client-go's.
	DefaultInterval = time.Second
	// DefaultSampleInterval is that of sampling mode.
	DefaultSampleInterval = 30 * time.Second
	// maxErrors is how many errors end a check. The next check finds the rest.
	maxErrors = 64
)

// Options of a Detector. KeyFunc, Snapshot and Report are required, and one of
// All and Sample.
type Options[T any] struct {
	// All watches every object.
	All bool
	// Sample is how many objects are watched at a time if not all are.
	Sample int
	// Interval is the time between two checks: DefaultInterval or
	// DefaultSampleInterval if 0.
	Interval time.Duration
	// KeyFunc is the store's.
	KeyFunc store.KeyFunc[T]
	// Snapshot returns the store's present state. It must be O(1).
	Snapshot func() store.Reader[T]
	// Report is called with each *Error, under no lock, from the goroutine that
	// found it.
	Report func(error)
}

// Error reports a write into an object after it had been stored.
type Error struct {
	// Type is the object's Go type; for an unstructured one with its kind.
	Type string
	// Key is the object in which the difference was found. It may have been written
	// to through another object with which it shares memory.
	Key store.Key
	// Path leads to the first changed value, by JSON names:
	// "spec.containers[0].env[2].value".
	Path string
	// Was and Is are the value before and after, cut to 120 bytes. A value that is
	// neither text nor a number is described.
	Was, Is string
}

func (e *Error) Error() string {
	return fmt.Sprintf("%s %s is read-only and was written to: %s was %s, is %s", e.Type, e.Key, e.Path, e.Was, e.Is)
}

// Detector watches the objects of one store. Make one with New. A nil Detector
// does nothing. Its methods are safe for concurrent use.
type Detector[T any] struct {
	opts  Options[T]
	found atomic.Uint64

	// checking is held during a comparison.
	checking sync.Mutex

	mu sync.Mutex
	// watches are compared by the next check; guarded by mu. In full mode those
	// of entering objects, which are not stored yet, are not among them.
	watches, entering []*watch[T]
	// latest is, in full mode, the watch of the object that entered last under a key;
	// guarded by mu.
	latest map[store.Key]*watch[T]
	// arrived counts, in sampling mode, the objects that entered in this interval;
	// guarded by mu.
	arrived int
}

// watch is one object and a copy of its original state.
type watch[T any] struct {
	key store.Key
	obj T
	was T // not shared
	// gone: it was not in the store at the last check.
	gone bool
}

// New returns a detector. It starts nothing; see Run. It fails if T is neither an
// interface nor a pointer with a method DeepCopyObject.
func New[T any](opts Options[T]) (*Detector[T], error) {
	if t := reflect.TypeFor[T](); t.Kind() != reflect.Interface && (t.Kind() != reflect.Pointer || !t.Implements(reflect.TypeFor[runtime.Object]())) {
		return nil, fmt.Errorf("writes to objects of %v cannot be detected: it is no pointer with a method DeepCopyObject", t)
	}
	switch {
	case opts.Interval != 0:
	case opts.All:
		opts.Interval = DefaultInterval
	default:
		opts.Interval = DefaultSampleInterval
	}
	return &Detector[T]{opts: opts, latest: map[store.Key]*watch[T]{}}, nil
}

// Entering tells the detector of an object that is about to be stored, before other
// code can write to it. An object that is then not stored does no harm. It costs a
// deep copy if the object is to be watched.
func (d *Detector[T]) Entering(key store.Key, obj T) {
	if d == nil {
		return
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.opts.All {
		if w := d.latest[key]; w != nil && same(w.obj, obj) {
			return
		}
		if w := newWatch(key, obj); w != nil {
			d.entering = append(d.entering, w)
			d.latest[key] = w
		}
		return
	}
	place := choose(rand.IntN, d.arrived, d.opts.Sample-d.opts.Sample/2)
	d.arrived++
	if place < 0 {
		return
	}
	if w := newWatch(key, obj); w != nil {
		d.entering = put(d.entering, place, w)
	}
}

// Settled tells the detector that all entering objects have been stored, or will not
// be.
func (d *Detector[T]) Settled() {
	if d == nil || !d.opts.All {
		return
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.watches = append(d.watches, d.entering...)
	clear(d.entering)
	d.entering = d.entering[:0]
}

// Run checks every interval until ctx ends. It is for one goroutine.
func (d *Detector[T]) Run(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-time.After(d.opts.Interval):
			d.Check()
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
		d.found.Add(1)
		d.opts.Report(err)
	}
}

// Found returns how many writes were reported.
func (d *Detector[T]) Found() uint64 {
	if d == nil {
		return 0
	}
	return d.found.Load()
}

func (d *Detector[T]) check() (errs []*Error) {
	d.checking.Lock()
	defer d.checking.Unlock()
	d.mu.Lock()
	watches := d.watches
	if !d.opts.All {
		watches = append(watches, d.entering...)
		d.watches, d.entering, d.arrived = nil, nil, 0
	}
	d.mu.Unlock()
	for i, w := range watches {
		if len(errs) == maxErrors {
			watches = watches[:i]
			break
		}
		if x := diff(w.obj, w.was); x != nil {
			errs = append(errs, &Error{Type: describe(w.obj), Key: w.key, Path: x.path, Was: x.was, Is: x.is})
			if c, ok := deepCopy(w.obj); ok {
				w.was = c
			}
		}
	}
	now := d.opts.Snapshot()
	if d.opts.All {
		d.retire(len(watches), now)
	} else {
		d.draw(now)
	}
	return errs
}

// retire ends those of the first n watches whose objects were not in the store at the
// last check either. now is the store's present state.
func (d *Detector[T]) retire(n int, now store.Reader[T]) {
	d.mu.Lock()
	defer d.mu.Unlock()
	i := 0
	d.watches = slices.DeleteFunc(d.watches, func(w *watch[T]) bool {
		if i++; i > n {
			return false
		}
		obj, stored := now.Get(w.key)
		before := w.gone
		w.gone = !stored || !same(obj, w.obj)
		if before && w.gone && d.latest[w.key] == w {
			delete(d.latest, w.key)
		}
		return before && w.gone
	})
}

// draw chooses the sample's half that is stored already.
func (d *Detector[T]) draw(now store.Reader[T]) {
	var chosen []T
	seen := 0
	for obj := range now.All() {
		if place := choose(rand.IntN, seen, d.opts.Sample/2); place >= 0 {
			chosen = put(chosen, place, obj)
		}
		seen++
	}
	var watches []*watch[T]
	for _, obj := range chosen {
		if key, err := d.opts.KeyFunc(obj); err == nil {
			if w := newWatch(key, obj); w != nil {
				watches = append(watches, w)
			}
		}
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.watches = watches
}

// choose returns the place of the next object in a sample of room after seen others; -1
// if it has none. Each object of a sequence ends up in the sample with the same chance.
func choose(intN func(int) int, seen, room int) int {
	if seen < room {
		return seen
	}
	if place := intN(seen + 1); place < room {
		return place
	}
	return -1
}

func put[E any](to []E, place int, e E) []E {
	if place >= len(to) {
		return append(to, e)
	}
	to[place] = e
	return to
}

// newWatch returns nil if obj cannot be copied.
func newWatch[T any](key store.Key, obj T) *watch[T] {
	if was, ok := deepCopy(obj); ok {
		return &watch[T]{key: key, obj: obj, was: was}
	}
	return nil
}

// deepCopy fails for an object that is no runtime.Object, or whose copy does.
func deepCopy[T any](obj T) (c T, ok bool) {
	if o, is := any(obj).(runtime.Object); is {
		if copied, err := official.Copy(o); err == nil {
			c, ok = any(copied).(T)
		}
	}
	return c, ok
}

// same reports whether a and b, which have a DeepCopyObject, are the same object.
func same[T any](a, b T) bool {
	p, q := reflect.ValueOf(a), reflect.ValueOf(b)
	return p.Kind() == reflect.Pointer && q.Kind() == reflect.Pointer && p.UnsafePointer() == q.UnsafePointer()
}

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
