package faults_test

import (
	"errors"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/kinglet-go/kinglet/internal/tests/testbubble"
	"github.com/kinglet-go/kinglet/kinglettest/apiserver"
	"github.com/kinglet-go/kinglet/reflector"
)

// away is more writes than any of these tests makes after a restoration, so that
// the server does not come to the versions of before.
const away = 1000

// restorable lets the informer sync, and take in what is written after a backup.
// It returns the revision of the backup.
func (r *rig) restorable() (backup int64) {
	r.synced()
	backup = r.storage.Revision()
	r.storage.Skip(away)
	r.put("o0", "2")
	r.put("o3", "1")
	r.remove("o1")
	testbubble.Elapse(time.Second)
	r.heard("update o0=2", "add o3=1", "delete o1")
	r.took()
	return backup
}

func (r *rig) restore(backup int64) {
	if err := r.storage.Restore(backup); err != nil {
		r.t.Errorf("%v", err)
	}
	r.told.restored()
}

// followed checks that the informer has the restored state, and has said why.
func (r *rig) followed() {
	r.shows("o0=1", "o1=1", "o2=1", "o4=1")
	r.reported("says that the server was restored", func(err error) bool {
		return errors.Is(err, reflector.ErrRestored)
	})
}

func TestARestoredServerIsFollowedWhenItsConnectionsBroke(t *testing.T) {
	for name, opts := range map[string]apiserver.Options{
		"watch-lists": {}, "lists": paged, "watch-lists without bookmarks": {BookmarkInterval: -1},
	} {
		t.Run(name, func(t *testing.T) {
			each(t, setup{server: opts, json: true}, func(r *rig) {
				backup := r.restorable()
				r.disconnect(func() {
					r.restore(backup)
					r.put("o4", "1")
				})
				// Two minutes of silence, and four lists with waits between them.
				testbubble.Elapse(2*time.Minute + 15*time.Second)
				r.followed()
			})
		})
	}
}

func TestARestoredServerIsFollowedAtOnceWhereItWasAwayForTwoMinutes(t *testing.T) {
	each(t, setup{}, func(r *rig) {
		backup := r.restorable()
		r.arm(apiserver.Script{{Times: 60, Fault: apiserver.Fault{Refuse: true}}})
		r.disconnect(func() {
			r.restore(backup)
			r.put("o4", "1")
		})
		testbubble.Elapse(3 * time.Minute)
		r.arm(nil)
		// The next request is half a minute to a minute away, and no watch.
		testbubble.Elapse(time.Minute + 15*time.Second)
		r.followed()
	})
}

// What stands between may keep connections while the server behind it is
// replaced.
func TestARestoredServerIsFollowedWhereTheConnectionHeld(t *testing.T) {
	each(t, setup{}, func(r *rig) {
		backup := r.restorable()
		r.restore(backup)
		r.put("o4", "1")
		// The watch's timeout, and what is above.
		testbubble.Elapse(10*time.Minute + 45*time.Second)
		r.followed()
	})
}

// What it answers from then on has the version of the list, as what a fake with a
// fixed list answers.
func TestAServerRestoredToTheVersionOfTheListIsFollowedThoughNobodyWrites(t *testing.T) {
	for name, opts := range map[string]apiserver.Options{"watch-lists": {}, "lists": paged} {
		t.Run(name, func(t *testing.T) {
			each(t, setup{server: opts}, func(r *rig) {
				backup := r.restorable() // nothing is written between the list and the backup
				r.disconnect(func() { r.restore(backup) })
				// As above, and the 3 s that a server waits for a version that is too large.
				testbubble.Elapse(2*time.Minute + 20*time.Second)
				r.shows("o0=1", "o1=1", "o2=1")
			})
		})
	}
}

// For two days nothing but a restoration happens.
func TestARestoredServerIsFollowedByAnInformerThatWasIdleForDays(t *testing.T) {
	each(t, setup{}, func(r *rig) {
		backup := r.restorable()
		testbubble.Elapse(48 * time.Hour)
		r.disconnect(func() {
			r.restore(backup)
			r.put("o4", "1")
		})
		testbubble.Elapse(2*time.Minute + 15*time.Second)
		r.followed()
	})
}

func TestAnIdleInformerAsksForTheServersVersionOnceAWatchAndNeverIfThereAreBookmarks(t *testing.T) {
	for name, writes := range map[string]bool{"others write": true, "nobody writes": false} {
		t.Run(name, func(t *testing.T) {
			each(t, setup{}, func(r *rig) {
				r.synced()
				r.tookAll()
				for range 24 * 60 {
					if writes {
						r.storage.Skip(1) // and the next bookmark says so
					}
					testbubble.Elapse(time.Minute)
				}
				probes, watches := 0, 0
				for _, q := range r.tookAll() {
					if q.what == "probe" {
						probes++
					} else {
						watches++
					}
				}
				if st := r.inf.Status(); st.Probes != uint64(probes) {
					r.t.Errorf("Status has %d probes of %d", st.Probes, probes)
				}
				most := watches
				if writes {
					most = 0
				}
				if probes > most || watches > 24*12 || watches < 24*6 {
					r.t.Errorf("%d probes and %d watches in a day", probes, watches)
				}
				r.heard()
			})
		})
	}
}

// A server that is late is no restored one: it is asked again, and nothing is
// taken from it that is older than the store.
func TestAServerThatAnswersAProbeLateIsNotTakenForARestoredOne(t *testing.T) {
	each(t, setup{server: apiserver.Options{BookmarkInterval: -1}}, func(r *rig) {
		r.restorable()
		r.arm(apiserver.Script{{
			Match: func(q *apiserver.Request) bool { return name(q) == "probe" }, Times: 1, Fault: apiserver.Fault{Behind: 3},
		}})
		testbubble.Elapse(15 * time.Minute)
		r.shows("o0=2", "o2=1", "o3=1")
		r.heard()
		r.arm(nil)
	})
}

// Where lists are refused, a watch is as good as it gets, and soon: nobody below
// the reflector tries a probe again.
func TestARefusedProbeKeepsNoWatchFromBeingResumed(t *testing.T) {
	for what, answer := range map[string]error{
		"forbidden":   apierrors.NewForbidden(apiserver.ConfigMaps.GroupResource(), "", nil),
		"throttled":   apierrors.NewTooManyRequests("slow down", 1),
		"unavailable": unavailable(),
	} {
		t.Run(what, func(t *testing.T) {
			each(t, setup{server: apiserver.Options{BookmarkInterval: -1}}, func(r *rig) {
				r.synced()
				r.arm(apiserver.Script{{
					Match: func(q *apiserver.Request) bool { return name(q) == "probe" }, Times: -1, Fault: apiserver.Fault{Answer: answer},
				}})
				testbubble.Elapse(time.Hour)
				probes, since := 0, time.Now()
				for _, q := range r.tookAll() {
					if q.what != "probe" {
						probes = 0
						continue
					}
					if probes++; probes == 1 {
						since = q.at
					}
					if late := q.at.Sub(since); probes > 3 || late > 8*time.Second {
						r.t.Errorf("probe %d came %v after the first", probes, late)
						break
					}
				}
				r.put("o0", "2")
				testbubble.Elapse(10 * time.Second)
				r.heard("update o0=2")
				r.arm(nil)
			})
		})
	}
}
