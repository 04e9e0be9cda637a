package consistency_test

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kinglet-go/kinglet"
	"github.com/kinglet-go/kinglet/internal/engine/consistency"
	"github.com/kinglet-go/kinglet/internal/tests/testbubble"
	"github.com/kinglet-go/kinglet/kinglettest/apiserver"
	"github.com/kinglet-go/kinglet/source"
	"github.com/kinglet-go/kinglet/store"
)

func TestEachKindOfDifferenceIsFoundReportedAndHealedByARelist(t *testing.T) {
	told := map[consistency.Kind][]string{
		kinglet.Missing:      {"update b"}, // it was told of b, and of no delete
		kinglet.Surplus:      nil,          // it was told of no ghost, so of no end either
		kinglet.OtherVersion: {"update b"},
		kinglet.OtherObject:  {"delete b, final state unknown true", "add b"},
		kinglet.OtherContent: {"update b"},
	}
	for kind, damage := range damages {
		t.Run(kind.String(), func(t *testing.T) {
			inChecked(t, []string{"ns/a", "ns/b", "ns/c"}, apiserver.Options{}, kinglet.Options[configMap]{}, nil, func(c *checked) {
				if r := c.check(); r.Differences != 0 || r.Compared != 3 || !r.Complete || r.Bytes == 0 {
					c.Fatalf("before: %+v", r)
				}
				damage(c, "ns/b")
				r := c.check()
				if r.Differences != 1 || len(r.Found) != 1 || r.Found[0].Kind != kind || !strings.HasPrefix(r.Found[0].Key.Name, "b") || !r.Relisting {
					c.Errorf("found %+v", r)
				}
				synctest.Wait()
				c.equal()
				lines, errs := c.take()
				if !slices.Equal(lines, told[kind]) {
					c.Errorf("the handler was told %q", lines)
				}
				var found *kinglet.InconsistentError
				if len(errs) != 1 || !errors.As(errs[0], &found) || len(found.Found) != 1 || found.Found[0] != r.Found[0] {
					c.Errorf("reported: %v", errs)
				}
				st := c.informer.Status()
				if s := st.Consistency; s.Checks != 2 || s.Differences != 1 || s.Relists != 1 || s.NotChecked != 0 || s.Sweeps != 2 {
					c.Errorf("status: %+v", s)
				}
				if st.Degraded || st.LastError != nil || st.Phase.String() != "Watching" {
					c.Errorf("after the relist: %+v", st)
				}
				if r := c.check(); r.Differences != 0 || r.Compared != 3 {
					c.Errorf("after: %+v", r)
				}
			})
		})
	}
}

func TestAnEventThatTheServerFalsifiedIsFoundAndHealed(t *testing.T) {
	script := apiserver.Script{{Match: apiserver.On("watch"), Times: -1, Fault: apiserver.Fault{
		Replace: func(obj runtime.Object) runtime.Object {
			cm := obj.(configMap).DeepCopy()
			if cm.Data["n"] == "1" {
				cm.Data["n"] = "falsified"
			}
			return cm
		},
	}}}
	inChecked(t, []string{"ns/a", "ns/b"}, apiserver.Options{Inject: script.Inject()}, kinglet.Options[configMap]{DisableWatchList: true}, nil, func(c *checked) {
		c.update("ns/b")
		synctest.Wait()
		r := c.check()
		if r.Differences != 1 || r.Found[0].Kind != kinglet.OtherContent || r.Found[0].Key != named("ns/b") {
			c.Errorf("found %+v", r)
		}
		synctest.Wait()
		c.equal()
		if lines, _ := c.take(); !slices.Equal(lines, []string{"update b", "update b"}) {
			c.Errorf("the handler was told %q", lines)
		}
	})
}

func TestADifferenceThatARelistDoesNotHealIsReportedAgainWithoutAnotherRelist(t *testing.T) {
	lists := 0
	inject := func(r *apiserver.Request) *apiserver.Fault {
		probe := r.Options.ResourceVersion == "" && r.Options.Limit == 1
		if r.Verb != "list" || probe || r.Options.ResourceVersionMatch == metav1.ResourceVersionMatchExact {
			return nil
		}
		lists++
		return &apiserver.Fault{Replace: func(obj runtime.Object) runtime.Object {
			cm := obj.(configMap).DeepCopy()
			cm.Data["n"] = "falsified"
			return cm
		}}
	}
	inChecked(t, []string{"ns/a"}, apiserver.Options{Inject: inject}, kinglet.Options[configMap]{DisableWatchList: true}, nil, func(c *checked) {
		for n := range 3 {
			if r := c.check(); r.Differences != 1 || r.Relisting != (n == 0) {
				c.Errorf("check %d: %+v", n, r)
			}
			synctest.Wait()
			testbubble.Pass(10 * time.Minute)
		}
		if lists != 2 {
			c.Errorf("%d lists", lists)
		}
		if _, errs := c.take(); len(errs) != 3 {
			c.Errorf("reported: %v", errs)
		}
	})
}

func TestReportOnlyDoesNotRelist(t *testing.T) {
	opts := kinglet.Options[configMap]{ConsistencyCheck: kinglet.ConsistencyCheck{ReportOnly: true}}
	inChecked(t, []string{"ns/a"}, apiserver.Options{}, opts, nil, func(c *checked) {
		damages[kinglet.Missing](c, "ns/a")
		if r := c.check(); r.Differences != 1 || r.Relisting {
			c.Errorf("%+v", r)
		}
		synctest.Wait()
		if n := c.informer.Store().Len(); n != 0 {
			c.Errorf("%d objects", n)
		}
	})
}

