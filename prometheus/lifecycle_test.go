package prometheus

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	"go.uber.org/goleak"
	corev1 "k8s.io/api/core/v1"

	"github.com/kinglet-go/kinglet"
	"github.com/kinglet-go/kinglet/internal/tests/testkit"
	"github.com/kinglet-go/kinglet/internal/tests/testpods"
	"github.com/kinglet-go/kinglet/page"
	"github.com/kinglet-go/kinglet/source/sourcetest"
	"github.com/kinglet-go/kinglet/store"
)

// newInformer returns an informer of a source in memory with two pods, and a handler.
func newInformer(t testing.TB, name string) *kinglet.Informer[*corev1.Pod] {
	t.Helper()
	src := sourcetest.NewStatic(testpods.New("a", "n1"), testpods.New("b", "n2"))
	inf, err := kinglet.New(src, kinglet.Options[*corev1.Pod]{Name: name})
	if err != nil {
		t.Fatal(err)
	}
	nothing := kinglet.HandlerFunc[*corev1.Pod](func(context.Context, []store.Change[*corev1.Pod]) {})
	if _, err := inf.AddHandler(nothing, kinglet.HandlerOptions{Name: "handler"}); err != nil {
		t.Fatal(err)
	}
	return inf
}

// run runs a set of n informers, and returns it once all have synced. end ends it, and
// returns when all of it has.
func run(t testing.TB, n int) (set *kinglet.Set, end func()) {
	t.Helper()
	set = kinglet.NewSet()
	for i := range n {
		if err := set.Add(newInformer(t, fmt.Sprintf("informer-%d", i))); err != nil {
			t.Fatal(err)
		}
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- set.Run(ctx) }()
	if err := set.WaitSynced(ctx); err != nil {
		t.Fatal(err)
	}
	return set, func() {
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	}
}

func TestWhatAnInformerDoesIsServed(t *testing.T) {
	set, end := run(t, 1)
	defer end()
	registry := prometheus.NewPedanticRegistry()
	registry.MustRegister(NewCollector(set, everything))
	err := testutil.GatherAndCompare(registry, strings.NewReader(`
# HELP kinglet_informer_objects Objects in the store.
# TYPE kinglet_informer_objects gauge
kinglet_informer_objects{group="",informer="informer-0",resource="",version=""} 2
`), "kinglet_informer_objects")
	if err != nil {
		t.Error(err)
	}
}

// increase() of a counter does not see a value that its series begins with. Lists by cause begin
// with one, and their alert wants many.
func TestCountersOfAlertsBeginWithTheInformer(t *testing.T) {
	set, end := run(t, 1)
	defer end()
	text := served(t, NewCollector(set, Options{}))
	alerts, err := os.ReadFile("../docs/alerts.yaml")
	if err != nil {
		t.Fatal(err)
	}
	counters := regexp.MustCompile(`increase\((\w+)\[`).FindAllSubmatch(alerts, -1)
	if len(counters) == 0 {
		t.Fatal("no counters in docs/alerts.yaml")
	}
	for _, c := range counters {
		if name := string(c[1]); name != "kinglet_informer_lists_total" && !bytes.Contains(text, []byte("\n"+name+"{")) {
			t.Errorf("%s has no series before it counts", name)
		}
	}
}

// In rounds of a hundred, since what leaks would grow with the rounds.
func TestTenThousandInformersThatHaveStoppedLeaveNothing(t *testing.T) {
	const each = 100
	rounds := testkit.Trials(100)
	shown := kinglet.NewSet()
	collector := NewCollector(shown, everything)
	var heap uint64
	var others goleak.Option
	for round := range rounds {
		set, end := run(t, each)
		var remove []func()
		for _, inf := range set.Informers() {
			remove = append(remove, shown.Observe(inf))
		}
		if n := bytes.Count(served(t, collector), []byte("\nkinglet_informer_objects{")); n != each {
			t.Fatalf("%d series for %d informers", n, each)
		}
		end()
		for _, f := range remove {
			f()
		}
		if text := served(t, collector); len(text) > 0 {
			t.Fatalf("after round %d there is\n%s", round, text)
		}
		if round == rounds/10 {
			heap, others = inUse(), goleak.IgnoreCurrent()
		}
	}
	// Less than 20 bytes an informer: a series would be hundreds.
	if now := inUse(); now > heap+uint64(rounds*each*20) {
		t.Errorf("%d bytes in use, and %d after a tenth of the rounds", now, heap)
	}
	goleak.VerifyNone(t, others)
}

