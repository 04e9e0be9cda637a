package queues

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	kw "k8s.io/client-go/util/workqueue"
)

func equal[T comparable](t *testing.T, what string, got, want T) {
	t.Helper()
	if got != want {
		t.Errorf("%s: got %v, want %v", what, got, want)
	}
}

// same fails if got is not want. An empty list equals nil.
func same[T comparable](t *testing.T, what string, got []T, want ...T) {
	t.Helper()
	if len(got)+len(want) > 0 && !slices.Equal(got, want) {
		t.Errorf("%s: got %v, want %v", what, got, want)
	}
}

// next gets the next item of a queue that has one or is shut down.
func next[T comparable](t *testing.T, q kw.TypedInterface[T]) T {
	t.Helper()
	if q.Len() == 0 && !q.ShuttingDown() {
		t.Fatal("the queue has no item")
	}
	item, shutdown := q.Get()
	if shutdown {
		t.Fatal("the queue is shut down and empty")
	}
	return item
}

// drained gets all queued items, and marks each as done.
func drained[T comparable](t *testing.T, q kw.TypedInterface[T]) []T {
	t.Helper()
	var items []T
	for q.Len() > 0 {
		item := next(t, q)
		items = append(items, item)
		q.Done(item)
	}
	return items
}

// over checks that the queue has no more items.
func over[T comparable](t *testing.T, q kw.TypedInterface[T]) {
	t.Helper()
	if item, shutdown := q.Get(); !shutdown {
		t.Errorf("got %v of a queue that should be shut down and empty", item)
	}
}

// going runs f in a goroutine of a bubble. returned reports whether it has returned.
func going(f func()) (returned func() bool) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		f()
	}()
	return func() bool {
		synctest.Wait()
		select {
		case <-done:
			return true
		default:
			return false
		}
	}
}

// random returns a source of random numbers. A test that fails prints its seed.
func random(t *testing.T) *rand.Rand {
	seed := rand.Uint64()
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("seed %d", seed)
		}
	})
	return rand.New(rand.NewPCG(seed, 0))
}

// model is a simple model of a queue and of a delaying queue.
type model struct {
	queued     []string
	dirty      map[string]bool // queued, or added while it was processed
	processing map[string]bool
	down       bool
	waiting    map[string]time.Time
}

func newModel() *model {
	return &model{dirty: map[string]bool{}, processing: map[string]bool{}, waiting: map[string]time.Time{}}
}

// add reports whether the item was new.
func (m *model) add(item string) bool {
	if m.down || m.dirty[item] {
		return false
	}
	m.dirty[item] = true
	if !m.processing[item] {
		m.queued = append(m.queued, item)
	}
	return true
}

func (m *model) get() string {
	item := m.queued[0]
	m.queued = m.queued[1:]
	delete(m.dirty, item)
	m.processing[item] = true
	return item
}

func (m *model) done(item string) {
	delete(m.processing, item)
	if m.dirty[item] {
		m.queued = append(m.queued, item)
	}
}

func (m *model) shutDown() {
	m.down = true
	clear(m.waiting)
}

func (m *model) addAfter(item string, at time.Time) {
	if m.down {
		return
	}
	if before, ok := m.waiting[item]; !ok || at.Before(before) {
		m.waiting[item] = at
	}
}

// until adds the items that are due.
func (m *model) until(now time.Time) (added []string) {
	due := slices.SortedFunc(maps.Keys(m.waiting), func(a, b string) int { return m.waiting[a].Compare(m.waiting[b]) })
	for _, item := range due {
		if m.waiting[item].After(now) {
			break
		}
		delete(m.waiting, item)
		if m.add(item) {
			added = append(added, item)
		}
	}
	return added
}

func (m *model) oneProcessed(r *rand.Rand) string {
	list := slices.Sorted(maps.Keys(m.processing))
	return list[r.IntN(len(list))]
}

// recorder is a provider of metrics that records their values.
type recorder struct {
	mu    sync.Mutex
	made  []string           // guarded by mu; "depth of name"
	lines []string           // guarded by mu; "depth +1", "latency 0.5"
	set   map[string]float64 // guarded by mu; gauges that are set, by what they show
	sets  int                // guarded by mu
}

func newRecorder() *recorder { return &recorder{set: map[string]float64{}} }

// take returns the lines since the last call.
func (r *recorder) take() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	lines := r.lines
	r.lines = nil
	return lines
}

// gauges returns the values of the gauges, and how often they were set.
func (r *recorder) gauges() (unfinished, longest float64, sets int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.set["unfinished"], r.set["longest"], r.sets
}

// of returns which metrics were made for a queue, in order of the names.
func (r *recorder) of(name string) []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	var list []string
	for _, m := range r.made {
		if what, ok := strings.CutSuffix(m, " of "+name); ok {
			list = append(list, what)
		}
	}
	slices.Sort(list)
	return list
}

func (r *recorder) metric(what, name string) recorded {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.made = append(r.made, what+" of "+name)
	return recorded{r, what}
}

func (r *recorder) NewDepthMetric(name string) kw.GaugeMetric       { return r.metric("depth", name) }
func (r *recorder) NewAddsMetric(name string) kw.CounterMetric      { return r.metric("adds", name) }
func (r *recorder) NewLatencyMetric(name string) kw.HistogramMetric { return r.metric("latency", name) }
func (r *recorder) NewRetriesMetric(name string) kw.CounterMetric   { return r.metric("retries", name) }

func (r *recorder) NewWorkDurationMetric(name string) kw.HistogramMetric {
	return r.metric("work", name)
}

func (r *recorder) NewUnfinishedWorkSecondsMetric(name string) kw.SettableGaugeMetric {
	return r.metric("unfinished", name)
}

func (r *recorder) NewLongestRunningProcessorSecondsMetric(name string) kw.SettableGaugeMetric {
	return r.metric("longest", name)
}

type recorded struct {
	r    *recorder
	what string
}

func (m recorded) note(text string) {
	m.r.mu.Lock()
	defer m.r.mu.Unlock()
	m.r.lines = append(m.r.lines, m.what+" "+text)
}

func (m recorded) Inc()              { m.note("+1") }
func (m recorded) Dec()              { m.note("-1") }
func (m recorded) Observe(f float64) { m.note(fmt.Sprint(f)) }

func (m recorded) Set(f float64) {
	m.r.mu.Lock()
	defer m.r.mu.Unlock()
	m.r.set[m.what] = f
	m.r.sets++
}
