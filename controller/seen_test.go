package controller_test

import (
	"context"
	"iter"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kinglet-go/kinglet"
	"github.com/kinglet-go/kinglet/controller"
	"github.com/kinglet-go/kinglet/internal/tests/testbubble"
	"github.com/kinglet-go/kinglet/source/sourcetest"
)

// A run reads the store, which is ahead of the handler that enqueues keys. What it saw there, and
// what is gone or as before again once the handler comes to it, is followed by a run.
func TestARunFollowsWhateverARunHasSeen(t *testing.T) {
	for name, undo := range map[string]func(src *sourcetest.Static[pod]) error{
		"an object that came and went": func(src *sourcetest.Static[pod]) error {
			return src.Delete(kinglet.Key{Namespace: "ns", Name: "b"})
		},
		"a state between two that are alike": func(src *sourcetest.Static[pod]) error {
			return src.Update(newPod("a"))
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				src := sourcetest.NewStatic(newPod("a"), newPod("slow"))
				inf, err := kinglet.New[pod](src, kinglet.Options[pod]{})
				if err != nil {
					t.Fatal(err)
				}
				var saw atomic.Value
				c, err := controller.New(controller.ReconcilerFunc[string](func(context.Context, string) (controller.Result, error) {
					all := ""
					for p := range inf.Store().All() {
						all += p.Name + p.Labels["x"] + " "
					}
					saw.Store(all)
					return controller.Result{}, nil
				}), controller.Options[string]{})
				if err != nil {
					t.Fatal(err)
				}
				_, err = controller.Watch(c, inf, func(ch controller.Change[pod]) iter.Seq[string] {
					if ch.Key.Name == "slow" && ch.Reason == kinglet.Live {
						testbubble.Pass(time.Second)
						return nil
					}
					return func(yield func(string) bool) { yield("all") }
				}, controller.WatchOptions[pod]{If: controller.Changed(func(p pod) string { return p.Labels["x"] })})
				if err != nil {
					t.Fatal(err)
				}
				stop := start(t, c, inf)
				testbubble.Pass(time.Second)
				change := func(name string, put func(pod) error) {
					p := newPod(name)
					p.Labels = map[string]string{"x": "1"}
					if err := put(p); err != nil {
						t.Error(err)
					}
					synctest.Wait()
				}
				change("slow", src.Update)
				if name == "an object that came and went" {
					change("b", src.Add)
				} else {
					change("a", src.Update)
				}
				_ = c.Add("all") // for another reason
				synctest.Wait()
				if err := undo(src); err != nil {
					t.Fatal(err)
				}
				testbubble.Pass(time.Minute)
				if saw := saw.Load(); saw != "a slow1 " {
					t.Errorf("the last run saw %q", saw)
				}
				stop()
			})
		})
	}
}
