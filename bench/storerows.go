package main

import (
	"context"
	"runtime"
	"runtime/metrics"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/kinglet-go/kinglet/bench/internal/process"
	"github.com/kinglet-go/kinglet/store"
)

// storeSizes say how much the rows of the store measure.
type storeSizes struct {
	small, large int
	contention   time.Duration
}

func (j *job) store() storeSizes {
	if j.Size.Quick {
		return storeSizes{small: 2_000, large: 5_000, contention: 200 * time.Millisecond}
	}
	return storeSizes{small: 100_000, large: 500_000, contention: 10 * time.Second}
}

// storeRows measure a store, beside client-go's Indexer, through the drop-in as well.
// Times of single operations are CPU time of the thread that makes them; those under
// contention are the clock's.
func storeRows() []row {
	all := []string{clientGo, kinglets, dropIn}
	op := func(what string, kinglet, dropin float64) []figure {
		return []figure{
			{key: "ns", what: what, unit: "ns", targets: below(kinglet, dropin)},
			{key: "allocs", what: "allocations"},
		}
	}
	ms := func(what string, kinglet, dropin float64) []figure {
		return []figure{{key: "ms", what: what, unit: "ms", targets: below(kinglet, dropin)}, {key: "allocs", what: "allocations"}}
	}
	rows := []row{
		{name: "get-hot", engines: all, figures: op("Get by namespace and name, 500 hot keys", 1, 0), do: storeGet(500)},
		{name: "get-all", engines: all, figures: op("Get by namespace and name, all in random order", 1/1.3, 0), do: storeGet(0)},
		{name: "getbykey-hot", engines: []string{clientGo, dropIn}, figures: op("GetByKey, 500 hot keys", 0, 1), do: storeGetByKey(500)},
		{name: "getbykey-all", engines: []string{clientGo, dropIn}, figures: op("GetByKey, all in random order", 0, 1/1.3), do: storeGetByKey(0)},
		{name: "update-same", engines: all, figures: append(op("Update, indexes unchanged", 1/.8, 1),
			figure{key: "own allocs", what: "without the index functions' own", targets: map[string]target{kinglets: {none: true}}}), do: storeUpdate(0, false)},
		{name: "update-move", engines: all, figures: op("Update, an index moves", 1/.75, 1), do: storeUpdate(1, false)},
		{name: "update-snapshot", engines: []string{clientGo, kinglets}, figures: op("Update, a fresh snapshot before each", .5, 0), do: storeUpdate(0, true)},
		{name: "insert", engines: all, figures: op("insert, random order", 1, 1/1.1), do: storeComeAndGo(true)},
		{name: "delete", engines: all, figures: op("delete, random order", 1, 1/1.1), do: storeComeAndGo(false)},
		{name: "index-100", engines: all, figures: op("by index, 100 results, a result", 4, 1), do: storeByIndex("node")},
		{name: "index-2000", engines: all, figures: op("by index, 2,000 results, a result", 8, 1), do: storeByIndex("namespace")},
		{name: "list", engines: all, figures: op("all objects, a result", 1/.6, 1), do: storeAll},
		{name: "list-keys", engines: []string{clientGo, dropIn}, figures: op("ListKeys, a key", 0, 0), do: storeListKeys},
		{name: "replace-same", engines: all, figures: ms("Replace, nothing changed", 2, 1), do: storeReplace(0)},
		{name: "replace-moved", engines: all, figures: ms("Replace, every object changed", 2, 1), do: storeReplace(1)},
		{name: "replace-keys", engines: all, figures: ms("Replace, every key replaced", 1, 1), do: storeReplaceKeys},
		{name: "contention", engines: all, figures: []figure{
			{key: "p50", what: "a write until it is read, 16 readers listing: p50", unit: "µs"},
			{key: "p99", what: "p99", unit: "µs", targets: below(1000, 200)},
			{key: "max", what: "max", unit: "µs"},
			{key: "lists", what: "readers' lists", unit: "/s", targets: map[string]target{kinglets: {atLeast: 1.5}, dropIn: {atLeast: 1}}},
			{key: "writes", what: "writes", unit: "/s"},
			{key: "lone p50", what: "a write until it is read, alone: p50", unit: "µs"},
		}, do: storeContention},
		{name: "memory", engines: all, figures: []figure{
			{key: "bytes", what: "store memory an object", unit: "B", targets: below(2, 1)},
			{key: "marking", what: "marking the store, beyond its objects", unit: "ms", targets: below(2, 0)},
		}, do: storeMemory},
	}
	for i := range rows {
		rows[i].name = "store/" + rows[i].name
	}
	return rows
}