func TestNothingIsComparedUnlessTheServerAnswersAtExactlyOneVersion(t *testing.T) {
	exact := func(r *apiserver.Request) bool {
		return r.Options.ResourceVersionMatch == metav1.ResourceVersionMatchExact
	}
	for name, c := range map[string]struct {
		fault apiserver.Fault
		is    func(error) bool
	}{
		"refused":   {apiserver.Fault{Answer: apierrors.NewBadRequest("resourceVersionMatch: Invalid value")}, apierrors.IsBadRequest},
		"compacted": {apiserver.Fault{Answer: apierrors.NewResourceExpired("too old")}, apierrors.IsResourceExpired},
		"forbidden": {apiserver.Fault{Answer: apierrors.NewForbidden(apiserver.ConfigMaps.GroupResource(), "", errors.New("no"))}, apierrors.IsForbidden},
		"cut off":   {apiserver.Fault{CutAfter: 50}, func(error) bool { return true }},
		"no answer": {apiserver.Fault{StallAfter: -1}, func(err error) bool { return errors.Is(err, context.DeadlineExceeded) }},
	} {
		t.Run(name, func(t *testing.T) {
			script := apiserver.Script{{Match: exact, Times: -1, Fault: c.fault}}
			inChecked(t, []string{"ns/a", "ns/b"}, apiserver.Options{Inject: script.Inject()}, kinglet.Options[configMap]{}, nil, func(w *checked) {
				damages[kinglet.Missing](w, "ns/a")
				began := time.Now()
				r, err := w.informer.CheckConsistency(w.Context())
				var not *kinglet.NotCheckedError
				if !errors.As(err, &not) || !c.is(err) || r.Differences != 0 || r.Compared != 0 {
					w.Errorf("%+v, %v", r, err)
				}
				if took := time.Since(began); took > time.Minute {
					w.Errorf("took %v", took)
				}
				if s := w.informer.Status().Consistency; s.NotChecked != 1 || s.LastNotChecked == nil || s.Differences != 0 || s.Relists != 0 {
					w.Errorf("%+v", s)
				}
				if _, errs := w.take(); len(errs) != 0 {
					w.Errorf("reported: %v", errs)
				}
			})
		})
	}
}

func TestChecksRunPeriodicallyOnlyIfEveryIsSet(t *testing.T) {
	for _, every := range []time.Duration{0, time.Minute} {
		opts := kinglet.Options[configMap]{ConsistencyCheck: kinglet.ConsistencyCheck{Every: every}}
		inChecked(t, []string{"ns/a"}, apiserver.Options{}, opts, nil, func(c *checked) {
			testbubble.Pass(3 * time.Hour)
			n := c.informer.Status().Consistency.Checks
			if every == 0 && n != 0 || every > 0 && (n < 120 || n > 180) {
				c.Errorf("every %v: %d checks in three hours", every, n)
			}
		})
	}
}

func TestAfterATransformIdentityIsComparedAndContentIsNot(t *testing.T) {
	calls := 0
	over := func(src source.Source[configMap]) source.Source[configMap] {
		return source.Map(src, func(cm configMap) (configMap, error) {
			calls++
			cm.Data = map[string]string{"transformed": "yes"}
			return cm, nil
		})
	}
	inChecked(t, []string{"ns/a", "ns/b"}, apiserver.Options{}, kinglet.Options[configMap]{}, over, func(c *checked) {
		if r := c.check(); r.Differences != 0 || r.Compared != 2 || calls != 2 {
			c.Errorf("%+v, %d calls of the transform", r, calls)
		}
		damages[kinglet.OtherContent](c, "ns/a")
		if r := c.check(); r.Differences != 0 || r.Compared != 2 {
			c.Errorf("content: %+v", r)
		}
		damages[kinglet.OtherVersion](c, "ns/a")
		if r := c.check(); r.Differences != 1 || r.Found[0].Kind != kinglet.OtherVersion {
			c.Errorf("version: %+v", r)
		}
	})
}

func TestQuarantinedKeysAndObjectsAheadOfTheServerAreNoDifferences(t *testing.T) {
	script := apiserver.Script{{Match: apiserver.On("watch"), Times: -1, Fault: apiserver.Fault{
		Damage: func(key types.NamespacedName) bool { return key.Name == "broken" },
	}}}
	inChecked(t, []string{"ns/a", "ns/broken"}, apiserver.Options{Inject: script.Inject()}, kinglet.Options[configMap]{DisableWatchList: true}, nil, func(c *checked) {
		c.update("ns/broken")
		ahead, _ := c.informer.Store().Get(named("ns/a"))
		ahead = ahead.DeepCopy()
		ahead.ResourceVersion = strconv.FormatInt(c.storage.Revision()+5, 10)
		c.write(ahead)
		synctest.Wait()
		if n := len(c.informer.Quarantined()); n != 1 {
			c.Fatalf("%d in quarantine", n)
		}
		if r := c.check(); r.Differences != 0 || r.Compared != 0 || r.Skipped != 2 {
			c.Errorf("%+v", r)
		}
		// What a hand writes may move the store's own version back.
		c.delete("ns/a")
		synctest.Wait()
		c.must(c.informer.WritableStore().Write(store.Op[configMap]{Key: named("ns/nobody"), Delete: true, ResourceVersion: "101"}))
		if r := c.check(); r.Differences != 0 || r.Skipped != 1 || r.ResourceVersion == "101" {
			c.Errorf("after a write by hand: %+v", r)
		}
	})
}