// A counter that passed to another would jump, as if something had happened.
func TestNoSeriesPassesFromOneInformerOrControllerToAnother(t *testing.T) {
	seed := testkit.Seed(t)
	r := rand.New(rand.NewPCG(seed, 0))
	set := kinglet.NewSet()
	collector := NewCollector(set, everything)
	names := []string{"a", "a", "a#2", "b"}
	type one struct {
		count  uint64
		remove func()
	}
	var all []one
	of := map[string]uint64{} // the count of each series' owner
	for n := range uint64(150) {
		switch name := names[r.IntN(len(names))]; r.IntN(4) {
		case 0:
			i := healthy(name)
			i.status.Bookmarks = n
			all = append(all, one{n, set.Observe(i)})
		case 1:
			c := fullController(name)
			c.status.Succeeded = n
			all = append(all, one{n, set.ObserveController(c)})
		default:
			if len(all) == 0 {
				continue
			}
			k := r.IntN(len(all))
			all[k].remove()
			all = slices.Delete(all, k, k+1)
		}
		now := map[string]uint64{}
		for _, m := range ofCounts.FindAllStringSubmatch(string(served(t, collector)), -1) {
			count, err := strconv.ParseFloat(m[2], 64)
			if err != nil {
				t.Fatal(err)
			}
			now[m[1]] = uint64(count)
			if was, ok := of[m[1]]; ok && was != now[m[1]] && slices.ContainsFunc(all, func(o one) bool { return o.count == now[m[1]] && o.count < n }) {
				t.Fatalf("seed %d, step %d: %s was of %d, and is of %d", seed, n, m[1], was, now[m[1]])
			}
		}
		if len(now) != len(all) {
			t.Fatalf("seed %d, step %d: %d series of %d", seed, n, len(now), len(all))
		}
		of = now
	}
}

var ofCounts = regexp.MustCompile(`(?m)^(kinglet_informer_bookmarks_total\{.*\}|kinglet_controller_runs_total\{.*result="succeeded".*\}) (.*)$`)

// Whoever looks, by whichever way, disturbs neither what starts nor what stops.
func TestInformersStartAndStopWhileTheyAreLookedAt(t *testing.T) {
	set, end := run(t, 3)
	collector := NewCollector(set, everything)
	registry := prometheus.NewPedanticRegistry()
	registry.MustRegister(collector)
	shown := page.Handler(set)
	get := func(target string) {
		w := httptest.NewRecorder()
		if shown.ServeHTTP(w, httptest.NewRequest(http.MethodGet, target, nil)); w.Code != http.StatusOK {
			t.Errorf("%s: %d", target, w.Code)
		}
	}
	looks := []func(){
		func() {
			if _, err := registry.Gather(); err != nil {
				t.Error(err)
			}
		},
		func() { served(t, collector) },
		func() { get("/?all=1&open=informer-0&open=informer-1%232&stack=informer-0&sort=rate&desc=1") },
		func() { get("/?format=json&open=informer-0&q=informer") },
		func() {
			if err := set.Check(nil); err != nil {
				t.Error(err)
			}
			_ = set.Ready(nil)
		},
	}
	var looking sync.WaitGroup
	over := make(chan struct{})
	for _, look := range looks {
		looking.Go(func() {
			for {
				select {
				case <-over:
					return
				default:
					look()
				}
			}
		})
	}
	for i := range 10 {
		if err := set.Add(newInformer(t, fmt.Sprintf("added-%d", i))); err != nil {
			t.Error(err)
		}
		other, endOther := run(t, 2) // with names that the set has
		for _, inf := range other.Informers() {
			defer set.Observe(inf)()
		}
		endOther()
	}
	end()
	close(over)
	looking.Wait()
	for _, look := range looks {
		look() // of a set that has stopped
	}
}

// inUse returns the bytes of the heap that are reachable.
func inUse() uint64 {
	var m runtime.MemStats
	// The first collection runs finalizers and empties pools half, the second frees
	// what they held.
	for range 3 {
		runtime.GC()
	}
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}
