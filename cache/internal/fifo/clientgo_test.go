package fifo_test

import (
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"sync"
	"testing"

	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/client-go/tools/cache"

	kinglet "github.com/kinglet-go/kinglet/cache"
	"github.com/kinglet-go/kinglet/cache/internal/fifo"
)

// anyKey is a key function as client-go's.
func anyKey(obj any) (string, error) {
	if d, ok := obj.(cache.DeletedFinalStateUnknown); ok {
		return d.Key, nil
	}
	return keyOf(obj.(object))
}

// plainKnown is a consumer's store without a lock, as client-go allows it: the
// process function is the only one who writes to it.
type plainKnown struct {
	objects map[string]object
	broken  map[string]bool
}

func (k plainKnown) ListKeys() []string { return slices.Sorted(maps.Keys(k.objects)) }

func (k plainKnown) GetByKey(key string) (any, bool, error) {
	if k.broken[key] {
		return nil, false, errBrokenKnown
	}
	o, ok := k.objects[key]
	if !ok {
		return nil, false, nil
	}
	return o, true, nil
}

func (k plainKnown) apply(deltas cache.Deltas) {
	for _, d := range deltas {
		key, _ := anyKey(d.Object)
		if d.Type == cache.Deleted {
			delete(k.objects, key)
		} else {
			k.objects[key] = d.Object.(object)
		}
	}
}

func TestDeltaFIFOEqualsClientGosUnderRandomOperations(t *testing.T) {
	saved := utilruntime.ErrorHandlers
	utilruntime.ErrorHandlers = nil // known objects that cannot be looked up
	defer func() { utilruntime.ErrorHandlers = saved }()
	for run := range 400 {
		t.Run(fmt.Sprint(run), func(t *testing.T) {
			p := newPair(t, seeded(t, run))
			for range 150 {
				p.step()
			}
			for len(p.queue.ListKeys()) > 0 {
				p.pop()
			}
		})
	}
}

// pair applies the same operations to client-go's DeltaFIFO and to package
// cache's. Each has its own known objects.
//
// Left out is where the two differ on purpose: key errors as the first write,
// a Replace that fails in the middle, and a delete without object after one
// with a last known object; the twin covers these.
type pair struct {
	t            testing.TB
	choose       chooser
	clientgo     *cache.DeltaFIFO
	queue        *kinglet.DeltaFIFO
	theirs, ours plainKnown
	transformed  [2]int
	version      int
}

func newPair(t testing.TB, choose chooser) *pair {
	p := &pair{t: t, choose: choose}
	p.theirs.objects, p.theirs.broken = map[string]object{}, map[string]bool{}
	p.ours.objects, p.ours.broken = map[string]object{}, p.theirs.broken
	opts := cache.DeltaFIFOOptions{KeyFunction: anyKey, EmitDeltaTypeReplaced: choose(2) == 0}
	silence(&opts.Logger)
	with := func(known plainKnown, transformed *int) cache.DeltaFIFOOptions {
		opts := opts
		if p.transformed[0] == 0 {
			opts.KnownObjects = known
		}
		if p.transformed[1] == 0 {
			opts.Transformer = func(obj any) (any, error) {
				*transformed++
				return transform(obj.(object))
			}
		}
		return opts
	}
	p.transformed = [2]int{choose(4) / 3, choose(2)}
	theirs, ours := with(p.theirs, &p.transformed[0]), with(p.ours, &p.transformed[1])
	p.transformed = [2]int{}
	p.clientgo, p.queue = cache.NewDeltaFIFOWithOptions(theirs), kinglet.NewDeltaFIFOWithOptions(ours)
	return p
}

// silence sets a logger whose type is not to be imported for this alone; its
// zero value discards.
func silence[L any](logger **L) { *logger = new(L) }

func (p *pair) object() object {
	p.version++
	return object{key: keyName(p.choose(6)), version: p.version}
}

func (p *pair) step() {
	p.t.Helper()
	switch p.choose(13) {
	case 0:
		o := p.object()
		p.both(p.clientgo.Add(o), p.queue.Add(o))
	case 1, 2:
		o := p.object()
		p.both(p.clientgo.Update(o), p.queue.Update(o))
	case 3, 4:
		o := p.object()
		p.both(p.clientgo.Delete(o), p.queue.Delete(o))
	case 5:
		o := p.object()
		d := cache.DeletedFinalStateUnknown{Key: o.key, Obj: o}
		p.both(p.clientgo.Delete(d), p.queue.Delete(d))
	case 6:
		var list []any
		for range p.choose(5) {
			list = append(list, p.object())
		}
		p.both(p.clientgo.Replace(list, ""), p.queue.Replace(slices.Clone(list), ""))
	case 7:
		p.both(p.clientgo.Resync(), p.queue.Resync())
	case 8:
		p.refused()
	case 9:
		p.theirs.broken[keyName(p.choose(6))] = p.choose(3) == 0
	case 10:
		if p.choose(30) == 0 {
			p.clientgo.Close()
			p.queue.Close()
		}
	default:
		p.pop()
	}
	if p.clientgo.HasSynced() != p.queue.HasSynced() {
		p.t.Fatalf("synced: client-go %v, kinglet %v", p.clientgo.HasSynced(), p.queue.HasSynced())
	}
	if p.clientgo.IsClosed() != p.queue.IsClosed() {
		p.t.Fatal("one of both is closed")
	}
	if p.transformed[0] != p.transformed[1] {
		p.t.Fatalf("transformed: client-go %d, kinglet %d times", p.transformed[0], p.transformed[1])
	}
}

