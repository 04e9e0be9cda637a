package faults_test

import (
	"net/http"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kinglet-go/kinglet/internal/tests/testbubble"
	"github.com/kinglet-go/kinglet/kinglettest/apiserver"
)

// paged is a server that knows no watch-list.
var paged = apiserver.Options{WithoutWatchList: true}

func expired() error { return apierrors.NewResourceExpired("too old resource version: 1 (100)") }

func tooLarge() error {
	err := apierrors.NewTimeoutError("Too large resource version: 1000, current: 100", 1)
	err.ErrStatus.Details.Causes = []metav1.StatusCause{{
		Type: metav1.CauseTypeResourceVersionTooLarge, Message: "Too large resource version",
	}}
	return err
}

func TestAGoneOnListIsFollowedAtOnceByAConsistentList(t *testing.T) {
	each(t, setup{server: paged, script: apiserver.Script{
		{Match: apiserver.On("list"), Fault: apiserver.Fault{Answer: expired()}},
	}}, func(r *rig) {
		testbubble.Elapse(100 * time.Millisecond)
		r.asked("watch-list", "list 0!", "list latest", "watch "+r.version())
		r.heard("add o0=1", "add o1=1", "add o2=1")
		r.reported("is expired", apierrors.IsResourceExpired)
	})
}

func TestAGoneOnContinueIsFollowedByOneListInOnePiece(t *testing.T) {
	each(t, setup{server: paged, objects: 600, script: apiserver.Script{
		// A list of any version is answered in one piece.
		{Match: apiserver.On("continue"), Fault: apiserver.Fault{Answer: expired()}},
		{Match: apiserver.On("list"), Fault: apiserver.Fault{Answer: expired()}},
	}}, func(r *rig) {
		testbubble.Elapse(100 * time.Millisecond)
		r.asked("watch-list", "list 0!", "list latest", "continue!", "list latest", "watch "+r.version())
		if n := len(r.told.take()); n != 600 {
			r.t.Errorf("%d calls for 600 objects", n)
		}
	})
}

func TestAGoneOnWatchIsOneRelist(t *testing.T) {
	each(t, setup{}, func(r *rig) {
		r.synced()
		r.arm(apiserver.Script{{Match: apiserver.On("watch"), Fault: apiserver.Fault{Answer: expired()}}})
		at := r.version()
		r.disconnect(func() {
			r.put("o0", "2")
			r.remove("o1")
		})
		testbubble.Elapse(5 * time.Second)
		r.asked("watch "+at+"!", "watch-list")
		r.heard("update o0=2", "delete o1 unseen")
		r.reported("is expired", apierrors.IsResourceExpired)
	})
}

func TestAWatchThatEndsWithGoneIsOneRelist(t *testing.T) {
	each(t, setup{server: paged, json: true}, func(r *rig) {
		gone := &apierrors.StatusError{ErrStatus: metav1.Status{Code: http.StatusGone, Reason: metav1.StatusReasonGone, Message: "gone"}}
		r.synced()
		at := r.version()
		r.arm(apiserver.Script{{Match: apiserver.On("watch"), Fault: apiserver.Fault{EndAfter: 1, End: gone}}})
		var first string
		r.disconnect(func() {
			first = r.put("o0", "2")
			r.remove("o1")
		})
		testbubble.Elapse(5 * time.Second)
		// The first event was taken in, so the list is to be no older.
		r.asked("watch "+at+"!", "list from "+first, "watch "+r.version())
		r.heard("update o0=2", "delete o1 unseen")
		r.reported("is gone", apierrors.IsGone)
	})
}

func TestAVersionThatWasCompactedIsOneRelistAndItsDeletesAreTold(t *testing.T) {
	each(t, setup{}, func(r *rig) {
		r.synced()
		at := r.version()
		r.disconnect(func() {
			r.remove("o1")
			r.put("o3", "1")
			r.remove("o2")
			r.put("o2", "again")
			r.storage.Compact(r.storage.Revision())
		})
		testbubble.Elapse(5 * time.Second)
		r.asked("watch "+at, "watch-list")
		r.heard("delete o2 unseen", "add o2=again", "add o3=1", "delete o1 unseen")
	})
}

// A server says when to ask again, and client-go's REST client does so.
func TestATooLargeResourceVersionIsAskedForAgainWhenTheServerSays(t *testing.T) {
	each(t, setup{server: paged}, func(r *rig) {
		at := r.relistOn(apiserver.Fault{Answer: tooLarge()}, 1)
		testbubble.Elapse(10 * time.Second)
		reqs := r.took()
		r.sequence(reqs, "watch "+at+"!", "list from "+at+"!", "list from "+at, "watch "+r.version())
		r.apart(reqs, 1, time.Second)
		r.heard("update o0=2")
	})
}

func TestAResourceVersionThatStaysTooLargeIsGivenUpForAConsistentList(t *testing.T) {
	each(t, setup{server: paged}, func(r *rig) {
		// The first request, and the ten times that client-go's REST client
		// tries again.
		at := r.relistOn(apiserver.Fault{Answer: tooLarge()}, 11)
		testbubble.Elapse(time.Minute)
		reqs := r.took()
		r.sequence(reqs[max(0, len(reqs)-3):], "list from "+at+"!", "list latest", "watch "+r.version())
		r.heard("update o0=2")
	})
}

// relistOn lets the informer sync and lose its watch to a 410, and answers the
// lists after it with a fault. It returns the version that is lost.
func (r *rig) relistOn(f apiserver.Fault, times int) (at string) {
	r.synced()
	r.arm(apiserver.Script{
		{Match: func(q *apiserver.Request) bool { return q.Verb == "list" && name(q) != "probe" }, Times: times, Fault: f},
		{Match: apiserver.On("watch"), Fault: apiserver.Fault{Answer: expired()}},
	})
	at = r.version()
	r.disconnect(func() {
		r.put("o0", "2")
	})
	return at
}
