package faults_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/kinglet-go/kinglet/internal/tests/testbubble"
	"github.com/kinglet-go/kinglet/kinglettest/apiserver"
	"github.com/kinglet-go/kinglet/reflector"
)

// something is any error.
func something(err error) bool { return err != nil }

func TestARefusedConnectionIsTriedAgainWithBackoff(t *testing.T) {
	each(t, setup{script: apiserver.Script{
		{Times: 2, Fault: apiserver.Fault{Refuse: true}},
	}}, func(r *rig) {
		testbubble.Elapse(500 * time.Millisecond)
		r.status(reflector.BackingOff, something)
		testbubble.Elapse(time.Minute)
		reqs := r.took()
		r.sequence(reqs, "watch-list!", "list 0!", "watch-list")
		r.apart(reqs, 1, 800*time.Millisecond)
		r.heard("add o0=1", "add o1=1", "add o2=1")
	})
}

func TestAServerThatIsAwayIsWaitedForAndNothingIsTornDown(t *testing.T) {
	each(t, setup{}, func(r *rig) {
		r.synced()
		at := r.version()
		r.arm(apiserver.Script{{Times: 9, Fault: apiserver.Fault{Refuse: true}}})
		r.disconnect(func() {
			r.put("o0", "2")
			r.remove("o1")
		})
		testbubble.Elapse(10 * time.Second)
		r.shows("o0=1", "o1=1", "o2=1")
		// 0.8, 1.6 … 25.6 s, and up to twice as much: 101 s.
		testbubble.Elapse(3 * time.Minute)
		// The tenth is answered, and if that is a probe, the watch follows. No list was.
		reqs := r.tookAll()
		for i, q := range reqs {
			again := i > 9 && strings.HasPrefix(q.what, "watch ") // a watch after a failure is short
			if q.what != "watch "+at && q.what != "probe" && !again && !(q.what == "list from "+at && q.fault) || q.fault != (i < 9) {
				r.t.Errorf("request %d was for %s", i+1, q.what)
			}
		}
		if n := len(reqs); n < 10 || n > 15 || !strings.HasPrefix(reqs[n-1].what, "watch ") {
			r.t.Errorf("%d requests: %v", n, reqs)
		}
		r.heard("update o0=2", "delete o1")
	})
}

func TestAListThatIsResetInItsMiddleIsThrownAwayAndAskedForAgain(t *testing.T) {
	each(t, setup{server: paged, json: true, script: apiserver.Script{
		{Match: apiserver.On("list"), Fault: apiserver.Fault{CutAfter: 200}},
	}}, func(r *rig) {
		testbubble.Elapse(500 * time.Millisecond)
		r.shows()
		r.heard()
		testbubble.Elapse(time.Minute)
		r.reported("tells of the end that came too early", something)
		reqs := r.took()
		lists := 0
		for _, q := range reqs {
			if q.what == "list 0" {
				lists++
			}
		}
		if lists != 2 {
			r.t.Errorf("asked for %v", reqs)
		}
		r.heard("add o0=1", "add o1=1", "add o2=1")
	})
}

func TestInitialEventsThatAreResetInTheirMiddleAreNotPublished(t *testing.T) {
	each(t, setup{json: true, script: apiserver.Script{
		{Match: apiserver.On("watch-list"), Fault: apiserver.Fault{CutAfter: 300}},
		{Match: apiserver.On("list"), Fault: apiserver.Fault{Refuse: true}},
	}}, func(r *rig) {
		testbubble.Elapse(500 * time.Millisecond)
		r.shows()
		r.heard()
		testbubble.Elapse(time.Minute)
		r.asked("watch-list!", "list 0!", "watch-list")
		r.heard("add o0=1", "add o1=1", "add o2=1")
	})
}

func TestAWatchThatIsResetIsGoneOnWithFromItsLastEventWithoutAList(t *testing.T) {
	each(t, setup{json: true}, func(r *rig) {
		r.synced()
		at := r.put("o0", "2")
		testbubble.Elapse(time.Second)
		r.disconnect(func() {
			r.put("o0", "3")
			r.remove("o1")
		})
		testbubble.Elapse(time.Minute)
		r.asked("watch " + at)
		r.heard("update o0=2", "update o0=3", "delete o1")
	})
}

