package faults_test

import (
	"errors"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/kinglet-go/kinglet"
	"github.com/kinglet-go/kinglet/internal/tests/testbubble"
	"github.com/kinglet-go/kinglet/kinglettest/apiserver"
	"github.com/kinglet-go/kinglet/reflector"
	"github.com/kinglet-go/kinglet/source"
)

// damaged is o1, in such a way that no decoder takes it.
var damaged = apiserver.Fault{Damage: func(k types.NamespacedName) bool { return k.Name == "o1" }}

// quarantined checks that o1 is known to be lost, and nothing else.
func (r *rig) quarantined(stale bool) {
	r.t.Helper()
	q := r.inf.Quarantined()
	if len(q) != 1 || q[0].Key != (kinglet.Key{Namespace: "default", Name: "o1"}) || q[0].Stale != stale {
		r.t.Errorf("quarantined is %v", q)
		return
	}
	if ie, ok := errors.AsType[*kinglet.ItemError](q[0].Err); !ok || ie.Stage != source.StageDecode || ie.Key.Name != "o1" {
		r.t.Errorf("quarantined for %v", q[0].Err)
	}
}

func TestOneObjectOfAListThatDoesNotDecodeIsQuarantinedAndTheOthersAreThere(t *testing.T) {
	each(t, setup{server: paged, json: true, script: apiserver.Script{{Match: apiserver.On("list"), Times: -1, Fault: damaged}}}, func(r *rig) {
		testbubble.Elapse(5 * time.Second)
		r.shows("o0=1", "o2=1")
		r.heard("add o0=1", "add o2=1")
		r.quarantined(false)
		r.asked("watch-list", "list 0!", "watch "+r.version())
		r.put("o1", "2")
		testbubble.Elapse(time.Second)
		r.heard("add o1=2")
	})
}

func TestOneInitialEventThatDoesNotDecodeIsQuarantinedAndTheOthersAreThere(t *testing.T) {
	each(t, setup{json: true, script: apiserver.Script{{Match: apiserver.On("watch-list"), Times: -1, Fault: damaged}}}, func(r *rig) {
		testbubble.Elapse(5 * time.Second)
		r.shows("o0=1", "o2=1")
		r.heard("add o0=1", "add o2=1")
		r.quarantined(false)
		r.asked("watch-list!")
		r.arm(nil)
		r.disconnect(func() {
			r.put("o1", "2")
		})
		testbubble.Elapse(time.Minute)
		r.heard("add o1=2")
	})
}

func TestAnEventThatDoesNotDecodeLeavesTheLastGoodVersionAndTheStreamGoesOn(t *testing.T) {
	each(t, setup{json: true}, func(r *rig) {
		r.synced()
		at := r.version()
		r.arm(apiserver.Script{{Match: apiserver.On("watch"), Times: -1, Fault: damaged}})
		r.disconnect(func() {
			r.put("o1", "2")
			r.put("o2", "2")
		})
		testbubble.Elapse(5 * time.Second)
		r.shows("o0=1", "o1=1", "o2=2")
		r.heard("update o2=2")
		r.quarantined(true)
		r.status(reflector.Watching, nil)
		r.asked("watch " + at + "!")
		r.arm(nil)
		r.disconnect(func() {
			r.put("o1", "3")
		})
		testbubble.Elapse(time.Minute)
		r.heard("update o1=3")
	})
}

func TestADeleteWhoseObjectDoesNotDecodeIsADelete(t *testing.T) {
	each(t, setup{json: true}, func(r *rig) {
		r.synced()
		r.arm(apiserver.Script{{Match: apiserver.On("watch"), Times: -1, Fault: damaged}})
		r.disconnect(func() {
			r.remove("o1")
		})
		testbubble.Elapse(5 * time.Second)
		r.shows("o0=1", "o2=1")
		if got := r.told.take(); len(got) != 1 || got[0] != "delete o1" && got[0] != "delete o1 unseen" {
			r.t.Errorf("was told %q", got)
		}
	})
}
