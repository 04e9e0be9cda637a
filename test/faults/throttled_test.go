package faults_test

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kinglet-go/kinglet/internal/tests/testbubble"
	"github.com/kinglet-go/kinglet/kinglettest/apiserver"
	"github.com/kinglet-go/kinglet/reflector"
)

const retryAfter = 7 * time.Second

func throttled() error {
	return apierrors.NewTooManyRequests("slow down", int(retryAfter/time.Second))
}

func internal() error {
	return apierrors.NewInternalError(fmt.Errorf("etcdserver: leader changed"))
}

func unavailable() error {
	return apierrors.NewServiceUnavailable("the server is currently unable to handle the request")
}

func badGateway() error {
	return apierrors.NewGenericServerResponse(http.StatusBadGateway, "get", schema.GroupResource{}, "", "", 0, true)
}

func TestA429OnListIsNotAskedAgainBeforeRetryAfter(t *testing.T) {
	each(t, setup{server: paged, script: apiserver.Script{
		{Match: apiserver.On("list"), Times: 3, Fault: apiserver.Fault{Answer: throttled()}},
	}}, func(r *rig) {
		testbubble.Elapse(2 * time.Minute)
		reqs := r.took()
		r.sequence(reqs, "watch-list", "list 0!", "list 0!", "list 0!", "list 0", "watch "+r.version())
		for i := 1; i <= 3; i++ {
			r.apart(reqs, i, retryAfter)
		}
		r.heard("add o0=1", "add o1=1", "add o2=1")
	})
}

func TestA429OnWatchListIsNotAskedAgainBeforeRetryAfter(t *testing.T) {
	each(t, setup{script: apiserver.Script{
		{Match: apiserver.On("watch-list"), Fault: apiserver.Fault{Answer: throttled()}},
	}}, func(r *rig) {
		testbubble.Elapse(time.Minute)
		reqs := r.took()
		r.sequence(reqs, "watch-list!", "list 0", "watch "+r.version())
		r.apart(reqs, 0, retryAfter)
	})
}

func TestA429OnWatchIsAskedAgainFromTheSameVersionAfterRetryAfter(t *testing.T) {
	each(t, setup{}, func(r *rig) {
		r.synced()
		at := r.version()
		r.arm(apiserver.Script{{Match: apiserver.On("watch"), Times: 2, Fault: apiserver.Fault{Answer: throttled()}}})
		r.disconnect(func() {
			r.put("o0", "2")
		})
		testbubble.Elapse(time.Minute)
		reqs := r.begins(r.took(), "watch "+at+"!", "watch "+at+"!", "watch "+at)
		r.apart(reqs, 0, retryAfter)
		r.apart(reqs, 1, retryAfter)
		r.heard("update o0=2")
	})
}

// Whatever was refused, the next request comes no sooner than the server asks, and no later
// than the five minutes that count of what it asks.
func TestARetryAfterIsKeptUpToFiveMinutesWhateverWasRefused(t *testing.T) {
	const counts, jitter = 5 * time.Minute, 30 * time.Second
	is := func(what string) func(*apiserver.Request) bool {
		return func(q *apiserver.Request) bool { return strings.HasPrefix(name(q), what) }
	}
	for what, c := range map[string]struct {
		refused func(*apiserver.Request) bool
		synced  bool
		objects int
	}{
		"first list":    {refused: is("list 0")},
		"later page":    {refused: is("continue"), objects: 501},
		"watch":         {refused: is("watch"), synced: true},
		"relist":        {refused: is("list"), synced: true},
		"initial watch": {refused: apiserver.On("watch")},
	} {
		for _, asks := range []time.Duration{retryAfter, 24 * time.Hour} {
			t.Run(fmt.Sprint(what, ", ", asks), func(t *testing.T) {
				busy := apiserver.Script{{Match: c.refused, Times: -1, Fault: apiserver.Fault{
					Answer: apierrors.NewTooManyRequests("slow down", int(asks/time.Second)),
				}}}
				s := setup{server: paged, objects: c.objects, script: busy}
				switch {
				case c.synced:
					s.script = nil
				case what == "later page": // the first list comes in one piece
					s.script = append(apiserver.Script{{Match: apiserver.On("list"), Fault: apiserver.Fault{Answer: expired()}}}, busy...)
				}
				each(t, s, func(r *rig) {
					if c.synced {
						r.synced()
						r.arm(busy)
						r.disconnect(func() {
							r.storage.Skip(10)
							if what == "relist" {
								r.storage.Compact(r.storage.Revision())
							}
						})
					}
					testbubble.Elapse(12 * time.Minute)
					reqs := r.took()
					refused := 0
					for i, q := range reqs[:len(reqs)-1] {
						if q.fault && (what != "later page" || q.what == "continue") {
							refused++
							r.apart(reqs, i, min(asks, counts))
						}
					}
					if refused < 2 {
						r.t.Errorf("asked for %v in 12 minutes", reqs)
					}
					r.arm(nil)
					r.put("o0", "2")
					testbubble.Elapse(counts + jitter)
					if shown := r.values(); !slices.Contains(shown, "o0=2") {
						r.t.Errorf("%v after the server has recovered it shows %d objects", counts+jitter, len(shown))
					}
				})
			})
		}
	}
}

// Each of them is what a server says while it restarts, loses its leader, or
// stands behind a proxy that has lost it.
func TestServerErrorsOnListAreRetriedWithBackoffAndShown(t *testing.T) {
	for name, c := range map[string]struct {
		answer error
		is     func(error) bool
	}{
		"500": {internal(), apierrors.IsInternalError},
		"502": {badGateway(), something},
		"503": {unavailable(), apierrors.IsServiceUnavailable},
	} {
		t.Run(name, func(t *testing.T) {
			each(t, setup{server: paged, script: apiserver.Script{
				{Match: apiserver.On("list"), Times: 3, Fault: apiserver.Fault{Answer: c.answer}},
			}}, func(r *rig) {
				testbubble.Elapse(500 * time.Millisecond)
				r.status(reflector.BackingOff, c.is)
				testbubble.Elapse(time.Minute)
				reqs := r.took()
				lists := reqs[1:]
				for i, least := range []time.Duration{800 * time.Millisecond, 1600 * time.Millisecond, 3200 * time.Millisecond} {
					r.apart(lists, i, least)
				}
				if n := len(lists); n < 5 || lists[n-1].what != "watch "+r.version() {
					r.t.Errorf("asked for %v", reqs)
				}
				r.reported("says so", c.is)
				r.heard("add o0=1", "add o1=1", "add o2=1")
			})
		})
	}
}

func TestServerErrorsLeadToTheSameWatchAgainAndToNoListThatIsAnswered(t *testing.T) {
	for name, answer := range map[string]error{"500": internal(), "502": badGateway(), "503": unavailable()} {
		t.Run(name, func(t *testing.T) {
			each(t, setup{}, func(r *rig) {
				r.synced()
				at := r.version()
				r.arm(apiserver.Script{{Times: 5, Fault: apiserver.Fault{Answer: answer}}})
				r.disconnect(func() {
					r.put("o0", "2")
					r.remove("o1")
				})
				r.shows("o0=1", "o1=1", "o2=1")
				testbubble.Elapse(5 * time.Minute)
				r.begins(r.took(), "watch "+at+"!", "watch "+at+"!", "list from "+at+"!", "watch "+at+"!", "list from "+at+"!", "watch "+at)
				r.heard("update o0=2", "delete o1")
			})
		})
	}
}
