package ctrlruntime

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/cache"

	"github.com/kinglet-go/kinglet"
	"github.com/kinglet-go/kinglet/ctrlruntime"
	"github.com/kinglet-go/kinglet/internal/tests/testbubble"
)

// compared waits until the detector has checked all objects. The object that it creates
// puts the check after everything so far: the race detector has nothing to report.
func (w *world) compared(name string) {
	synctest.Wait()
	w.create(pod("a", name, "n1", nil))
	testbubble.Elapse(3 * time.Second)
}

func TestAWriteToWhatAViewSharesIsReportedWithKeyAndPath(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		shared := pod("a", "p", "n1", nil)
		shared.Spec.Containers = []corev1.Container{{Name: "c", Args: []string{"a"}}}
		w.create(shared)
		found := make(chan *kinglet.MutationError, 10)
		options := ctrlruntime.Options{
			MutationDetection: kinglet.MutationDetection{All: true},
			OnMutation: func(kind schema.GroupVersionKind, err *kinglet.MutationError) {
				if kind != podKind {
					t.Errorf("reported of %v", kind)
				}
				found <- err
			},
		}
		c, end := w.run(options.NewCache, cache.Options{})
		defer end()
		var got corev1.Pod
		if err := c.Get(context.Background(), keyed("a", "p"), &got); err != nil {
			t.Fatal(err)
		}
		got.Spec.Containers[0].Args[0] = "mine"
		w.compared("x")
		if len(found) > 0 {
			t.Fatalf("a write to a copy: %v", <-found)
		}
		v, err := ctrlruntime.For[*corev1.Pod](c)
		if err != nil {
			t.Fatal(err)
		}
		held, _ := v.Get(keyed("a", "p"))
		held.Spec.Containers[0].Args[0] = "theirs"
		w.compared("y")
		if len(found) != 1 {
			t.Fatalf("%d writes are reported", len(found))
		}
		if err := <-found; err.Key.String() != "a/p" || err.Path != "spec.containers[0].args[0]" {
			t.Errorf("reported %v", err)
		}
	})
}

func TestWrongMutationDetectionIsAnErrorOfNewCache(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		options := ctrlruntime.Options{MutationDetection: kinglet.MutationDetection{Sample: -1}}
		if _, _, err := newWorld(t).start(options.NewCache, cache.Options{}); err == nil || !strings.Contains(err.Error(), "-1") {
			t.Errorf("the error is %v", err)
		}
	})
}
