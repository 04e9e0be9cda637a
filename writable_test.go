package kinglet_test

import (
	"testing"
	"testing/synctest"

	"github.com/kinglet-go/kinglet"
	"github.com/kinglet-go/kinglet/store"
)

func TestADirectWriteIsReadAndCallsNoHandler(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, kinglet.Options[pod]{}, newPod("listed", "n1"))
		put := func(p pod) {
			r.informer.WritableStore().Apply(store.Batch[pod]{Ops: []store.Op[pod]{{Key: key(p.Name), Object: p}}}, nil)
		}
		early := &recorder{}
		r.add(early, kinglet.HandlerOptions{})
		put(newPod("before", "n1"))
		if _, ok := r.informer.Store().Get(key("before")); !ok {
			t.Error("what was put before Run cannot be read")
		}
		r.run()
		if _, ok := r.informer.Store().Get(key("before")); ok {
			t.Error("the first list does not name it, and it is still there")
		}
		put(newPod("during", "n2"))
		late := &recorder{}
		r.add(late, kinglet.HandlerOptions{})
		synctest.Wait()
		expect(t, early.take(), "Initial Added listed on n1")
		expect(t, late.take(), "Initial Added during on n2", "Initial Added listed on n1")
		r.end()
	})
}
