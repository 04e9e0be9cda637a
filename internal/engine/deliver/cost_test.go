//go:build !race

package deliver

import (
	"context"
	"runtime"
	"strconv"
	"testing"
	"testing/synctest"

	"github.com/kinglet-go/kinglet/internal/tests/testkit"
	"github.com/kinglet-go/kinglet/store"
)

const stallEvents = 1_000_000

// steady is a running hub with one synced handler that says when it was
// called, and a way to commit without allocating.
type steady struct {
	hub     *Hub[*object]
	called  chan int
	changes []store.Change[*object]
	version string
}

func newSteady(t testing.TB, opts HandlerOptions, n int) *steady {
	t.Helper()
	s := &steady{called: make(chan int), changes: make(changes, n), version: "1"}
	s.hub = NewHub(Options[*object]{
		KeyFunc:  keyOf,
		Snapshot: func() store.Reader[*object] { return frozen{} },
		Report:   func(err error) { panic(err) },
	})
	r, err := s.hub.Add(func(_ context.Context, cs changes) { s.called <- len(cs) }, opts)
	if err != nil {
		t.Fatal(err)
	}
	for i := range s.changes {
		o := &object{key: key(i)}
		s.changes[i] = store.Change[*object]{Type: store.Updated, Key: o.key, Old: o, New: o, ResourceVersion: strconv.Itoa(i)}
	}
	ctx, cancel := context.WithCancel(context.Background())
	s.hub.Start(ctx)
	t.Cleanup(func() {
		cancel()
		s.hub.Wait()
	})
	s.hub.Synced()
	<-r.Synced()
	return s
}

// commit commits the first n changes and waits until they are handled.
func (s *steady) commit(n int) {
	s.hub.Commit(func() (changes, string) { return s.changes[:n], s.version })
	for n > 0 {
		n -= <-s.called
	}
}

func TestDeliveringAChangeDoesNotAllocate(t *testing.T) {
	for name, opts := range map[string]HandlerOptions{
		"folding":       {},
		"every version": {EveryVersion: true, Bound: 1000},
	} {
		t.Run(name, func(t *testing.T) {
			s := newSteady(t, opts, keepRecords)
			for _, n := range []int{1, keepRecords} {
				s.commit(n)
				if got := testkit.Allocs(1000, func() { s.commit(n) }); got != 0 {
					t.Errorf("%d changes at once: %v allocations", n, got)
				}
			}
		})
	}
}

func TestOfASeriesOfBurstsOnlyTheFirstAllocates(t *testing.T) {
	const n = 5000
	s := newSteady(t, HandlerOptions{}, n)
	// AllocsPerRun lets the first pass without counting.
	if got := testkit.Allocs(20, func() { s.commit(n) }); got > 2 {
		t.Errorf("%v allocations for %d changes", got, n)
	}
}

func TestAnIdleHandlerFreesTheMemoryOfABurst(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, Options[*object]{})
		w.hub.Synced()
		r := w.add(t, newListener(w, HandlerOptions{}))
		stop := running(t, w)
		<-r.Synced()
		for range 3 {
			w.putAll(10_000)
			synctest.Wait()
			if r.Pending() > 0 || cap(r.queue.slots) < 10_000 {
				t.Errorf("%d pending, room for %d", r.Pending(), cap(r.queue.slots))
			}
			pause(keepMemoryFor - 1)
			w.putAll(1)
			pause(keepMemoryFor - 1)
			if !r.queue.large() || r.queue.index == nil || r.batch == nil || r.keep == nil {
				t.Error("given back too early")
			}
			pause(1)
			synctest.Wait()
			if r.queue.slots != nil || r.queue.index != nil || r.batch != nil || r.keep != nil {
				t.Errorf("still room for %d records and %d changes", cap(r.queue.slots), cap(r.batch))
			}
		}
		stop()
	})
}

// idleHubs returns n running hubs of one synced handler each, and what each
// costs in bytes of heap and stack and in goroutines. The last of what it
// returns ends them.
func idleHubs(t testing.TB, n, burst int) (bytes, goroutines float64, end func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	before, running := memory(), runtime.NumGoroutine()
	hubs := make([]*Hub[*object], n)
	empty := frozen{}
	report := func(err error) { panic(err) }
	snapshot := func() store.Reader[*object] { return empty }
	for i := range hubs {
		h := NewHub(Options[*object]{KeyFunc: keyOf, Snapshot: snapshot, Report: report})
		left, handled := burst, make(chan struct{})
		r, err := h.Add(func(_ context.Context, cs changes) {
			if left -= len(cs); left == 0 {
				close(handled)
			}
		}, HandlerOptions{})
		if err != nil {
			t.Fatal(err)
		}
		h.Start(ctx)
		h.Synced()
		<-r.Synced()
		if burst > 0 {
			h.Commit(func() (changes, string) {
				cs := make(changes, burst)
				for i := range cs {
					cs[i] = store.Change[*object]{Type: store.Added, Key: key(i), New: &object{}}
				}
				return cs, "1"
			})
			<-handled
		}
		hubs[i] = h
	}
	per := float64(n)
	return float64(memory()-before) / per, float64(runtime.NumGoroutine()-running) / per, func() {
		cancel()
		for _, h := range hubs {
			h.Wait()
		}
	}
}

// memory returns what heap and stacks take once garbage is collected.
func memory() int64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc + m.StackInuse)
}

func TestAnIdleHandlerCostsOneGoroutineAndLittleMemory(t *testing.T) {
	for _, tc := range []struct {
		name         string
		burst, bytes int
	}{
		{"that never had anything to do", 0, 8 << 10},
		{"after as many changes as it may keep room for", keepRecords, 10 << 10},
	} {
		t.Run(tc.name, func(t *testing.T) {
			bytes, goroutines, end := idleHubs(t, 200, tc.burst)
			defer end()
			t.Logf("%.0f B, %.2f goroutines", bytes, goroutines)
			if bytes > float64(tc.bytes) || goroutines > 1.01 {
				t.Errorf("%.0f B and %.2f goroutines, want at most %d B and 1", bytes, goroutines, tc.bytes)
			}
		})
	}
}