// timed runs fn, which does n operations on this goroutine, and measures one of them:
// the CPU time of the thread, which includes what the runtime makes it do for the
// collector.
func timed(n int, fn func()) measure {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	settled()
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	start := process.ThreadTime()
	fn()
	took := process.ThreadTime() - start
	runtime.ReadMemStats(&after)
	ns := float64(took.Nanoseconds()) / float64(n)
	return measure{"ns": ns, "ms": ns / 1e6, "allocs": float64(after.Mallocs-before.Mallocs) / float64(n)}
}

// settled collects garbage, so that a measurement does not pay for what was made before
// it, and returns the live heap.
func settled() float64 {
	live, _, err := process.Settle()
	check(err)
	return live
}

// best keeps the fastest of some measurements: what is slower was disturbed.
func best(times int, fn func(round int) measure) (b measure) {
	for round := range times {
		if m := fn(round); b == nil || m["ns"] < b["ns"] {
			b = m
		}
	}
	return b
}

// measured runs rounds of a measurement, profiled if that is wanted.
func (j *job) best(times int, fn func(round int) measure) (m measure, err error) {
	_, err = j.phase("rounds", func() error {
		m = best(times, fn)
		return nil
	})
	return m, err
}

func storeGet(hot int) func(context.Context, *job) (measure, error) {
	return func(_ context.Context, j *job) (measure, error) {
		w := newSmallPods(j.store().small)
		pods := w.pods(0, 0)
		s := newStore(j.Engine, pods)
		keys := hottest(lookupKeys(w.shuffled(pods)), hot)
		n := j.Size.scaled(2_000_000, 20_000)
		return j.best(3, func(int) measure {
			return timed(n, func() {
				for i, k := 0, 0; i < n; i++ {
					s.get(keys[k])
					if k++; k == len(keys) {
						k = 0
					}
				}
			})
		})
	}
}

// storeGetByKey looks objects up by strings that are there already.
func storeGetByKey(hot int) func(context.Context, *job) (measure, error) {
	return func(_ context.Context, j *job) (measure, error) {
		w := newSmallPods(j.store().small)
		pods := w.pods(0, 0)
		s := newStore(j.Engine, pods).(indexer)
		var keys []string
		for _, k := range hottest(lookupKeys(w.shuffled(pods)), hot) {
			keys = append(keys, k.Namespace+"/"+k.Name)
		}
		n := j.Size.scaled(2_000_000, 20_000)
		return j.best(3, func(int) measure {
			return timed(n, func() {
				for i, k := 0, 0; i < n; i++ {
					s.getByKey(keys[k])
					if k++; k == len(keys) {
						k = 0
					}
				}
			})
		})
	}
}

func hottest[K any](keys []K, n int) []K {
	if n == 0 {
		return keys
	}
	return keys[:n]
}

const writeRounds = 3

// storeUpdate writes a fresh version of each pod in random order, with its node moved by
// so many in each round.
func storeUpdate(moved int, snapshots bool) func(context.Context, *job) (measure, error) {
	return func(_ context.Context, j *job) (measure, error) {
		w := newSmallPods(j.store().small)
		s := newStore(j.Engine, w.pods(0, 0))
		rounds := make([][]*corev1.Pod, writeRounds)
		for r := range rounds {
			rounds[r] = w.shuffled(w.pods(r+1, moved*(r+1)))
		}
		typed, _ := s.(*typedStore)
		m, err := j.best(writeRounds, func(r int) measure {
			return timed(w.n, func() {
				for _, p := range rounds[r] {
					if snapshots && typed != nil {
						typed.Snapshot()
					}
					s.put(p)
				}
			})
		})
		if err == nil && typed != nil && !snapshots && moved == 0 {
			m["own allocs"] = ownAllocs(w)
		}
		return m, err
	}
}

// ownAllocs measures what the store alone allocates for an update: with index functions
// that do not make a slice for each answer.
func ownAllocs(w *smallPods) float64 {
	answers := map[string][]string{}
	answer := func(v string) ([]string, error) {
		if answers[v] == nil {
			answers[v] = []string{v}
		}
		return answers[v], nil
	}
	s := newTypedStore(store.Options[*corev1.Pod]{KeyFunc: podKey, Indexers: map[string]store.IndexFunc[*corev1.Pod]{
		"namespace": func(p *corev1.Pod) ([]string, error) { return answer(p.Namespace) },
		"node":      func(p *corev1.Pod) ([]string, error) { return answer(p.Spec.NodeName) },
	}})
	for _, p := range w.pods(0, 0) {
		s.put(p)
	}
	fresh := w.shuffled(w.pods(1, 0))
	return timed(len(fresh), func() {
		for _, p := range fresh {
			s.put(p)
		}
	})["allocs"]
}

