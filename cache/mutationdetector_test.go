package cache

import (
	"context"
	"os"
	"os/exec"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/kinglet-go/kinglet/internal/tests/testbubble"
)

// detecting runs a detector in a bubble, and returns what it found.
func detecting(t *testing.T, do func(d MutationDetector)) (found []string) {
	synctest.Test(t, func(t *testing.T) {
		d := newMutationDetector("things", func(msg string) { found = append(found, msg) })
		stop, done := make(chan struct{}), make(chan struct{})
		go func() { defer close(done); d.Run(stop) }()
		do(d)
		close(stop)
		<-done
		if len(d.added) != 0 && d.objects.Len() != len(d.added) {
			t.Errorf("%d objects, %d known", d.objects.Len(), len(d.added))
		}
	})
	return found
}

func TestAWriteIntoAnObjectIsFoundAndNamedAtTheLatestWhenTheDetectorEnds(t *testing.T) {
	found := detecting(t, func(d MutationDetector) {
		c := configMap("a", "1", 1)
		d.AddObject(c)
		d.AddObject(configMap("a", "2", 2))
		d.AddObject("no object")
		testbubble.Elapse(3 * time.Second)
		synctest.Wait()                            // nobody compares it now
		c.Data = map[string]string{"k": "written"} // found when it ends
	})
	if len(found) == 0 || !strings.Contains(found[0], "cache things modified") || !strings.Contains(found[0], "a/1") {
		t.Errorf("found: %q", found)
	}
}

func TestAnObjectIsLookedAfterForTwoMinutes(t *testing.T) {
	found := detecting(t, func(d MutationDetector) {
		c := configMap("a", "1", 1)
		d.AddObject(c)
		testbubble.Elapse(mutationWindow + 5*time.Second)
		synctest.Wait()
		c.Name = "2"
		testbubble.Elapse(5 * time.Second)
		if n := d.(*mutationDetector).objects.Len(); n != 0 {
			t.Errorf("%d objects are held", n)
		}
	})
	if len(found) != 0 {
		t.Errorf("found: %q", found)
	}
}

func TestDetectionIsOnlyForWhoAsksForIt(t *testing.T) {
	t.Setenv("KUBE_CACHE_MUTATION_DETECTOR", "")
	d := NewCacheMutationDetector("things")
	d.AddObject(configMap("a", "1", 1))
	d.Run(nil) // returns at once
	t.Setenv("KUBE_CACHE_MUTATION_DETECTOR", "true")
	if _, ok := NewCacheMutationDetector("things").(*mutationDetector); !ok {
		t.Error("detection was asked for")
	}
}

// theVictim, set, has the test below be the program that detection ends.
const theVictim = "KINGLET_TEST_WRITES_INTO_AN_OBJECT"

// Detection ends the process, so it is a process of its own that writes.
func TestAWriteIntoAnInformersObjectEndsTheProcessThatAskedForDetection(t *testing.T) {
	if os.Getenv(theVictim) != "" {
		writeIntoAnInformersObject(t)
		return
	}
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for wanted, dies := range map[string]bool{"true": true, "false": false} {
		cmd := exec.CommandContext(t.Context(), exe, "-test.run=^"+t.Name()+"$")
		cmd.Env = append(os.Environ(), theVictim+"=1", "KUBE_CACHE_MUTATION_DETECTOR="+wanted)
		out, err := cmd.CombinedOutput()
		if (err != nil) != dies {
			t.Errorf("KUBE_CACHE_MUTATION_DETECTOR=%s: it ended with %v:\n%s", wanted, err, out)
		}
		if dies && !strings.Contains(string(out), `ns/victim is read-only and was written to: spec.nodeName was "n1", is "written"`) {
			t.Errorf("it did not say what was written where:\n%s", out)
		}
	}
}

// writeIntoAnInformersObject returns if nobody noticed.
func writeIntoAnInformersObject(t *testing.T) {
	informer := NewSharedIndexInformer(server(t, testPod("victim", "n1")), &corev1.Pod{}, 0, Indexers{})
	wrote := make(chan struct{})
	_, err := informer.AddEventHandler(ResourceEventHandlerFuncs{AddFunc: func(obj any) {
		obj.(*corev1.Pod).Spec.NodeName = "written"
		close(wrote)
	}})
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	go func() {
		<-wrote
		stop() // it looks once more at its end
	}()
	informer.RunWithContext(ctx)
}
