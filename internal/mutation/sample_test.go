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

	"github.com/kinglet-go/kinglet/internal/testallocs"
	"github.com/kinglet-go/kinglet/internal/testseed"
	"github.com/kinglet-go/kinglet/store"
)

func small(i int) pod {
	return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: fmt.Sprintf("p%06d", i), Labels: map[string]string{"a": "b"}}}
}

// The bound is that of doc.go: at most Sample objects are watched, each of them
// compared once; at most Sample of those that arrive and half as many of those
// that are stored are copied.
func TestASampleCostsTheSameHoweverManyObjectsThereAre(t *testing.T) {
	for _, objects := range []int{10, 1_000, 50_000} {
		t.Run(fmt.Sprint(objects), func(t *testing.T) {
			const most = 100
			w := newWorld(t, podKey, Options[pod]{Sample: most})
			for i := range objects {
				w.put(small(i))
			}
			before := w.detector.Stats()
			if before.Copied > most || before.Watched > most {
				t.Errorf("on arrival: %+v", before)
			}
			for range 10 {
				w.expect()
				for i := range objects {
					w.detector.Entering(key("x"), small(i))
				}
				now := w.detector.Stats()
				if n := now.Compared - before.Compared; n > most {
					t.Errorf("%d comparisons in an interval", n)
				}
				if n := now.Copied - before.Copied; n > most*3/2 {
					t.Errorf("%d copies in an interval", n)
				}
				if now.Watched > most {
					t.Errorf("%d watched", now.Watched)
				}
				before = now
			}
			if before.Searched != 0 {
				t.Errorf("%d objects searched, and nothing was found", before.Searched)
			}
		})
	}
}

// A clock by which everything takes a millisecond.
func TestASampleStopsWhenItsTimeIsUsedUp(t *testing.T) {
	var clock time.Time
	w := newWorld(t, podKey, Options[pod]{Sample: 1000, Interval: 20 * time.Second, Clock: func() time.Time {
		clock = clock.Add(time.Millisecond)
		return clock
	}})
	for i := range 5000 {
		w.put(small(i))
	}
	// 20 s / 1000 = 20 ms, and each copy takes one.
	const most = 20
	before := w.detector.Stats()
	if before.Copied != most {
		t.Errorf("%d copies, want %d", before.Copied, most)
	}
	for range 5 {
		w.expect()
		for i := range 1000 {
			w.detector.Entering(key("x"), small(i))
		}
		now := w.detector.Stats()
		if n := now.Copied - before.Copied + now.Compared - before.Compared; n == 0 || n > most {
			t.Errorf("%d copies and comparisons, want at most %d", n, most)
		}
		before = now
	}
	p := small(0)
	w.put(p)
	w.expect()
	w.store.All()(func(p pod) bool { p.Labels["a"] = "x"; return true })
	w.detector.Check()
	if len(w.errs) == 0 {
		t.Fatal("nothing was found, though everything was written to")
	}
	for _, e := range w.errs {
		if len(e.Sharers) != 1 || e.Unsearched == 0 {
			t.Errorf("%v: %d sharers, %d objects not searched", e, len(e.Sharers), e.Unsearched)
		}
	}
}

func TestASampleFindsAWriterWhoWritesToEverythingSoonerOrLater(t *testing.T) {
	seed := testseed.Of(t)
	w := newWorld(t, podKey, Options[pod]{Sample: 10, Seed: seed,
		Clock: func() time.Time { return time.Time{} }})
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

func TestEveryArrivalHasAChance(t *testing.T) {
	seed := testseed.Of(t)
	const arrivals, places, rounds = 40, 20, 4000
	s := sample[pod]{max: 2 * places, rand: rand.New(rand.NewPCG(seed, 0))}
	var held [arrivals]int
	for range rounds {
		for i := range arrivals {
			if place, ok := s.admit(); ok {
				s.put(place, &watch[pod]{key: store.Key{Name: fmt.Sprint(i)}, obj: nil, gone: i == 0, was: nil})
				s.arrived[place].key.Namespace = string(rune(i))
			}
		}
		for _, w := range s.end() {
			held[[]rune(w.key.Namespace)[0]]++
		}
	}
	// Half of 4,000 rounds each; 32 is one standard deviation.
	for i, n := range held {
		if n < rounds/2-200 || n > rounds/2+200 {
			t.Errorf("arrival %d was watched in %d of %d rounds", i, n, rounds)
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
		if n := w.detector.Stats().Compared; n != 1 {
			t.Errorf("compared %d times in one interval", n)
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
	if n := testallocs.Least(100, func() {
		d.Entering(store.Key{}, p)
		d.Settled()
		d.Check()
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

func TestNewNamesEverythingThatIsWrong(t *testing.T) {
	if _, err := New(Options[pod]{}); err == nil {
		t.Error("no mode, no error")
	}
	if _, err := New(Options[pod]{All: true, Sample: -3, Interval: -1}); err == nil {
		t.Error("no error")
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
