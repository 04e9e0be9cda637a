package faults_test

import (
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/kinglet-go/kinglet/internal/tests/testbubble"
	"github.com/kinglet-go/kinglet/kinglettest/apiserver"
)

// eachVersion is each, over servers of every version.
func eachVersion(t *testing.T, s setup, body func(r *rig, streams bool)) {
	for _, v := range apiserver.Versions() {
		t.Run(v.String(), func(t *testing.T) {
			s.server.Version = v
			each(t, s, func(r *rig) { body(r, v >= apiserver.V134) })
		})
	}
}

// The answers to each of these requests are those of the version:
// kinglettest/apiserver has a test for each.
func TestAServerOfEachVersionIsFollowedAndAskedForWhatItAnswers(t *testing.T) {
	eachVersion(t, setup{json: true}, func(r *rig, streams bool) {
		testbubble.Elapse(time.Second)
		if streams {
			r.asked("watch-list")
		} else {
			r.asked("watch-list", "list 0", "watch "+r.version())
		}
		r.heard("add o0=1", "add o1=1", "add o2=1")

		r.put("o3", "1")
		r.put("o0", "2")
		r.remove("o1")
		testbubble.Elapse(time.Second)
		r.heard("add o3=1", "update o0=2", "delete o1")
		r.shows("o0=2", "o2=1", "o3=1")
		r.asked()

		// The watch breaks off and goes on from its version.
		at := r.version()
		r.disconnect(func() { r.put("o2", "2") })
		testbubble.Elapse(5 * time.Second)
		r.asked("watch " + at)
		r.heard("update o2=2")
	})
}

func TestACompactionOfAServerOfEachVersionIsOneRelistThatAsksForNoWatchListTwice(t *testing.T) {
	eachVersion(t, setup{json: true}, func(r *rig, streams bool) {
		r.synced()
		for _, value := range []string{"2", "3"} {
			at := r.version()
			r.disconnect(func() {
				r.put("o0", value)
				r.remove("o1")
				r.put("o1", value)
				r.storage.Compact(r.storage.Revision())
			})
			testbubble.Elapse(5 * time.Second)
			if streams {
				r.asked("watch "+at, "watch-list")
			} else {
				r.asked("watch "+at, "list from "+at, "watch "+r.version())
			}
			r.reported("is expired", apierrors.IsResourceExpired)
			r.shows("o0="+value, "o1="+value, "o2=1")
		}
	})
}

// Its bytes are compressed: what was received cannot be told from what was sent.
func TestACompressedWatchListThatBreaksOffIsNotPublished(t *testing.T) {
	each(t, setup{json: true, objects: 100, server: apiserver.Options{Version: apiserver.V137}, script: apiserver.Script{
		{Match: apiserver.On("watch-list"), Fault: apiserver.Fault{CutAfter: 1000}},
		{Match: apiserver.On("list"), Fault: apiserver.Fault{Refuse: true}},
	}}, func(r *rig) {
		testbubble.Elapse(500 * time.Millisecond)
		r.shows()
		r.heard()
		testbubble.Elapse(time.Minute)
		r.asked("watch-list!", "list 0!", "watch-list")
		if n := len(r.told.take()); n != 100 {
			r.t.Errorf("%d calls for 100 objects", n)
		}
	})
}

// In 1.33 a page of a version that etcd has not come to again is an error of
// etcd's, which says nothing of versions.
func TestAListThatARestoredBackupOvertakesIsBegunAgain(t *testing.T) {
	eachVersion(t, setup{server: paged, objects: 600}, func(r *rig, _ bool) {
		r.synced()
		r.arm(apiserver.Script{
			{Match: func(q *apiserver.Request) bool {
				if q.Options.Continue == "" {
					return false
				}
				r.restore(650)
				return true
			}},
			{Match: apiserver.On("list"), Fault: apiserver.Fault{Answer: expired()}},
			{Match: apiserver.On("watch"), Fault: apiserver.Fault{Answer: expired()}},
		})
		r.disconnect(func() { r.put("o0", "2") })
		testbubble.Elapse(5 * time.Minute)
		if n := len(r.inf.List()); n != 550 {
			r.t.Errorf("%d objects, not 550", n)
		}
	})
}
