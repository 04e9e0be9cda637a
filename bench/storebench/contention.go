package main

import (
	"sync"
	"sync/atomic"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/tools/cache"

	"github.com/kinglet-go/kinglet/bench/internal/contention"
	"github.com/kinglet-go/kinglet/store"
)

// contended has 16 readers list, and one writer: see contention.Run.
func contended(s sizes, w *world, list func() int, write func(*corev1.Pod), shown func(*corev1.Pod) bool) Measure {
	return contention.Run(contention.Options[*corev1.Pod]{
		Duration: s.contention,
		Fresh:    func(n int) *corev1.Pod { return w.pod(w.rnd.IntN(w.n), n, 0) },
		List: func() {
			if list() != w.n {
				panic("results are missing")
			}
		},
		Write: write, Shown: shown, Settle: settle,
	})
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
	m := Measure(contention.Percentiles(took))
	m["ns"] = float64(time.Since(begin).Nanoseconds()) / float64(ops)
	return m
}
