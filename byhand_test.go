package kinglet_test

import (
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/kinglet-go/kinglet"
	"github.com/kinglet-go/kinglet/internal/tests/testbubble"
	"github.com/kinglet-go/kinglet/internal/tests/testkit"
	"github.com/kinglet-go/kinglet/source/sourcetest"
	"github.com/kinglet-go/kinglet/store"
)

// legal is a handler that fails the test when its history is not one of Add, Update*,
// Delete for each key.
type legal struct {
	recorder
	known map[kinglet.Key]pod
}

func newLegal(t *testing.T, name string) *legal {
	l := &legal{known: map[kinglet.Key]pod{}}
	l.look = func(c kinglet.Change[pod]) {
		if _, known := l.known[c.Key]; (c.Type == kinglet.Added) == known {
			t.Errorf("%s: %v of %v, which it knows: %v", name, c.Type, c.Key, known)
		}
		if c.Type != kinglet.Added && c.Old.Name != c.Key.Name || c.Type != kinglet.Deleted && c.New.Name != c.Key.Name {
			t.Errorf("%s: %v of %v, from %q to %q", name, c.Type, c.Key, c.Old.Name, c.New.Name)
		}
		if l.known[c.Key] = c.New; c.Type == kinglet.Deleted {
			delete(l.known, c.Key)
		}
	}
	return l
}

// TestHistoriesAreLegalWhateverIsWrittenByHand does everything that a user may do with
// the store by hand, before Run, beside events and between relists, while handlers come;
// what it writes is often what the source has. After a list, every handler knows what the
// source has.
func TestHistoriesAreLegalWhateverIsWrittenByHand(t *testing.T) {
	seed := testkit.Seed(t)
	for i := range uint64(150) {
		rnd := rand.New(rand.NewPCG(seed, i))
		synctest.Test(t, func(t *testing.T) {
			r := newRig(t, kinglet.Options[pod]{}, newPod("p0", "n1"), newPod("p1", "n1"))
			s := r.informer.WritableStore()
			var handlers []*legal
			some := func() pod { return newPod(fmt.Sprint("p", rnd.IntN(4)), fmt.Sprint("n", rnd.IntN(3))) }
			byHand := func() {
				p := some()
				if have := r.src.Objects(); len(have) > 0 && rnd.IntN(4) > 0 {
					p = have[rnd.IntN(len(have))]
					if rnd.IntN(2) == 0 {
						p.Spec.NodeName = "assumed"
					}
				}
				var err error
				switch rnd.IntN(6) {
				case 0:
					err = s.Put(p)
				case 1:
					err = s.Write(store.Op[pod]{Key: key(p.Name), Object: p})
				case 2:
					s.Delete(key(p.Name))
				case 3:
					err = s.Write(store.Op[pod]{Key: key(p.Name), Delete: true})
				case 4:
					_, err = s.Apply(store.Batch[pod]{Ops: []store.Op[pod]{{Key: key(p.Name), Object: p}, {Key: key("p3"), Delete: true}}}, nil)
				case 5:
					_, err = s.Replace(store.Batch[pod]{Ops: []store.Op[pod]{{Key: key(p.Name), Object: p}}[:rnd.IntN(2)]}, nil)
				}
				r.must(err)
			}
			begin := func() {
				h := newLegal(t, fmt.Sprintf("case %d, handler %d", i, len(handlers)))
				handlers = append(handlers, h)
				r.add(h, kinglet.HandlerOptions{})
			}
			for range rnd.IntN(5) {
				byHand()
			}
			event := func() {
				switch p := some(); rnd.IntN(3) {
				case 0:
					_ = r.src.Add(p) // an error if it is there
				case 1:
					_ = r.src.Update(p) // an error if it is not
				case 2:
					_ = r.src.Delete(key(p.Name))
				}
			}
			relist := func() {
				down := errors.New("down")
				r.src.FailLists(-1, down)
				r.src.FailWatches(-1, down)
				r.src.Disconnect(apierrors.NewResourceExpired("gone"))
				_ = r.src.Add(newPod("last", "n1"))
				for range rnd.IntN(3) {
					event()
					byHand()
				}
				r.src.FailLists(0, nil)
				r.src.FailWatches(0, nil)
				<-time.After(5 * time.Minute)
				synctest.Wait()
				r.equal()
				want := map[kinglet.Key]pod{}
				for _, p := range r.src.Objects() {
					want[key(p.Name)] = p
				}
				for n, h := range handlers {
					if !reflect.DeepEqual(h.known, want) {
						t.Errorf("case %d: handler %d knows %v, the source has %v", i, n, names(slices.Collect(maps.Values(h.known))), names(r.src.Objects()))
					}
				}
			}
			begin()
			r.run()
			for range 40 {
				switch n := rnd.IntN(24); {
				case n < 9:
					byHand()
				case n < 16:
					event()
				case n < 19:
					relist()
				case len(handlers) < 8:
					begin()
				}
				if rnd.IntN(2) == 0 {
					synctest.Wait()
				}
			}
			relist()
			r.end()
		})
		if t.Failed() {
			return
		}
	}
}

// TestWhatIsPutByHandBeforeTheFirstSourceIsToldOfIt is of an informer that began without
// any, so that its handlers begin before there is a list.
func TestWhatIsPutByHandBeforeTheFirstSourceIsToldOfIt(t *testing.T) {
	for name, c := range map[string]struct {
		listed pod
		want   []string
	}{
		"the source has it too":   {podIn("a", "x", "n1"), []string{"Initial Added x on n1"}},
		"the source has it newer": {podIn("a", "x", "n2"), []string{"Initial Added x on n2"}},
		"the source has it not":   {nil, nil},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := newScopedRig(t, kinglet.Options[pod]{}, nil)
				rec := &recorder{}
				r.add(rec, kinglet.HandlerOptions{})
				r.run()
				defer r.end()
				src := sourcetest.NewStatic[pod]()
				if c.listed != nil {
					src = sourcetest.NewStatic(c.listed)
				}
				src.FailLists(1, errors.New("not yet"))
				src.FailWatches(1, errors.New("not yet"))
				r.must(r.informer.AddSource(scopedOf("a", src)))
				byHand := podIn("a", "x", "n1")
				if c.listed != nil && c.listed.Spec.NodeName == "n1" {
					byHand = c.listed
				}
				r.must(r.informer.WritableStore().Put(byHand))
				testbubble.Pass(time.Minute)
				expect(t, rec.take(), c.want...)
			})
		})
	}
}
