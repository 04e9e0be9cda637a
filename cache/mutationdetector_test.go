package cache

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"
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
		elapse(3 * time.Second)
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
		elapse(mutationWindow + 5*time.Second)
		synctest.Wait()
		c.Name = "2"
		elapse(5 * time.Second)
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
