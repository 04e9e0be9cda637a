package kinglet_test

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/kinglet-go/kinglet"
	"github.com/kinglet-go/kinglet/internal/tests/testkit"
	"github.com/kinglet-go/kinglet/store"
)

// legal is a handler that fails the test when its history is not one of Add, Update*,
// Delete for each key.
type legal struct {
	recorder
	known map[kinglet.Key]bool
}

func newLegal(t *testing.T, name string) *legal {
	l := &legal{known: map[kinglet.Key]bool{}}
	l.look = func(c kinglet.Change[pod]) {
		if (c.Type == kinglet.Added) == l.known[c.Key] {
			t.Errorf("%s: %v of %v, which it knows: %v", name, c.Type, c.Key, l.known[c.Key])
		}
		if c.Type != kinglet.Added && c.Old.Name != c.Key.Name || c.Type != kinglet.Deleted && c.New.Name != c.Key.Name {
			t.Errorf("%s: %v of %v, from %q to %q", name, c.Type, c.Key, c.Old.Name, c.New.Name)
		}
		if l.known[c.Key] = c.Type != kinglet.Deleted; !l.known[c.Key] {
			delete(l.known, c.Key)
		}
	}
	return l
}

// TestHistoriesAreLegalWhateverIsWrittenByHand does everything that a user may do with
// the store by hand, before Run, beside events and between relists. After a last list,
// every handler knows what the source has.
func TestHistoriesAreLegalWhateverIsWrittenByHand(t *testing.T) {
	seed := testkit.Seed(t)
	for i := range uint64(150) {
		rnd := rand.New(rand.NewPCG(seed, i))
		synctest.Test(t, func(t *testing.T) {
			r := newRig(t, kinglet.Options[pod]{}, newPod("p0", "n1"), newPod("p1", "n1"))
			s := r.informer.WritableStore()
			var handlers []*legal
			some := func() pod { return newPod(fmt.Sprint("p", rnd.IntN(6)), fmt.Sprint("n", rnd.IntN(3))) }
			byHand := func() {
				p := some()
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
					_, err = s.Apply(store.Batch[pod]{Ops: []store.Op[pod]{{Key: key(p.Name), Object: p}, {Key: key("p5"), Delete: true}}}, nil)
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
			begin()
			r.run()
			for range 40 {
				switch p := some(); rnd.IntN(8) {
				case 0, 1, 2:
					byHand()
				case 3:
					_ = r.src.Add(p) // an error if it is there
				case 4:
					_ = r.src.Update(p) // an error if it is not
				case 5:
					_ = r.src.Delete(key(p.Name))
				case 6:
					if rnd.IntN(3) == 0 {
						r.src.Disconnect(apierrors.NewResourceExpired("gone"))
						<-time.After(time.Minute)
					}
				case 7:
					if len(handlers) < 4 {
						begin()
					}
				}
				if rnd.IntN(2) == 0 {
					synctest.Wait()
				}
			}
			r.must(r.src.Add(newPod("last", "n1")))
			r.src.Disconnect(apierrors.NewResourceExpired("gone"))
			<-time.After(5 * time.Minute)
			synctest.Wait()
			r.equal()
			want := map[kinglet.Key]bool{}
			for _, p := range r.src.Objects() {
				want[key(p.Name)] = true
			}
			for n, h := range handlers {
				if !maps.Equal(h.known, want) {
					t.Errorf("case %d: handler %d knows %v, the source has %v", i, n, slices.Collect(maps.Keys(h.known)), slices.Collect(maps.Keys(want)))
				}
			}
			r.end()
		})
		if t.Failed() {
			return
		}
	}
}
