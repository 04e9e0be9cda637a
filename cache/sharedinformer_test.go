package cache

import (
	"errors"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/kinglet-go/kinglet/internal/tests/testbubble"
)

func TestAHandlerRemovesItselfAndAnyOneAtAnyTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		src := server(t, testPod("a", "n1"), testPod("b", "n1"))
		inf := NewSharedInformer(src, &corev1.Pod{}, 0)
		var self ResourceEventHandlerRegistration
		d := &diary{during: func(string) {
			if err := inf.RemoveEventHandler(self); err != nil {
				t.Error(err)
			}
		}}
		self = handle(t, inf, d)
		if err := ShutDownEventHandler(inf, handle(t, inf, &diary{})); err != nil {
			t.Error(err)
		}
		stop := runInformer(inf)
		d.expect(t, "first a@n1")
		for range 2 {
			if err := ShutDownEventHandler(inf, self); err != nil {
				t.Error(err)
			}
		}
		src.Add(testPod("c", "n1"))
		d.expect(t)
		if self.HasSynced() {
			t.Error("a handler that left in the middle of the first list has synced")
		}
		stop()
		other := NewSharedInformer(src, &corev1.Pod{}, 0)
		if err := other.RemoveEventHandler(self); err != nil {
			t.Errorf("a handle of another informer: %v", err)
		}
		if other.RemoveEventHandler(nil) == nil {
			t.Error("nil was taken for a handle")
		}
	})
}

func TestATransformIsCalledOnceAVersionAndAFailureIsQuarantined(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		src := server(t, testPod("a", "n1"), testPod("odd", "n1"))
		inf := NewSharedInformer(src, &corev1.Pod{}, 0)
		calls := map[string]int{}
		failed := errors.New("odd indeed")
		if err := inf.SetTransform(func(obj any) (any, error) {
			p := obj.(*corev1.Pod)
			calls[p.Name+"@"+p.Spec.NodeName]++
			if p.Name == "odd" && p.Spec.NodeName == "n2" {
				return nil, failed
			}
			p.Labels = map[string]string{"seen": "yes"}
			return p, nil
		}); err != nil {
			t.Fatal(err)
		}
		d := &diary{}
		handle(t, inf, d)
		stop := runInformer(inf)
		src.Modify(testPod("odd", "n2"))
		src.Modify(testPod("a", "n2"))
		testbubble.Elapse(time.Second) // error handlers of apimachinery pause a little
		d.expect(t, "first a@n1", "first odd@n1", "update a@n1 to a@n2")
		for _, obj := range inf.GetStore().List() {
			if obj.(*corev1.Pod).Labels["seen"] != "yes" {
				t.Errorf("%s is stored as it came", shown(obj))
			}
		}
		for state, n := range calls {
			if n != 1 {
				t.Errorf("transformed %s %d times", state, n)
			}
		}
		q := inf.(Observable).Quarantined()
		if len(q) != 1 || q[0].Key.Name != "odd" || !q[0].Stale || !errors.Is(q[0].Err, failed) {
			t.Errorf("quarantined: %+v", q)
		}
		src.Delete(testPod("odd", "n2")) // the transform fails, and it is gone all the same
		src.Modify(testPod("a", "n3"))
		testbubble.Elapse(time.Second)
		if got := inf.GetStore().ListKeys(); !slices.Equal(got, []string{"ns/a"}) {
			t.Errorf("left: %v", got)
		}
		stop()
	})
}
