package mutation

import (
	"context"
	"fmt"
	"math/rand/v2"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/kinglet-go/kinglet/internal/tests/testkit"
	"github.com/kinglet-go/kinglet/store"
)

func small(i int) pod {
	return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: fmt.Sprintf("p%06d", i), Labels: map[string]string{"a": "b"}}}
}

// countedPod counts its copies.
type countedPod struct {
	corev1.Pod
	copies *int
}

func (c *countedPod) DeepCopyObject() runtime.Object {
	*c.copies++
	return &countedPod{*c.Pod.DeepCopy(), c.copies}
}

func countedKey(c *countedPod) (store.Key, error) { return podKey(&c.Pod) }

// The bound is that of doc.go.
func TestASampleCostsNextToTheSameHoweverManyObjectsThereAre(t *testing.T) {
	for _, objects := range []int{10, 1_000, 20_000} {
		t.Run(fmt.Sprint(objects), func(t *testing.T) {
			const most = 100
			copies := 0
			w := newWorld(t, countedKey, Options[*countedPod]{Sample: most})
			for i := range objects {
				w.put(&countedPod{*small(i), &copies})
			}
			for range 3 {
				if n := len(w.detector.watches) + len(w.detector.entering); n > most {
					t.Errorf("%d watched", n)
				}
				// Arrivals are 50 * (1 + ln(20,000/50)) = 350 on average.
				if copies > most/2+600 {
					t.Errorf("%d copies in an interval", copies)
				}
				copies = 0
				w.expect()
				for i := range objects {
					w.detector.Entering(key("x"), &countedPod{*small(i), &copies})
				}
			}
		})
	}
}

func TestASampleFindsAWriterWhoWritesToEverythingSoonerOrLater(t *testing.T) {
	w := newWorld(t, podKey, Options[pod]{Sample: 10})
	pods := make([]pod, 1000)
	for i := range pods {
		pods[i] = small(i)
	}
	w.put(pods...)
	w.expect()
	for round := range 3 {
		// Those that are stored for long, then those that arrive.
		for i, p := range pods {
			if round > 0 {
				p = small(i)
				w.put(p)
			}
			p.Labels["a"] = fmt.Sprint("x", round)
		}
		if len(w.check()) == 0 {
			t.Errorf("round %d: nothing was found", round)
		}
	}
}

func TestEachObjectHasTheSameChance(t *testing.T) {
	dice := rand.New(rand.NewPCG(testkit.Seed(t), 0))
	const arrivals, places, rounds = 40, 20, 4000
	var held [arrivals]int
	for range rounds {
		var sample []int
		for i := range arrivals {
			if place := choose(dice.IntN, i, places); place >= 0 {
				sample = put(sample, place, i)
			}
		}
		for _, i := range sample {
			held[i]++
		}
	}
	// Half of 4,000 rounds each; 32 is one standard deviation.
	for i, n := range held {
		if n < rounds/2-200 || n > rounds/2+200 {
			t.Errorf("object %d was in the sample in %d of %d rounds", i, n, rounds)
		}
	}
}

func TestRunChecksEveryIntervalAndEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, podKey, Options[pod]{All: true, Interval: 5 * time.Second})
		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan struct{})
		go func() { w.detector.Run(ctx); close(ended) }()
		p := small(1)
		w.put(p)
		<-time.After(5*time.Second + time.Millisecond)
		synctest.Wait()
		if len(w.errs) != 0 {
			t.Errorf("reported %v", w.errs)
		}
		w.detector.checking.Lock() // or it would be the race that it is
		p.Labels["a"] = "x"
		w.detector.checking.Unlock()
		<-time.After(5 * time.Second)
		synctest.Wait()
		if len(w.errs) != 1 {
			t.Errorf("reported %v", w.errs)
		}
		stop()
		<-ended
	})
}

func TestNoDetectorDoesNothing(t *testing.T) {
	var d *Detector[pod]
	p := small(1)
	if n := testkit.Allocs(100, func() {
		d.Entering(store.Key{}, p)
		d.Settled()
		d.Check()
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

func TestWhatHasNoDeepCopyObjectCannotBeWatched(t *testing.T) {
	if _, err := New(Options[corev1.Pod]{All: true}); err == nil {
		t.Error("a struct can be watched")
	}
	if _, err := New(Options[*corev1.PodSpec]{All: true}); err == nil {
		t.Error("a pointer without the method can be watched")
	}
	if _, err := New(Options[any]{All: true}); err != nil {
		t.Error(err)
	}
}

func BenchmarkEntering(b *testing.B) {
	w := newWorld(&testing.T{}, podKey, Options[pod]{Sample: 100})
	p := fullPod("a")
	b.ReportAllocs()
	for b.Loop() {
		w.detector.Entering(key("a"), p)
	}
}

func BenchmarkCompare(b *testing.B) {
	w := newWorld(&testing.T{}, podKey, Options[pod]{All: true})
	w.put(fullPod("a"))
	b.ReportAllocs()
	for b.Loop() {
		w.detector.Check()
	}
}
