package main

import (
	"errors"
	"fmt"
	"runtime"
	"slices"
	"sync"
	"time"

	"github.com/kinglet-go/kinglet/bench/internal/process"
)

// row is one measurement of every engine.
type row struct {
	name    string
	measure func(queue, sizes) (Measure, error)
	metrics []metric
}

// metric is a figure of a row. Limits are of kinglet's figures over another's; 0
// is none.
type metric struct {
	key, what, unit      string
	ofClientGo, ofCtrl   float64
	ofSmaller, ownAtMost float64
	hasOwn               bool
	// ofEngine judges the engine, whose head starts the drop-in does not have.
	ofEngine bool
}

// sizes say how much is measured.
type sizes struct{ rounds, adds, passes, waiting, restart int }

var rows = []row{
	{"cycle", cycle, []metric{
		{key: "ns", what: "add, get, done: CPU a key", unit: "ns", ofClientGo: 1.1, ofCtrl: 1.0 / 3},
		{key: "bytes", what: "allocated a key", unit: "B", ownAtMost: 0.5, hasOwn: true},
	}},
	{"adds", adds, []metric{
		{key: "ns", what: "16 goroutines add new keys: CPU an add", unit: "ns", ofCtrl: 1.1},
	}},
	{"busy", busy, []metric{
		{key: "ns", what: "16 goroutines add, 4 get: CPU an add", unit: "ns", ofCtrl: 0.5},
	}},
	{"waiting", waiting, []metric{
		{key: "bytes", what: "a key that waits", unit: "B", ofSmaller: 1.05},
		{key: "ns", what: "AddAfter: CPU a key", unit: "ns"},
	}},
	{"restart", restart, []metric{
		{key: "p99", what: "a live change waits, 99th percentile", unit: "ms", ownAtMost: 100, hasOwn: true, ofEngine: true},
		{key: "initial", what: "the last initial key is served after", unit: "s"},
	}},
}

func keys(n int) []key {
	list := make([]key, n)
	for i := range list {
		list[i] = key{Namespace: fmt.Sprintf("namespace-%d", i%50), Name: fmt.Sprintf("name-%d", i)}
	}
	return list
}

// timed measures the CPU time of f, which does n operations.
func timed(n int, f func()) (Measure, error) {
	runtime.GC()
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	start, err := process.CPU()
	if err != nil {
		return nil, err
	}
	f()
	end, err := process.CPU()
	if err != nil {
		return nil, err
	}
	runtime.ReadMemStats(&after)
	return Measure{
		"ns":    float64(end-start) / float64(n),
		"bytes": float64(after.TotalAlloc-before.TotalAlloc) / float64(n),
	}, nil
}

func cycle(q queue, s sizes) (Measure, error) {
	list := keys(1000)
	round := func() {
		for _, k := range list {
			q.Add(k)
		}
		for range list {
			k, _ := q.Get()
			q.Done(k)
		}
	}
	for range s.rounds / 10 {
		round()
	}
	return timed(s.rounds*len(list), func() {
		for range s.rounds {
			round()
		}
	})
}

const producers = 16

// adds lets the queue take over what it was given before the time is taken:
// controller-runtime's Add writes into a buffer that a goroutine empties.
func adds(q queue, s sizes) (Measure, error) {
	list := keys(s.adds)
	return timed(len(list), func() {
		var wg sync.WaitGroup
		for p := range producers {
			wg.Go(func() {
				for i := p; i < len(list); i += producers {
					q.Add(list[i])
				}
			})
		}
		wg.Wait()
		if n := q.Len(); n != len(list) {
			panic(fmt.Sprintf("%d keys are queued of %d", n, len(list)))
		}
	})
}

func busy(q queue, s sizes) (Measure, error) {
	list := keys(10_000)
	return timed(producers*s.passes*len(list), func() {
		var adding, working sync.WaitGroup
		for range 4 {
			working.Go(func() {
				for {
					k, shutdown := q.Get()
					if shutdown {
						return
					}
					q.Done(k)
				}
			})
		}
		for p := range producers {
			adding.Go(func() {
				for i := range s.passes * len(list) {
					q.Add(list[(i+p*997)%len(list)])
				}
			})
		}
		adding.Wait()
		q.ShutDown()
		working.Wait()
	})
}

func waiting(q queue, s sizes) (Measure, error) {
	list := keys(s.waiting)
	before := heap()
	m, err := timed(len(list), func() {
		for i, k := range list {
			// Spread over an hour, in no order.
			q.AddAfter(k, time.Hour+time.Duration(i*7919%len(list))*time.Hour/time.Duration(len(list)))
		}
		// Whoever has a buffer empties it.
		q.Len()
	})
	if err != nil {
		return nil, err
	}
	m["bytes"] = float64(int64(heap()-before)) / float64(len(list))
	runtime.KeepAlive(list)
	return m, nil
}

// heap returns the bytes that are alive.
func heap() uint64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

// restart is the start of a controller: an initial list, runs of a millisecond on
// eight workers, and live changes from the first moment on, until all initial keys
// are served.
func restart(q queue, s sizes) (Measure, error) {
	if s.restart == 0 {
		return nil, errors.New("no initial keys")
	}
	initial := keys(s.restart)
	add := q.Add
	if a, ok := q.(initialAdder); ok {
		add = a.AddInitial
	}
	began := time.Now()
	for _, k := range initial {
		add(k)
	}
	var mu sync.Mutex
	added := map[key]time.Time{}
	var waits []time.Duration
	left, last := len(initial), time.Duration(0)
	done := make(chan struct{})
	var working sync.WaitGroup
	for range 8 {
		working.Go(func() {
			for {
				k, shutdown := q.Get()
				if shutdown {
					return
				}
				now := time.Now()
				mu.Lock()
				if at, live := added[k]; live {
					waits = append(waits, now.Sub(at))
				} else if left--; left == 0 {
					last = now.Sub(began)
					close(done)
				}
				mu.Unlock()
				time.Sleep(time.Millisecond)
				q.Done(k)
			}
		})
	}
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	live := 0
	for end := false; !end; {
		select {
		case <-done:
			end = true
		case <-tick.C:
			k := key{Namespace: "live", Name: fmt.Sprint(live)}
			live++
			mu.Lock()
			added[k] = time.Now()
			mu.Unlock()
			q.Add(k)
		}
	}
	q.ShutDown()
	working.Wait()
	slices.Sort(waits)
	if len(waits) < live-100 {
		return nil, fmt.Errorf("%d of %d live changes were served", len(waits), live)
	}
	return Measure{
		"p99":     float64(waits[len(waits)*99/100].Microseconds()) / 1000,
		"initial": last.Seconds(),
	}, nil
}