// storeComeAndGo inserts half of the pods in random order, and deletes them again.
func storeComeAndGo(inserts bool) func(context.Context, *job) (measure, error) {
	return func(_ context.Context, j *job) (measure, error) {
		w := newSmallPods(j.store().small)
		var here, moving []*corev1.Pod
		for i, p := range w.pods(0, 0) {
			if i%2 == 0 {
				here = append(here, p)
			} else {
				moving = append(moving, p)
			}
		}
		s := newStore(j.Engine, here)
		each := func(do func(*corev1.Pod)) measure {
			moving = w.shuffled(moving)
			return timed(len(moving), func() {
				for _, p := range moving {
					do(p)
				}
			})
		}
		return j.best(4, func(int) measure {
			in, out := each(s.put), each(s.remove)
			if inserts {
				return in
			}
			return out
		})
	}
}

func storeByIndex(name string) func(context.Context, *job) (measure, error) {
	return func(_ context.Context, j *job) (measure, error) {
		w := newSmallPods(j.store().small)
		s := newStore(j.Engine, w.pods(0, 0))
		values := w.indexed(name)
		return j.readAll(w, 10, func() (n int) {
			for _, v := range values {
				n += s.byIndex(name, v)
			}
			return n
		})
	}
}

func storeAll(_ context.Context, j *job) (measure, error) {
	w := newSmallPods(j.store().small)
	return j.readAll(w, 50, newStore(j.Engine, w.pods(0, 0)).all)
}

func storeListKeys(_ context.Context, j *job) (measure, error) {
	w := newSmallPods(j.store().small)
	s := newStore(j.Engine, w.pods(0, 0)).(indexer)
	return j.readAll(w, 20, func() int { return len(s.ListKeys()) })
}

// readAll measures a read of everything, for each object.
func (j *job) readAll(w *smallPods, rounds int, read func() int) (measure, error) {
	return j.best(3, func(int) measure {
		return timed(rounds*w.n, func() {
			for range rounds {
				if read() != w.n {
					panic("results are missing")
				}
			}
		})
	})
}

func storeReplace(moved int) func(context.Context, *job) (measure, error) {
	return func(_ context.Context, j *job) (measure, error) {
		w := newSmallPods(j.store().small)
		s := newStore(j.Engine, w.pods(0, 0))
		return j.best(writeRounds, func(r int) measure {
			return timed(1, s.replacing(w.pods(r+1, moved*(r+1))))
		})
	}
}

// storeReplaceKeys replaces everything by pods under names that no other round has.
func storeReplaceKeys(_ context.Context, j *job) (measure, error) {
	w := newSmallPods(j.store().small)
	s := newStore(j.Engine, w.pods(0, 0))
	return j.best(writeRounds, func(r int) measure {
		pods := w.pods(r+1, 0)
		for _, p := range pods {
			p.Name += string(rune('a' + r))
		}
		return timed(1, s.replacing(pods))
	})
}

func storeContention(_ context.Context, j *job) (measure, error) {
	w := newSmallPods(j.store().large)
	s := newStore(j.Engine, w.pods(0, 0))
	c := contention[*corev1.Pod]{
		duration: j.store().contention,
		fresh:    func(n int) *corev1.Pod { return w.pod(w.rnd.IntN(w.n), n, 0) },
		list: func() {
			if s.all() != w.n {
				panic("results are missing")
			}
		},
		write: s.put,
		shown: func(p *corev1.Pod) bool { return s.get(keyOf(p)) == p },
	}
	alone := c.run(0)
	m := c.run(readers)
	m["lone p50"] = alone["p50"]
	return m, nil
}

// storeMemory measures the live heap that a store adds to the objects in it, and the CPU
// that a collection spends on marking it.
func storeMemory(_ context.Context, j *job) (measure, error) {
	pods := newSmallPods(j.store().large).pods(0, 0)
	before, objects := settled(), markCost()
	s := newStore(j.Engine, pods)
	after, all := settled(), markCost()
	runtime.KeepAlive(s)
	runtime.KeepAlive(pods)
	return measure{"bytes": (after - before) / float64(len(pods)), "marking": all - objects}, nil
}

// markCost returns the milliseconds of CPU that marking takes, the least of some
// collections: the runtime counts by the clock, so a busy machine makes it more.
func markCost() float64 {
	settled()
	var costs []float64
	last := markCPU()
	for range 15 {
		runtime.GC()
		now := markCPU()
		costs = append(costs, (now-last)*1e3)
		last = now
	}
	return slices.Min(costs)
}

func markCPU() (sum float64) {
	samples := []metrics.Sample{
		{Name: "/cpu/classes/gc/mark/assist:cpu-seconds"},
		{Name: "/cpu/classes/gc/mark/dedicated:cpu-seconds"},
		{Name: "/cpu/classes/gc/mark/idle:cpu-seconds"},
	}
	metrics.Read(samples)
	for _, s := range samples {
		sum += s.Value.Float64()
	}
	return sum
}
