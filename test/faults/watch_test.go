package faults_test

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	kc "k8s.io/client-go/tools/cache"

	"github.com/kinglet-go/kinglet/internal/tests/testbubble"
	"github.com/kinglet-go/kinglet/kinglettest/apiserver"
	"github.com/kinglet-go/kinglet/reflector"
)

// short is what a watch that ends at once is called, by either package.
func short(err error) bool {
	_, ok := errors.AsType[*kc.VeryShortWatchError](err)
	return ok || errors.Is(err, reflector.ErrShortWatch)
}

func TestAWatchThatClosesAtOnceAgainAndAgainIsPolledOnceAWait(t *testing.T) {
	each(t, setup{}, func(r *rig) {
		r.synced()
		r.arm(apiserver.Script{{Match: apiserver.On("watch"), Times: -1, Fault: apiserver.Fault{EndAfter: -1}}})
		r.disconnect(func() {
			r.put("o0", "2")
		})
		testbubble.Elapse(5 * time.Minute)
		lists := 0
		for _, q := range r.took() {
			if strings.HasPrefix(q.what, "list") {
				lists++
			} else if !strings.HasPrefix(q.what, "watch ") || !q.fault {
				r.t.Errorf("asked for %s", q.what)
			}
		}
		// 0.8, 1.6 … 25.6 s at least come to 51 s and six waits; 30 s each after that.
		// Twice as long at most.
		if lists < 5 || lists > 19 {
			r.t.Errorf("%d lists in five minutes", lists)
		}
		r.reported("says that the watch was short", short)
		r.shows("o0=2", "o1=1", "o2=1")
		r.heard("update o0=2")
		r.arm(nil)
		testbubble.Elapse(2 * time.Minute)
		r.begins(r.took(), "list from "+r.version(), "watch "+r.version())
	})
}

func TestAWatchThatEndsInGoodOrderIsGoneOnWithAtOnceFromItsLastEvent(t *testing.T) {
	each(t, setup{json: true}, func(r *rig) {
		r.synced()
		at := r.version()
		r.arm(apiserver.Script{{Match: apiserver.On("watch"), Fault: apiserver.Fault{EndAfter: 2}}})
		var second string
		r.disconnect(func() {
			r.put("o0", "2")
			second = r.put("o0", "3")
			r.remove("o1")
		})
		testbubble.Elapse(2 * time.Second)
		r.asked("watch "+at+"!", "watch "+second)
		r.heard("update o0=2", "update o0=3", "delete o1")
	})
}

func TestABookmarkThatNeverComesIsWaitedForTenSecondsAndThenListed(t *testing.T) {
	each(t, setup{script: apiserver.Script{
		{Match: apiserver.On("watch-list"), Times: -1, Fault: apiserver.Fault{NoBookmarks: true}},
	}}, func(r *rig) {
		testbubble.Elapse(9 * time.Second)
		r.heard()
		testbubble.Elapse(2 * time.Second)
		r.asked("watch-list!", "list 0", "watch "+r.version())
		r.heard("add o0=1", "add o1=1", "add o2=1")
		r.put("o0", "2")
		testbubble.Elapse(time.Second)
		r.heard("update o0=2")
		r.reported("says that it stands still", func(err error) bool { return errors.Is(err, reflector.ErrStalled) })
	})
}

func TestAWatchWithoutBookmarksIsAsGoodAsAny(t *testing.T) {
	each(t, setup{}, func(r *rig) {
		r.synced()
		at := r.version()
		r.arm(apiserver.Script{{Match: apiserver.On("watch"), Times: -1, Fault: apiserver.Fault{NoBookmarks: true}}})
		r.server.Disconnect()
		testbubble.Elapse(12 * time.Minute)
		for _, q := range r.took() {
			if q.what != "watch "+at {
				r.t.Errorf("asked for %s", q.what)
			}
		}
		r.put("o0", "2")
		testbubble.Elapse(time.Second)
		r.heard("update o0=2")
	})
}

// A second event of one version is an Update that changes nothing, or none: a
// watch of a program's own may have meant it.
func TestEventsThatComeTwiceAreNoSecondAddOrDeleteAndNoStepBack(t *testing.T) {
	each(t, setup{json: true, script: apiserver.Script{{Times: -1, Fault: apiserver.Fault{Duplicate: true}}}}, func(r *rig) {
		r.told.repeats()
		testbubble.Elapse(5 * time.Second)
		r.put("o0", "2")
		r.put("o0", "3")
		r.remove("o1")
		r.put("o1", "again")
		testbubble.Elapse(5 * time.Second)
		r.shows("o0=3", "o1=again", "o2=1")
		r.asked("watch-list!")
		lines := slices.DeleteFunc(r.told.take(), func(line string) bool { return strings.HasPrefix(line, "update") })
		want := []string{"add o0=1", "add o1=1", "add o2=1", "delete o1", "add o1=again"}
		if !slices.Equal(lines, want) {
			r.t.Errorf("was told %q\n     want %q", lines, want)
		}
	})
}

func TestAWatchThatEndsWithAnErrorStatusIsGoneOnWithFromItsLastEvent(t *testing.T) {
	each(t, setup{json: true}, func(r *rig) {
		r.synced()
		at := r.version()
		r.arm(apiserver.Script{{Match: apiserver.On("watch"), Fault: apiserver.Fault{EndAfter: 1, End: internal()}}})
		var first string
		r.disconnect(func() {
			first = r.put("o0", "2")
			r.put("o0", "3")
		})
		testbubble.Elapse(time.Minute)
		r.asked("watch "+at+"!", "watch "+first)
		r.heard("update o0=2", "update o0=3")
	})
}

func TestAnErrorStatusAtOneVersionAgainAndAgainEndsInOneRelist(t *testing.T) {
	each(t, setup{}, func(r *rig) {
		r.synced()
		at := r.version()
		r.arm(apiserver.Script{{Match: apiserver.On("watch"), Times: 2, Fault: apiserver.Fault{EndAfter: -1, End: internal()}}})
		r.disconnect(func() {
			r.put("o0", "2")
		})
		testbubble.Elapse(2 * time.Minute)
		r.asked("watch "+at+"!", "watch "+at+"!", "list from "+at, "watch "+r.version())
		r.heard("update o0=2")
		r.reported("is the server's", apierrors.IsInternalError)
	})
}
