package main

import (
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/tools/cache"

	"github.com/kinglet-go/kinglet/store"
)

// keys returns what is looked up: names that share no memory with the pods,
// as those of a reconcile request that came through a queue of strings.
func keys(pods []*corev1.Pod) []store.Key {
	out := make([]store.Key, len(pods))
	for i, p := range pods {
		out[i] = store.Key{Namespace: strings.Clone(p.Namespace), Name: strings.Clone(p.Name)}
	}
	return out
}

const lookups = 2_000_000

func getClientGo(s sizes, hot int) Measure {
	w := newWorld(s.small)
	pods := w.pods(0, 0)
	c := newClientGo(pods)
	ks := keys(w.shuffled(pods))
	if hot > 0 {
		ks = ks[:hot]
	}
	return best(3, func() Measure {
		return timed(lookups, func() {
			for i, k := 0, 0; i < lookups; i++ {
				if _, ok, _ := c.GetByKey(ks[k].Namespace + "/" + ks[k].Name); !ok {
					panic("missing")
				}
				if k++; k == len(ks) {
					k = 0
				}
			}
		})
	})
}

func getKinglet(s sizes, hot int) Measure {
	w := newWorld(s.small)
	pods := w.pods(0, 0)
	c := newKinglet(pods)
	ks := keys(w.shuffled(pods))
	if hot > 0 {
		ks = ks[:hot]
	}
	return best(3, func() Measure {
		return timed(lookups, func() {
			for i, k := 0, 0; i < lookups; i++ {
				if _, ok := c.Get(ks[k]); !ok {
					panic("missing")
				}
				if k++; k == len(ks) {
					k = 0
				}
			}
		})
	})
}

func getHotClientGo(s sizes) Measure { return getClientGo(s, 500) }
func getHotKinglet(s sizes) Measure  { return getKinglet(s, 500) }
func getAllClientGo(s sizes) Measure { return getClientGo(s, 0) }
func getAllKinglet(s sizes) Measure  { return getKinglet(s, 0) }

// indexed returns the values to ask for, in random order.
func (w *world) indexed(name string) []string {
	var values []string
	if name == "node" {
		values = append(values, w.nodes...)
	} else {
		for i := 0; i < w.n; i += w.n / namespaces {
			values = append(values, w.namespace(i))
		}
	}
	w.rnd.Shuffle(len(values), func(i, j int) { values[i], values[j] = values[j], values[i] })
	return values
}

func indexClientGo(name string) func(sizes) Measure {
	return func(s sizes) Measure {
		w := newWorld(s.small)
		return readByIndex(w, newClientGo(w.pods(0, 0)), name)
	}
}

// readByIndex looks at every object of an Indexer through an index.
func readByIndex(w *world, c cache.Indexer, name string) Measure {
	values := w.indexed(name)
	const rounds = 10
	return best(3, func() Measure {
		return timed(rounds*w.n, func() {
			n := 0
			for range rounds {
				for _, v := range values {
					objs, err := c.ByIndex(name, v)
					if err != nil {
						panic(err)
					}
					for _, o := range objs {
						if o.(*corev1.Pod) != nil {
							n++
						}
					}
				}
			}
			if n != rounds*w.n {
				panic("results are missing")
			}
		})
	})
}

func indexKinglet(name string) func(sizes) Measure {
	return func(s sizes) Measure {
		w := newWorld(s.small)
		c := newKinglet(w.pods(0, 0))
		values := w.indexed(name)
		const rounds = 10
		return best(3, func() Measure {
			return timed(rounds*w.n, func() {
				n := 0
				for range rounds {
					for _, v := range values {
						objs, err := c.ByIndex(name, v)
						if err != nil {
							panic(err)
						}
						for o := range objs {
							if o != nil {
								n++
							}
						}
					}
				}
				if n != rounds*w.n {
					panic("results are missing")
				}
			})
		})
	}
}

func allClientGo(s sizes) Measure {
	w := newWorld(s.small)
	return readAll(w, newClientGo(w.pods(0, 0)))
}

// readAll looks at every object of an Indexer.
func readAll(w *world, c cache.Indexer) Measure {
	const rounds = 50
	return best(3, func() Measure {
		return timed(rounds*w.n, func() {
			n := 0
			for range rounds {
				for _, o := range c.List() {
					if o.(*corev1.Pod) != nil {
						n++
					}
				}
			}
			if n != rounds*w.n {
				panic("results are missing")
			}
		})
	})
}

func allKinglet(s sizes) Measure {
	w := newWorld(s.small)
	c := newKinglet(w.pods(0, 0))
	const rounds = 50
	return best(3, func() Measure {
		return timed(rounds*w.n, func() {
			n := 0
			for range rounds {
				for o := range c.All() {
					if o != nil {
						n++
					}
				}
			}
			if n != rounds*w.n {
				panic("results are missing")
			}
		})
	})
}