func TestAnEventThatIsTruncatedIsNotTakenInAndComesAgain(t *testing.T) {
	each(t, setup{json: true}, func(r *rig) {
		r.synced()
		at := r.version()
		r.arm(apiserver.Script{{Match: apiserver.On("watch"), Fault: apiserver.Fault{CutAfter: 40}}})
		r.disconnect(func() {
			r.put("o0", "2")
		})
		testbubble.Elapse(time.Minute)
		r.begins(r.took(), "watch "+at+"!", "watch "+at)
		r.heard("update o0=2")
	})
}

// Nothing comes, and no end: ten seconds without progress are enough for
// initial events, which are few bytes apart.
func TestAHalfOpenConnectionUnderInitialEventsIsLeftForAPagedList(t *testing.T) {
	each(t, setup{script: apiserver.Script{
		{Match: apiserver.On("watch-list"), Fault: apiserver.Fault{StallAfter: 300}},
	}}, func(r *rig) {
		testbubble.Elapse(9 * time.Second)
		r.shows()
		testbubble.Elapse(2 * time.Second)
		r.asked("watch-list!", "list 0", "watch "+r.version())
		r.heard("add o0=1", "add o1=1", "add o2=1")
		r.reported("says that it stands still", func(err error) bool { return errors.Is(err, reflector.ErrStalled) })
	})
}

func TestAHalfOpenConnectionUnderAListIsLeftAfterTenMinutes(t *testing.T) {
	each(t, setup{server: paged, script: apiserver.Script{
		{Match: apiserver.On("list"), Fault: apiserver.Fault{StallAfter: 200}},
	}}, func(r *rig) {
		testbubble.Elapse(11 * time.Minute)
		r.reported("says that it stands still", func(err error) bool { return errors.Is(err, reflector.ErrStalled) })
		r.heard("add o0=1", "add o1=1", "add o2=1")
	})
}

// Every watch asks for its own end, 5 to 10 minutes ahead; a server that lets
// half a minute more go by is taken for dead.
func TestAHalfOpenConnectionUnderAResumedWatchIsLeftAfterTwoMinutes(t *testing.T) {
	each(t, setup{}, func(r *rig) {
		r.synced()
		at := r.version()
		r.arm(apiserver.Script{{Match: apiserver.On("watch"), Fault: apiserver.Fault{StallAfter: -1}}})
		r.disconnect(func() {
			r.put("o0", "2")
		})
		testbubble.Elapse(time.Minute)
		r.shows("o0=1", "o1=1", "o2=1")
		testbubble.Elapse(12 * time.Minute) // the watch after the silent one ends within 10
		reqs := r.took()
		r.sequence(reqs[:min(2, len(reqs))], "watch "+at+"!", "watch "+at)
		r.apart(reqs, 0, 2*time.Minute)
		r.heard("update o0=2")
	})
}

func TestBytesThatTrickleAreAllTakenInWithOneRequest(t *testing.T) {
	slow := apiserver.Fault{Trickle: 1, TrickleEvery: 20 * time.Millisecond}
	each(t, setup{json: true, script: apiserver.Script{{Times: -1, Fault: slow}}}, func(r *rig) {
		// Some 400 bytes an object in JSON: 8 seconds each.
		testbubble.Elapse(2 * time.Minute)
		r.asked("watch-list!")
		r.heard("add o0=1", "add o1=1", "add o2=1")
		r.put("o0", "2")
		r.remove("o1")
		testbubble.Elapse(2 * time.Minute)
		r.asked()
		r.heard("update o0=2", "delete o1")
	})
}

func TestAListThatTricklesIsTakenInWithOneRequest(t *testing.T) {
	slow := apiserver.Fault{Trickle: 3, TrickleEvery: 20 * time.Millisecond}
	each(t, setup{server: paged, json: true, script: apiserver.Script{
		{Match: apiserver.On("list"), Times: -1, Fault: slow},
	}}, func(r *rig) {
		testbubble.Elapse(time.Minute)
		r.asked("watch-list", "list 0!", "watch "+r.version())
		r.heard("add o0=1", "add o1=1", "add o2=1")
	})
}
