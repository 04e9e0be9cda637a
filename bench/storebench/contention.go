package main

import (
	"slices"
	"sync"
	"sync/atomic"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/tools/cache"

	"github.com/kinglet-go/kinglet/store"
)

const (
	readers = 16
	pace    = time.Millisecond
)

// contended runs 16 readers that list in a loop, and one writer that is due
// to write a thousand times a second. Measured is from the call of write until
// shown, a new read, has shown it; not how late the writer was woken. A writer
// that is late goes on at once, so that the rate holds where it can.
func contended(s sizes, w *world, list func() int, write func(*corev1.Pod), shown func(*corev1.Pod) bool) Measure {
	fresh := make([]*corev1.Pod, int(s.contention/pace)*2)
	for i := range fresh {
		fresh[i] = w.pod(w.rnd.IntN(w.n), i+1, 0)
	}
	settle()
	var stop atomic.Bool
	var lists atomic.Int64
	var all sync.WaitGroup
	for range readers {
		all.Go(func() {
			for !stop.Load() {
				if list() != w.n {
					panic("results are missing")
				}
				lists.Add(1)
			}
		})
	}
	var took []float64
	begin := time.Now()
	warm := begin.Add(time.Second)
	var listsBefore int64
	measuring := false
	next := begin
	for i := 0; ; i++ {
		now := time.Now()
		if !measuring && now.After(warm) {
			measuring, begin, listsBefore = true, now, lists.Load()
		}
		if measuring && now.Sub(begin) >= s.contention {
			break
		}
		if wait := next.Sub(now); wait > 0 {
			time.Sleep(wait)
		}
		next = next.Add(pace)
		p := fresh[i%len(fresh)]
		start := time.Now()
		write(p)
		for !shown(p) {
		}
		if measuring {
			took = append(took, float64(time.Since(start).Nanoseconds())/1e3)
		}
	}
	seconds := time.Since(begin).Seconds()
	n := lists.Load() - listsBefore
	stop.Store(true)
	all.Wait()
	m := percentiles(took)
	m["lists"] = float64(n) / seconds
	m["writes"] = float64(len(took)) / seconds
	return m
}

func percentiles(xs []float64) Measure {
	slices.Sort(xs)
	at := func(q float64) float64 { return xs[min(len(xs)-1, int(q*float64(len(xs))))] }
	return Measure{"p50": at(.5), "p99": at(.99), "p9999": at(.9999), "max": xs[len(xs)-1]}
}

func contentionClientGo(s sizes) Measure { return contendedIndexer(s, newClientGo) }

func contendedIndexer(s sizes, indexer func([]*corev1.Pod) cache.Indexer) Measure {
	w := newWorld(s.large)
	c := indexer(w.pods(0, 0))
	return contended(s, w,
		func() int {
			n := 0
			for _, o := range c.List() {
				if o.(*corev1.Pod) != nil {
					n++
				}
			}
			return n
		},
		func(p *corev1.Pod) { check(c.Update(p)) },
		func(p *corev1.Pod) bool {
			o, _, _ := c.GetByKey(p.Namespace + "/" + p.Name)
			return o.(*corev1.Pod) == p
		})
}

func contentionKinglet(s sizes) Measure {
	w := newWorld(s.large)
	c := newKinglet(w.pods(0, 0))
	return contended(s, w,
		func() int {
			n := 0
			for o := range c.All() {
				if o != nil {
					n++
				}
			}
			return n
		},
		func(p *corev1.Pod) { check(c.Put(p)) },
		func(p *corev1.Pod) bool {
			o, _ := c.Get(store.Key{Namespace: p.Namespace, Name: p.Name})
			return o == p
		})
}

// snapshotWait measures how long taking a fresh snapshot takes while the
// writer applies batches without a pause: updates that move an index, inserts
// and deletes.
func snapshotWait(s sizes) Measure {
	w := newWorld(s.large)
	c := newKinglet(w.pods(0, 0))
	var b store.Batch[*corev1.Pod]
	for range 20_000 {
		i := w.rnd.IntN(w.n)
		p := w.pod(i, 1, w.rnd.IntN(1000))
		op := store.Op[*corev1.Pod]{Key: store.Key{Namespace: p.Namespace, Name: p.Name}, Object: p}
		if w.rnd.IntN(4) == 0 {
			op.Delete, op.Object = true, nil
		}
		b.Ops = append(b.Ops, op)
	}
	settle()
	var stop atomic.Bool
	var ops int
	var all sync.WaitGroup
	begin := time.Now()
	all.Go(func() {
		var changes []store.Change[*corev1.Pod]
		for at := 0; !stop.Load(); at = (at + 1000) % len(b.Ops) {
			changes, _ = c.Apply(store.Batch[*corev1.Pod]{Ops: b.Ops[at : at+1000]}, changes[:0])
			ops += 1000
		}
	})
	var took []float64
	for time.Since(begin) < s.contention/2 {
		start := time.Now()
		c.Snapshot()
		took = append(took, float64(time.Since(start).Nanoseconds())/1e3)
		for time.Since(start) < 20*time.Microsecond {
		}
	}
	stop.Store(true)
	all.Wait()
	m := percentiles(took)
	m["ns"] = float64(time.Since(begin).Nanoseconds()) / float64(ops)
	return m
}
