package main

import (
	corev1 "k8s.io/api/core/v1"
	clientgo "k8s.io/client-go/tools/cache"

	"github.com/kinglet-go/kinglet/cache"
)

// The rows of the drop-in measure the same calls of the same interface, on
// client-go's Indexer and on the one of kinglet's package cache.

// newDropIn returns package cache's indexer with the functions that everybody
// uses.
func newDropIn(pods []*corev1.Pod) clientgo.Indexer {
	s := cache.NewIndexer(cache.MetaNamespaceKeyFunc, cache.Indexers{
		"namespace": cache.MetaNamespaceIndexFunc,
		"node":      func(obj any) ([]string, error) { return []string{obj.(*corev1.Pod).Spec.NodeName}, nil },
	})
	for _, p := range pods {
		check(s.Add(p))
	}
	return s
}

// onBoth has a measurement made on both indexers.
func onBoth(measure func(sizes, func([]*corev1.Pod) clientgo.Indexer) Measure) map[string]func(sizes) Measure {
	return both(
		func(s sizes) Measure { return measure(s, newClientGo) },
		func(s sizes) Measure { return measure(s, newDropIn) },
	)
}

var dropInRows = []row{
	{"dropin-get-hot", []metric{perOp("Indexer.GetByKey, 500 hot keys", 1), noAllocs}, onBoth(dropInGet(500))},
	{"dropin-get-all", []metric{perOp("Indexer.GetByKey, all in random order", 1.3), noAllocs}, onBoth(dropInGet(0))},
	{"dropin-update-same", []metric{perOp("Indexer.Update, indexes unchanged", 1), anyAllocs}, onBoth(dropInUpdate(0))},
	{"dropin-update-move", []metric{perOp("Indexer.Update, an index moves", 1), anyAllocs}, onBoth(dropInUpdate(1))},
	{"dropin-insert", []metric{perOp("Indexer.Add, random order", 1), anyAllocs}, onBoth(dropInComeAndGo(true))},
	{"dropin-delete", []metric{perOp("Indexer.Delete, random order", 1), anyAllocs}, onBoth(dropInComeAndGo(false))},
	{"dropin-index-100", []metric{perOp("Indexer.ByIndex, 100 results, a result", 1), anyAllocs}, onBoth(dropInIndex("node"))},
	{"dropin-index-2000", []metric{perOp("Indexer.ByIndex, 2,000 results, a result", 1), anyAllocs}, onBoth(dropInIndex("namespace"))},
	{"dropin-list", []metric{perOp("Indexer.List, a result", 1), anyAllocs}, onBoth(dropInList)},
	{"dropin-keys", []metric{perOp("Indexer.ListKeys, a result", 0), anyAllocs}, onBoth(dropInKeys)},
	{"dropin-replace", []metric{{key: "ms", what: "Indexer.Replace, every object changed", unit: "ms", atMost: 1}, anyAllocs}, onBoth(dropInReplace)},
	{"dropin-replace-keys", []metric{{key: "ms", what: "Indexer.Replace, every key replaced", unit: "ms", atMost: 1}, anyAllocs}, onBoth(dropInReplaceKeys)},
	{"dropin-contention", []metric{
		{key: "p50", what: "Indexer.Update, 16 readers in List: p50", unit: "µs"},
		{key: "p99", what: "p99", unit: "µs", atMost: 1.0 / 200},
		{key: "max", what: "max", unit: "µs"},
		{key: "lists", what: "readers' lists", unit: "/s", atLeast: 1},
		{key: "writes", what: "writes", unit: "/s"},
	}, onBoth(contendedIndexer)},
	{"dropin-memory", []metric{{key: "bytes", what: "Indexer's memory an object", unit: "B", atMost: 1}}, onBoth(memory[clientgo.Indexer])},
}

// dropInGet looks objects up by strings that are there already.
func dropInGet(hot int) func(sizes, func([]*corev1.Pod) clientgo.Indexer) Measure {
	return func(s sizes, indexer func([]*corev1.Pod) clientgo.Indexer) Measure {
		w := newWorld(s.small)
		pods := w.pods(0, 0)
		c := indexer(pods)
		var ks []string
		for _, p := range w.shuffled(pods) {
			ks = append(ks, p.Namespace+"/"+p.Name)
		}
		if hot > 0 {
			ks = ks[:hot]
		}
		return best(3, func() Measure {
			return timed(lookups, func() {
				for i, k := 0, 0; i < lookups; i++ {
					if _, ok, _ := c.GetByKey(ks[k]); !ok {
						panic("missing")
					}
					if k++; k == len(ks) {
						k = 0
					}
				}
			})
		})
	}
}

func dropInUpdate(moved int) func(sizes, func([]*corev1.Pod) clientgo.Indexer) Measure {
	return func(s sizes, indexer func([]*corev1.Pod) clientgo.Indexer) Measure {
		w := newWorld(s.small)
		c := indexer(w.pods(0, 0))
		return eachRound(versions(w, updateRounds, moved), func(p *corev1.Pod) { check(c.Update(p)) })
	}
}

func dropInComeAndGo(inserts bool) func(sizes, func([]*corev1.Pod) clientgo.Indexer) Measure {
	return func(s sizes, indexer func([]*corev1.Pod) clientgo.Indexer) Measure {
		w := newWorld(s.small)
		here, moving := halves(w)
		c := indexer(here)
		return comeAndGo(w, moving, inserts,
			func(p *corev1.Pod) { check(c.Add(p)) },
			func(p *corev1.Pod) { check(c.Delete(p)) })
	}
}

func dropInIndex(name string) func(sizes, func([]*corev1.Pod) clientgo.Indexer) Measure {
	return func(s sizes, indexer func([]*corev1.Pod) clientgo.Indexer) Measure {
		w := newWorld(s.small)
		c := indexer(w.pods(0, 0))
		return readByIndex(w, c, name)
	}
}

func dropInList(s sizes, indexer func([]*corev1.Pod) clientgo.Indexer) Measure {
	w := newWorld(s.small)
	return readAll(w, indexer(w.pods(0, 0)))
}

func dropInKeys(s sizes, indexer func([]*corev1.Pod) clientgo.Indexer) Measure {
	w := newWorld(s.small)
	c := indexer(w.pods(0, 0))
	const rounds = 20
	return best(3, func() Measure {
		return timed(rounds*w.n, func() {
			n := 0
			for range rounds {
				n += len(c.ListKeys())
			}
			if n != rounds*w.n {
				panic("keys are missing")
			}
		})
	})
}

func dropInReplace(s sizes, indexer func([]*corev1.Pod) clientgo.Indexer) Measure {
	w := newWorld(s.small)
	c := indexer(w.pods(0, 0))
	round := 0
	lists := [][]any{objects(w.pods(1, 0)), objects(w.pods(2, 0)), objects(w.pods(3, 0))}
	return best(len(lists), func() Measure {
		list := lists[round]
		round++
		return timed(1, func() { check(c.Replace(list, "1")) })
	})
}

func dropInReplaceKeys(s sizes, indexer func([]*corev1.Pod) clientgo.Indexer) Measure {
	w := newWorld(s.small)
	c := indexer(w.pods(0, 0))
	round := 0
	return best(replaceRounds, func() Measure {
		round++
		list := objects(renamed(w, round))
		return timed(1, func() { check(c.Replace(list, "1")) })
	})
}
