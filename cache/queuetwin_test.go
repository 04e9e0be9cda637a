package cache

import (
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"

	kc "k8s.io/client-go/tools/cache"

	"github.com/kinglet-go/kinglet/internal/tests/testkit"
)

// thing is what the twins queue. One without a key has none, and one with a
// negative value cannot be transformed.
type thing struct {
	key   string
	value int
}

func thingKey(obj any) (string, error) {
	if d, ok := obj.(DeletedFinalStateUnknown); ok {
		return d.Key, nil
	}
	// Client-go also asks for the key of what is about all keys, for a trace.
	if d, ok := obj.(thing); ok && d.key != "" {
		return d.key, nil
	}
	return "", errBoom
}

func thingTransform(obj any) (any, error) {
	if gone, ok := obj.(DeletedFinalStateUnknown); ok {
		return "transformed " + gone.Key, nil
	}
	if obj.(thing).value < 0 {
		return nil, errBoom
	}
	return thing{obj.(thing).key, obj.(thing).value * 2}, nil
}

// things are the known objects of one twin, in an order that can be repeated.
// They have no lock: only process functions write to them.
type things struct {
	objects map[string]any
	broken  map[string]bool
}

func (k *things) ListKeys() []string { return slices.Sorted(maps.Keys(k.objects)) }

func (k *things) GetByKey(key string) (any, bool, error) {
	if k.broken[key] {
		return nil, false, errBoom
	}
	obj, ok := k.objects[key]
	return obj, ok, nil
}

func (k *things) apply(deltas Deltas) {
	for _, d := range deltas {
		switch d.Type {
		case Deleted:
			key, _ := thingKey(d.Object)
			delete(k.objects, key)
		case ReplacedAll, SyncAll, Bookmark:
		default:
			k.objects[d.Object.(thing).key] = d.Object
		}
	}
}

// queueTwins are a queue of client-go's and one of ours, each with known objects.
type queueTwins struct {
	t            *testing.T
	r            *rand.Rand
	theirs, ours Queue
	known        [2]*things
	count        int
}

func (w *queueTwins) thing() thing {
	w.count++
	return thing{fmt.Sprint("k", w.r.IntN(6)), w.count}
}

func (w *queueTwins) both(what string, do func(Queue) error) {
	w.t.Helper()
	theirs, ours := do(w.theirs), do(w.ours)
	if fmt.Sprint(theirs) != fmt.Sprint(ours) || reflect.TypeOf(theirs) != reflect.TypeOf(ours) {
		w.t.Fatalf("%s: client-go says %v, kinglet %v", what, theirs, ours)
	}
	if w.theirs.HasSynced() != w.ours.HasSynced() {
		w.t.Fatalf("%s: synced: client-go %v, kinglet %v", what, w.theirs.HasSynced(), w.ours.HasSynced())
	}
}

func (w *queueTwins) atomic() bool {
	f, ok := w.ours.(*RealFIFO)
	return ok && f.atomic
}

func (w *queueTwins) step() {
	w.t.Helper()
	o := w.thing()
	if w.atomic() && w.r.IntN(10) == 0 {
		w.both("Bookmark", func(q Queue) error { return q.(ReflectorBookmarkStore).Bookmark(fmt.Sprint(w.count)) })
	}
	switch w.r.IntN(12) {
	case 0, 1:
		w.both("Add", func(q Queue) error { return q.Add(o) })
	case 2, 3:
		w.both("Update", func(q Queue) error { return q.Update(o) })
	case 4:
		w.both("Delete", func(q Queue) error { return q.Delete(o) })
	case 5:
		gone := DeletedFinalStateUnknown{Key: o.key, Obj: o}
		w.both("Delete unknown", func(q Queue) error { return q.Delete(gone) })
	case 6:
		var list []any
		for range w.r.IntN(5) {
			list = append(list, w.thing())
		}
		if w.atomic() { // otherwise it matters what came before the failure
			list = append(list, []any{DeletedFinalStateUnknown{Key: o.key, Obj: o}, thing{}, thing{o.key, -1}}[:w.r.IntN(4)]...)
		}
		w.both("Replace", func(q Queue) error { return q.Replace(slices.Clone(list), fmt.Sprint(w.count)) })
	case 7:
		w.both("Resync", func(q Queue) error { return q.Resync() })
	case 8:
		if w.theirs.HasSynced() {
			w.both("Add without key", func(q Queue) error { return q.Add(thing{}) })
			w.both("Replace without key", func(q Queue) error { return q.Replace([]any{thing{}}, "") })
		}
	case 9:
		broken := w.r.IntN(3) == 0
		w.known[0].broken[o.key], w.known[1].broken[o.key] = broken, broken
	default:
		w.pop()
	}
}

