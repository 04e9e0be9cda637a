package faults_test

import (
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/kinglet-go/kinglet/internal/tests/testbubble"
	"github.com/kinglet-go/kinglet/kinglettest/apiserver"
	"github.com/kinglet-go/kinglet/reflector"
)

func TestAListOfAServerThatLagsBehindDoesNotTakeTheStoreBack(t *testing.T) {
	for name, opts := range map[string]apiserver.Options{"lists": paged, "watch-lists": {}} {
		t.Run(name, func(t *testing.T) {
			each(t, setup{server: opts}, func(r *rig) {
				r.synced()
				r.put("o0", "2")
				r.put("o3", "1")
				r.remove("o1")
				testbubble.Elapse(time.Second)
				r.heard("update o0=2", "add o3=1", "delete o1")
				r.took()
				// It has lost the watch, and what is asked next knows nothing
				// of the last three writes.
				r.arm(apiserver.Script{
					{Match: func(q *apiserver.Request) bool { return q.Verb == "list" || q.WatchList() }, Times: 2, Fault: apiserver.Fault{Behind: 3}},
					{Match: apiserver.On("watch"), Fault: apiserver.Fault{Answer: expired()}},
				})
				r.server.Disconnect()
				for range 120 {
					testbubble.Elapse(time.Second)
					r.shows("o0=2", "o2=1", "o3=1")
				}
				faults := 0
				for _, q := range r.took() {
					if q.fault {
						faults++
					}
				}
				if faults < 2 {
					r.t.Errorf("%d faults were played", faults)
				}
				r.heard()
			})
		})
	}
}

func TestAWatchOfAServerThatLagsBehindTellsNothingTwice(t *testing.T) {
	each(t, setup{}, func(r *rig) {
		r.synced()
		r.put("o0", "2")
		r.remove("o1")
		at := r.put("o0", "3")
		testbubble.Elapse(time.Second)
		r.heard("update o0=2", "delete o1", "update o0=3")
		r.server.Hold()
		r.disconnect(func() {
			r.put("o0", "4")
		})
		testbubble.Elapse(time.Minute)
		r.shows("o0=3", "o2=1")
		r.server.Release()
		testbubble.Elapse(time.Minute)
		r.heard("update o0=4")
		for _, q := range r.took() {
			if q.what != "watch "+at {
				r.t.Errorf("asked for %s", q.what)
			}
		}
	})
}

// The address is that of a load balancer; the second server behind it has not
// heard of the latest writes.
func TestTwoServersBehindOneAddressWithDifferentProgressDoNotTakeTheStoreBack(t *testing.T) {
	each(t, setup{replica: true}, func(r *rig) {
		r.synced()
		r.replica.Hold()
		for i := range 20 {
			r.put("o0", string(rune('a'+i)))
			if i == 7 {
				r.remove("o1")
			}
			if i%3 == 0 {
				// Each connection ends; the next ones go to either server.
				r.server.Disconnect()
				r.replica.Disconnect()
			}
			if i%6 == 5 {
				r.storage.Compact(r.storage.Revision() - 1)
				r.replica.Disconnect()
				r.server.Disconnect()
			}
			testbubble.Elapse(20 * time.Second)
			if i%5 == 4 {
				r.replica.Advance(3)
			}
		}
		r.mu.Lock()
		if r.elsewhere < 3 || r.elsewhere == len(r.requests) {
			r.t.Errorf("%d of %d requests were the second server's", r.elsewhere, len(r.requests))
		}
		r.mu.Unlock()
		r.replica.Release()
		testbubble.Elapse(5 * time.Minute)
		r.shows("o0=t", "o2=1")
	})
}

func TestWhenAuthenticationExpiresTheObjectsStayAndTheStatusSaysIt(t *testing.T) {
	each(t, setup{server: apiserver.Options{Token: "first"}}, func(r *rig) {
		r.synced()
		at := r.version()
		r.server.SetToken("second")
		r.server.Disconnect()
		testbubble.Elapse(100 * time.Millisecond)
		r.put("o0", "2")
		r.remove("o1")
		testbubble.Elapse(time.Minute)
		r.shows("o0=1", "o1=1", "o2=1")
		r.heard()
		r.status(reflector.BackingOff, apierrors.IsUnauthorized)
		r.reported("is unauthorized", apierrors.IsUnauthorized)
		// Whoever renews tokens has done so.
		r.server.SetToken("first")
		testbubble.Elapse(2 * time.Minute)
		r.begins(r.took(), "watch "+at)
		r.heard("update o0=2", "delete o1")
		r.status(reflector.Watching, nil)
	})
}

func TestWhenAccessIsRevokedTheObjectsStayAndTheStatusSaysIt(t *testing.T) {
	each(t, setup{}, func(r *rig) {
		r.synced()
		at := r.version()
		forbidden := apierrors.NewForbidden(apiserver.ConfigMaps.GroupResource(), "", nil)
		r.arm(apiserver.Script{{Times: -1, Fault: apiserver.Fault{Answer: forbidden}}})
		r.disconnect(func() {
			r.put("o0", "2")
		})
		testbubble.Elapse(2 * time.Minute)
		r.shows("o0=1", "o1=1", "o2=1")
		r.status(reflector.BackingOff, apierrors.IsForbidden)
		for _, q := range r.took() {
			if q.what != "watch "+at && q.what != "list from "+at {
				r.t.Errorf("asked for %s", q.what)
			}
		}
		r.arm(nil)
		testbubble.Elapse(2 * time.Minute)
		r.heard("update o0=2")
	})
}
