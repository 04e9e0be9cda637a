package ctrlruntime

import (
	"fmt"
	"net/http"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/labels"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/cache"

	"github.com/kinglet-go/kinglet/ctrlruntime"
	"github.com/kinglet-go/kinglet/internal/tests/testbubble"
	"github.com/kinglet-go/kinglet/kinglettest/apiserver"
)

// overtaken keeps the answer to a delete back until something has happened.
type overtaken struct {
	happens *func()
	next    http.RoundTripper
}

func (o *overtaken) RoundTrip(req *http.Request) (*http.Response, error) {
	resp, err := o.next.RoundTrip(req)
	if err == nil && req.Method == http.MethodDelete {
		(*o.happens)()
	}
	return resp, err
}

// The answer to a delete does not have the version at which the object left.
func TestWhatIsMadeAnewAfterADeleteIsInReadsAtOnce(t *testing.T) {
	anew := func(w *writer) { w.create(labelled(configMap("ns", "a", nil), "anew")) }
	scenarios := map[string]struct {
		// seen: the cache has the object before the delete. early happens before its answer
		// arrives, and late after it.
		seen        bool
		early, late func(w *writer)
	}{
		"the watch has not shown it":              {late: anew},
		"nor that it was made anew meanwhile":     {early: anew},
		"the watch has shown all of it meanwhile": {seen: true, early: func(w *writer) { anew(w); w.server.Release(); synctest.Wait() }},
		"a list shows none of it": {late: func(w *writer) {
			anew(w)
			var once atomic.Bool
			w.refused(func(r *apiserver.Request) error {
				if r.Verb == "watch" && once.CompareAndSwap(false, true) {
					return apierrors.NewResourceExpired("too old")
				}
				return nil
			})
			w.server.Disconnect()
			w.server.Release()
			testbubble.Pass(5 * time.Second)
		}},
	}
	transforms := map[string]toolscache.TransformFunc{"none": nil, "strips managed fields": cache.TransformStripManagedFields(), "slim": slim}
	for scenario, does := range scenarios {
		for transform, f := range transforms {
			for n := range 3 * 3 * 3 {
				form, selected, asked := allForms[n%3], [...]string{"all", "selected", "only what is made anew"}[n/3%3], [...]string{"answers", "is busy at first", "has no field selectors"}[n/9]
				if does.seen && selected == "only what is made anew" {
					continue
				}
				t.Run(fmt.Sprintf("%s, %s, transform %s, in the cache %s, the server %s", scenario, form, transform, selected, asked), func(t *testing.T) {
					synctest.Test(t, func(t *testing.T) {
						world := newWorld(t)
						happens := func() {}
						world.wrap = func(next http.RoundTripper) http.RoundTripper { return &overtaken{&happens, next} }
						opts := cache.Options{DefaultTransform: f}
						if selected != "all" {
							opts.DefaultLabelSelector, _ = labels.Parse("x in (old, anew)")
						}
						w, end := world.withClient(ctrlruntime.Options{}, opts, form)
						defer end()
						old := labelled(configMap("ns", "a", nil), "old")
						if selected == "only what is made anew" {
							old = configMap("ns", "a", nil)
						}
						w.create(old)
						if does.seen {
							w.server.Release()
							synctest.Wait()
							w.server.Hold()
						}
						var once atomic.Bool
						w.refused(func(r *apiserver.Request) error {
							switch {
							case !byName(r):
							case asked == "has no field selectors":
								return apierrors.NewBadRequest("unknown field selector")
							case asked == "is busy at first" && once.CompareAndSwap(false, true):
								return apierrors.NewTooManyRequests("busy", 1)
							}
							return nil
						})
						if does.early != nil {
							happens = func() { does.early(w) }
						}
						ok(t, w.Delete(t.Context(), object(form, "ns", "a")))
						if x, waited := w.reads(form, "ns", "a"); x == "old" || waited != 0 {
							t.Errorf("after the delete, reads show %q after %v", x, waited)
						}
						if does.late != nil {
							does.late(w)
						}
						w.server.Release()
						synctest.Wait()
						w.shows("when the watch has come", form, "anew")
					})
				})
			}
		}
	}
}
