package faults_test

import (
	"testing"
	"time"

	"github.com/kinglet-go/kinglet/internal/tests/testbubble"
	"github.com/kinglet-go/kinglet/kinglettest/apiserver"
	"github.com/kinglet-go/kinglet/status"
)

// An outage is one, however often the informer tried while it lasted.
func TestAnOutageThatIsOverIsNoMoreThanANote(t *testing.T) {
	each(t, setup{}, func(r *rig) {
		r.synced()
		r.arm(apiserver.Script{{Times: 6, Fault: apiserver.Fault{Refuse: true}}})
		began := time.Now()
		r.disconnect(func() { r.put("o0", "2") })
		testbubble.Elapse(3 * time.Minute)
		r.shows("o0=2", "o1=1", "o2=1")
		st := r.inf.Status()
		if n, first := st.Recent.Count, st.Recent.FirstTime; n != 1 || first.Before(began) || first.Sub(began) > 5*time.Second {
			r.t.Errorf("%d outages, the first %v after it began", n, first.Sub(began))
		}
		problems := st.Problems(time.Now())
		if len(problems) != 1 || problems[0].Severity != status.Note || !problems[0].Over || problems[0].Cause != status.CauseUnreachable {
			r.t.Errorf("it says %+v", problems)
		}
		r.tookAll()
		r.heard("update o0=2")
	})
}
