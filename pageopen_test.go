package kinglet_test

import (
	"context"
	"flag"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"runtime"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/kinglet-go/kinglet"
	"github.com/kinglet-go/kinglet/source/sourcetest"
)

// pageOpen is real time: slow growth in timers, connections and goroutines of the
// runtime does not show in a bubble.
var pageOpen = flag.Duration("page-open", 3*time.Second, "how long a page of informers under load is open")

// loaded are informers whose objects change all the time.
type loaded struct {
	set     *kinglet.Set
	sources []*sourcetest.Static[pod]
	stop    func()
}

// podsEach is how many pods each informer has.
const podsEach = 10

func newLoaded(t *testing.T, informers int) *loaded {
	l := &loaded{set: kinglet.NewSet()}
	for i := range informers {
		var pods []pod
		for n := range podsEach {
			pods = append(pods, newPod("p"+strconv.Itoa(n), "n0"))
		}
		src := sourcetest.NewStatic(pods...)
		inf, err := kinglet.New(src, kinglet.Options[pod]{Name: fmt.Sprintf("informer-%04d", i), OnError: func(err error) { t.Error(err) }})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := inf.AddHandler(kinglet.HandlerFuncs[pod]{}, kinglet.HandlerOptions{Name: "nothing"}); err != nil {
			t.Fatal(err)
		}
		if err := l.set.Add(inf); err != nil {
			t.Fatal(err)
		}
		l.sources = append(l.sources, src)
	}
	ctx, cancel := context.WithCancel(context.Background())
	var running sync.WaitGroup
	running.Go(func() {
		if err := l.set.Run(ctx); err != nil {
			t.Error(err)
		}
	})
	if err := l.set.WaitSynced(ctx); err != nil {
		t.Fatal(err)
	}
	running.Go(func() { l.change(ctx, t) })
	l.stop = func() { cancel(); running.Wait() }
	return l
}

// change changes a pod of one informer after the other, 2,000 a second in all.
func (l *loaded) change(ctx context.Context, t *testing.T) {
	ticker := time.NewTicker(10 * time.Millisecond)
	defer ticker.Stop()
	for n := 0; ; {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
		for range 20 {
			round, src := n/len(l.sources), l.sources[n%len(l.sources)]
			src.Expire() // its history would grow
			if err := src.Update(newPod("p"+strconv.Itoa(round%podsEach), "n"+strconv.Itoa(round%7))); err != nil {
				t.Error(err)
			}
			n++
		}
	}
}

// figures are those of a process after a garbage collection.
type figures struct {
	heap       uint64
	goroutines int
}

func (f figures) String() string {
	return fmt.Sprintf("%.1f MiB of heap, %d goroutines", float64(f.heap)/(1<<20), f.goroutines)
}

func processFigures() figures {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return figures{m.HeapAlloc, runtime.NumGoroutine()}
}

// median returns the medians of the heaps and of the goroutines.
func median(all []figures) figures {
	heaps, goroutines := make([]uint64, len(all)), make([]int, len(all))
	for i, f := range all {
		heaps[i], goroutines[i] = f.heap, f.goroutines
	}
	slices.Sort(heaps)
	slices.Sort(goroutines)
	return figures{heaps[len(all)/2], goroutines[len(all)/2]}
}

// TestAPageLeftOpenUnderLoadDoesNotGrow runs for -page-open: `make page-open` has 1,000
// informers for ten minutes.
func TestAPageLeftOpenUnderLoadDoesNotGrow(t *testing.T) {
	informers, refresh := 50, 100*time.Millisecond
	if *pageOpen >= time.Minute {
		informers, refresh = 1000, 2*time.Second // as the page refreshes itself
	}
	l := newLoaded(t, informers)
	defer l.stop()
	server := httptest.NewServer(l.set.Handler())
	defer server.Close()
	client := server.Client()
	defer client.CloseIdleConnections()
	look := func(target string) {
		t.Helper()
		res, err := client.Get(server.URL + target)
		if err != nil {
			t.Fatal(err)
		}
		defer res.Body.Close()
		if n, err := io.Copy(io.Discard, res.Body); err != nil || n == 0 || res.StatusCode != http.StatusOK {
			t.Fatalf("%s: %s, %d bytes, %v", target, res.Status, n, err)
		}
	}
	ticker := time.NewTicker(refresh)
	defer ticker.Stop()
	var all []figures
	// On a machine that is otherwise busy, the looks take longer.
	for began := time.Now(); time.Since(began) < *pageOpen || len(all) < 20; <-ticker.C {
		look("/")
		look("/?open=informer-0003")
		look("/?format=json")
		all = append(all, processFigures())
		if len(all)%(30*int(time.Second/refresh+1)) == 1 {
			t.Logf("%3.0f s: %v", time.Since(began).Seconds(), all[len(all)-1])
		}
	}
	// What the first looks allocate, such as room for the charts, stays from then on.
	fifth := len(all) / 5
	early, late := median(all[fifth:2*fifth]), median(all[len(all)-fifth:])
	t.Logf("%d informers, %d looks: in the second fifth %v, in the last %v", informers, 3*len(all), early, late)
	if late.heap > early.heap+early.heap/50+1<<20 {
		t.Errorf("the heap has grown from %v to %v", early, late)
	}
	if late.goroutines > early.goroutines+2 {
		t.Errorf("goroutines: %v, then %v", early, late)
	}
	var events uint64
	for _, inf := range l.set.Observed() {
		st := inf.Status()
		events += st.Events
	}
	if least := uint64(pageOpen.Seconds() * 200); events < least {
		t.Errorf("%d events in %v, at least %d make a load", events, *pageOpen, least)
	}
}