// pop closes the queue before it pops from an empty one.
func (w *queueTwins) pop() (more bool) {
	w.t.Helper()
	var failed error
	if w.r.IntN(4) == 0 {
		failed = errBoom
	}
	batch := w.r.IntN(2) == 0
	one := func(q Queue, known *things) (got string, err error) {
		process := func(obj any, initial bool) error {
			got = fmt.Sprintf("%v %v", obj, initial)
			if failed == nil {
				if deltas, ok := obj.(Deltas); ok {
					known.apply(deltas)
				}
			}
			return failed
		}
		if b, ok := q.(QueueWithBatch); ok && batch {
			err = b.PopBatch(func(deltas []Delta, initial bool) error { return process(Deltas(deltas), initial) }, process)
			return got, err
		}
		_, err = q.Pop(process)
		return got, err
	}
	if !w.waiting() {
		return false
	}
	theirs, theirErr := one(w.theirs, w.known[0])
	ours, ourErr := one(w.ours, w.known[1])
	if theirs != ours || fmt.Sprint(theirErr) != fmt.Sprint(ourErr) {
		w.t.Fatalf("client-go popped %s (%v), kinglet %s (%v)", theirs, theirErr, ours, ourErr)
	}
	return !errors.Is(ourErr, ErrFIFOClosed)
}

// waiting is whether ours has something, or is closed.
func (w *queueTwins) waiting() bool {
	switch q := w.ours.(type) {
	case *RealFIFO:
		return q.order.Len() > 0 || q.IsClosed()
	case *DeltaFIFO:
		return q.order.Len() > 0 || q.IsClosed()
	}
	panic("BUG: no such twin")
}

func testTwins(t *testing.T, make func(t *testing.T, r *rand.Rand, known [2]*things) (theirs, ours Queue)) {
	silenced(t)
	first := testkit.Seed(t)
	for run := range uint64(200) {
		seed := first + run
		t.Run(fmt.Sprint("-seed ", seed), func(t *testing.T) {
			w := &queueTwins{t: t, r: rand.New(rand.NewPCG(seed, 1))}
			for i := range w.known {
				w.known[i] = &things{map[string]any{}, map[string]bool{}}
			}
			w.theirs, w.ours = make(t, w.r, w.known)
			for range 150 {
				w.step()
			}
			w.theirs.Close()
			w.ours.Close()
			for w.pop() {
			}
		})
	}
}

func TestDeltaFIFOEqualsClientGosUnderRandomOperations(t *testing.T) {
	testTwins(t, func(t *testing.T, r *rand.Rand, known [2]*things) (theirs, ours Queue) {
		options := DeltaFIFOOptions{KeyFunction: thingKey, EmitDeltaTypeReplaced: r.IntN(2) == 0}
		if r.IntN(2) == 0 {
			options.Transformer = thingTransform
		}
		a, b := options, options
		if r.IntN(4) > 0 {
			a.KnownObjects, b.KnownObjects = known[0], known[1]
		}
		return kc.NewDeltaFIFOWithOptions(a), NewDeltaFIFOWithOptions(b)
	})
}

func TestRealFIFOEqualsClientGosUnderRandomOperations(t *testing.T) {
	testTwins(t, func(t *testing.T, r *rand.Rand, known [2]*things) (theirs, ours Queue) {
		options := RealFIFOOptions{KeyFunction: thingKey}
		if r.IntN(2) == 0 {
			options.Transformer = thingTransform
		}
		if r.IntN(2) == 0 {
			options.AtomicEvents, options.UnlockWhileProcessing, options.EmitDeltaTypeBookmark = true, r.IntN(2) == 0, r.IntN(2) == 0
			return kc.NewRealFIFOWithOptions(options), NewRealFIFOWithOptions(options)
		}
		a, b := options, options
		a.KnownObjects, b.KnownObjects = known[0], known[1]
		return kc.NewRealFIFOWithOptions(a), NewRealFIFOWithOptions(b)
	})
}

func TestReadsOfADeltaFIFOTellUnknownFinalStates(t *testing.T) {
	f := NewDeltaFIFO(thingKey, nil)
	_ = f.Add(thing{"a", 1})
	_ = f.Add(thing{"b", 2})
	_ = f.Delete(DeletedFinalStateUnknown{Key: "a", Obj: thing{"a", 1}})
	want(t, "List", fmt.Sprint(f.List()...), fmt.Sprint(DeletedFinalStateUnknown{Key: "a", Obj: thing{"a", 1}}, thing{"b", 2}))
	got, ok, err := f.Get(thing{"a", 9})
	want(t, "Get", fmt.Sprint(got, ok, err), "[{Added {a 1}} {Deleted {a {a 1}}}] true <nil>")
	if _, _, err := f.Get(thing{}); !errors.As(err, new(KeyError)) {
		t.Errorf("Get without key: %v", err)
	}
	popped := Pop(f)
	if err := f.AddIfNotPresent(popped); err != nil {
		t.Error(err)
	}
	if err := f.AddIfNotPresent(thing{"c", 3}); err == nil {
		t.Error("a thing was taken for Deltas")
	}
	if err := f.AddIfNotPresent(Deltas{}); !errors.As(err, new(KeyError)) {
		t.Errorf("empty Deltas: %v", err)
	}
	want(t, "keys", fmt.Sprint(f.ListKeys()), "[b a]")
	want(t, "put back", fmt.Sprint(Pop(f), Pop(f)), "[{Added {b 2}}] "+fmt.Sprint(popped))
}
