package consistency_test

import (
	"fmt"
	"math/rand/v2"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kinglet-go/kinglet"
	"github.com/kinglet-go/kinglet/internal/tests/testbubble"
	"github.com/kinglet-go/kinglet/internal/tests/testkit"
	"github.com/kinglet-go/kinglet/kinglettest/apiserver"
)

// someObjects are in namespaces that a server has in another order than a
// store.
func someObjects(n int) []string {
	var names []string
	for i := range n {
		names = append(names, fmt.Sprintf("%s/o%02d", []string{"a", "a-b", "a-b.c", "b"}[i%4], i))
	}
	return names
}

func TestASweepContinuesAfterACompactionAndFindsEveryKindOfDifference(t *testing.T) {
	for kind, damage := range damages {
		t.Run(kind.String(), func(t *testing.T) {
			opts := kinglet.Options[configMap]{ConsistencyCheck: kinglet.ConsistencyCheck{Limit: 7}}
			inChecked(t, someObjects(40), apiserver.Options{}, opts, nil, func(c *checked) {
				c.check()
				c.check()
				c.update("b/o03")
				synctest.Wait()
				c.storage.Compact(c.storage.Revision())
				damage(c, "a/o24") // on the fourth page: a-b.c, a-b, a, b
				found := 0
				for range 4 {
					r := c.check()
					found += r.Differences
					synctest.Wait()
				}
				synctest.Wait()
				c.equal()
				if found != 1 {
					c.Errorf("%d differences", found)
				}
			})
		})
	}
}

func TestAMissingObjectIsFoundOnceThePageIsNewEnough(t *testing.T) {
	opts := kinglet.Options[configMap]{ConsistencyCheck: kinglet.ConsistencyCheck{Limit: 7}}
	inChecked(t, someObjects(40), apiserver.Options{}, opts, nil, func(c *checked) {
		c.check()
		c.delete("a-b/o01") // on the second page, as is what is missing
		synctest.Wait()
		damages[kinglet.Missing](c, "a-b/o05")
		for range 3 {
			if r := c.check(); r.Differences != 0 || r.Skipped != 2 || r.Complete {
				c.Errorf("a page of the past: %+v", r)
			}
		}
		c.storage.Compact(c.storage.Revision())
		r := c.check()
		if r.Differences != 1 || r.Found[0].Kind != kinglet.Missing || r.Found[0].Key != named("a-b/o05") {
			c.Errorf("found %+v", r)
		}
		synctest.Wait()
		c.equal()
	})
}

// Whatever is written meanwhile, compacted meanwhile, and broken meanwhile: no
// check finds a difference while there is none, and each that there is made is
// found within one sweep after things have come to rest.
func TestNoCheckUnderChurnFindsADifferenceUnlessThereIsOne(t *testing.T) {
	seed := testkit.Seed(t)
	checks, compared, skipped, sweeps, found := 0, 0, 0, 0, 0
	for n := range uint64(4) {
		rnd := rand.New(rand.NewPCG(seed, n))
		opts := kinglet.Options[configMap]{ConsistencyCheck: kinglet.ConsistencyCheck{
			Limit: 1 + rnd.Int64N(12), Every: time.Second,
		}}
		names := someObjects(60)
		plan := apiserver.Plan{Seed: seed + n, Rate: 30}
		var calm atomic.Bool
		inChecked(t, names[:30], apiserver.Options{BookmarkInterval: 2 * time.Second, Inject: func(r *apiserver.Request) *apiserver.Fault {
			if r.Number < 5 || calm.Load() {
				return nil
			}
			_, f := plan.Of(r)
			return &f
		}}, opts, nil, func(c *checked) {
			for range 150 {
				c.someWrites(rnd, names)
				switch rnd.IntN(8) {
				case 0:
					c.storage.Compact(c.storage.Revision() - rnd.Int64N(20))
				case 1:
					c.storage.Skip(rnd.Int64N(5))
				case 2:
					synctest.Wait()
				case 3:
					testbubble.Pass(time.Duration(rnd.Int64N(int64(3 * time.Second))))
				}
				r, err := c.informer.CheckConsistency(c.Context())
				if r.Differences != 0 {
					c.Errorf("machine %d: %+v, %v", n, r, err)
				}
			}
			calm.Store(true)
			testbubble.Pass(10 * time.Minute)
			s := c.informer.Status().Consistency
			if s.Differences != 0 {
				c.Errorf("%d differences in the background", s.Differences)
			}
			checks += int(s.Checks - s.NotChecked)
			compared += int(s.Compared)
			skipped += int(s.Skipped)
			sweeps += int(s.Sweeps)
			for kind := kinglet.Missing; kind <= kinglet.OtherContent; kind++ {
				objs := c.has()
				if len(objs) == 0 {
					continue
				}
				before := c.informer.Status().Consistency
				obj := objs[rnd.IntN(len(objs))]
				c.storage.Compact(c.storage.Revision())
				damages[kind](c, obj.Namespace+"/"+obj.Name)
				for s = before; s.Sweeps < before.Sweeps+2; s = c.informer.Status().Consistency {
					testbubble.Pass(time.Second)
				}
				synctest.Wait()
				c.equal()
				if s.Differences != before.Differences+1 {
					c.Errorf("machine %d, %v of %s/%s: %d differences were found", n, kind, obj.Namespace, obj.Name, s.Differences-before.Differences)
				}
				found++
			}
		})
	}
	t.Logf("%d checks, %d objects compared, %d skipped, %d sweeps, %d differences made", checks, compared, skipped, sweeps, found)
	if checks == 0 || compared == 0 || skipped == 0 || sweeps == 0 || found == 0 {
		t.Error("the random operations did not reach all that they should")
	}
}

func (c *checked) someWrites(rnd *rand.Rand, names []string) {
	exists := map[string]bool{}
	for _, obj := range c.has() {
		exists[obj.Namespace+"/"+obj.Name] = true
	}
	for range rnd.IntN(6) {
		name := names[rnd.IntN(len(names))]
		switch {
		case !exists[name]:
			c.create(name)
			exists[name] = true
		case rnd.IntN(3) == 0:
			c.delete(name)
			exists[name] = false
		default:
			c.update(name)
		}
	}
}