// refused makes the same errors in both.
func (p *pair) refused() {
	p.both(p.clientgo.Delete(object{}), p.queue.Delete(object{}))
	p.both(p.clientgo.Replace([]any{object{}}, ""), p.queue.Replace([]any{object{}}, ""))
	if p.clientgo.HasSynced() {
		p.both(p.clientgo.Add(object{}), p.queue.Add(object{}))
		poison := object{key: keyName(0), version: -1}
		if p.clientgo.Transformer() != nil {
			p.both(p.clientgo.Update(poison), p.queue.Update(poison))
		}
	}
}

func (p *pair) both(theirs, ours error) {
	p.t.Helper()
	if fmt.Sprint(theirs) != fmt.Sprint(ours) || reflect.TypeOf(theirs) != reflect.TypeOf(ours) {
		p.t.Fatalf("client-go says %v, kinglet %v", theirs, ours)
	}
}

func (p *pair) pop() {
	p.t.Helper()
	if len(p.queue.ListKeys()) == 0 {
		if p.queue.IsClosed() {
			_, theirs := p.clientgo.Pop(nil)
			_, ours := p.queue.Pop(nil)
			p.both(theirs, ours)
		}
		return
	}
	var processErr error
	if p.choose(4) == 0 {
		processErr = errProcess
	}
	process := func(known plainKnown, initial *bool) cache.PopProcessFunc {
		return func(obj any, isInInitialList bool) error {
			*initial = isInInitialList
			if processErr == nil {
				known.apply(obj.(cache.Deltas))
			}
			return processErr
		}
	}
	var initial [2]bool
	theirs, theirErr := p.clientgo.Pop(process(p.theirs, &initial[0]))
	ours, ourErr := p.queue.Pop(process(p.ours, &initial[1]))
	p.both(theirErr, ourErr)
	if !reflect.DeepEqual(theirs, ours) || initial[0] != initial[1] {
		p.t.Fatalf("client-go popped %v (initial %v), kinglet %v (initial %v)", theirs, initial[0], ours, initial[1])
	}
}

// A FIFO of client-go's is comparable as long as nothing that waits is deleted
// and lists have one element: it keeps the places of the deleted, and puts
// lists into random order.
func TestFIFOEqualsClientGosUnderRandomOperations(t *testing.T) {
	for run := range 200 {
		t.Run(fmt.Sprint(run), func(t *testing.T) {
			choose := seeded(t, run)
			theirs, ours := cache.NewFIFO(anyKey), fifo.NewFIFO(keyOf)
			for version := range 150 {
				o := object{key: keyName(choose(6)), version: version + 1}
				switch choose(6) {
				case 0, 1:
					compareErrors(t, theirs.Add(o), ours.Add(o))
				case 2:
					compareErrors(t, theirs.Update(o), ours.Add(o))
				case 3:
					if ours.HasSynced() || ours.Len() == 0 { // else client-go miscounts
						compareErrors(t, theirs.Replace([]any{o}, ""), ours.Replace([]object{o}))
					}
				case 4:
					if _, there := ours.GetByKey(o.key); !there {
						compareErrors(t, theirs.Delete(o), ours.Delete(o))
					}
				case 5:
					if ours.Len() == 0 {
						continue
					}
					var initial [2]bool
					a, aErr := theirs.Pop(func(_ any, in bool) error { initial[0] = in; return errProcess })
					b, bErr := ours.Pop(t.Context(), func(_ object, in bool) error { initial[1] = in; return errProcess })
					if a != any(b) || !errors.Is(aErr, errProcess) || !errors.Is(bErr, errProcess) || initial[0] != initial[1] {
						t.Fatalf("client-go popped %v %v, kinglet %v %v", a, initial[0], b, initial[1])
					}
				}
				if theirs.HasSynced() != ours.HasSynced() {
					t.Fatalf("synced: client-go %v, kinglet %v", theirs.HasSynced(), ours.HasSynced())
				}
			}
		})
	}
}

func compareErrors(t *testing.T, theirs, ours error) {
	t.Helper()
	if theirs != nil || ours != nil {
		t.Fatalf("client-go says %v, kinglet %v", theirs, ours)
	}
}

// The race detector sees it if a process function and the queue meet.
func TestAProcessFunctionOfPackageCacheIsAtomicWithWrites(t *testing.T) {
	ours := plainKnown{objects: map[string]object{}}
	l := kinglet.NewDeltaFIFOWithOptions(cache.DeltaFIFOOptions{KeyFunction: anyKey, KnownObjects: ours})
	var wg sync.WaitGroup
	wg.Go(func() {
		defer l.Close()
		for i := range 2000 {
			o := object{key: keyName(i % 7), version: i + 1}
			switch i % 5 {
			case 0:
				_ = l.Replace([]any{o}, "")
			case 1:
				_ = l.Resync()
			case 2:
				_ = l.Delete(o)
			default:
				_ = l.Add(o)
			}
		}
	})
	for {
		_, err := l.Pop(func(obj any, _ bool) error {
			ours.apply(obj.(cache.Deltas))
			return nil
		})
		if errors.Is(err, cache.ErrFIFOClosed) {
			break
		}
	}
	wg.Wait()
	if len(ours.objects) != 3 {
		t.Fatalf("%v, want the objects of the last Replace and two Adds", ours.objects)
	}
}
