package main

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/tools/cache"

	"github.com/kinglet-go/kinglet/store"
)

// versions are the fresh objects that updates bring, one round for each pod,
// in an order of its own.
func versions(w *world, rounds, moved int) [][]*corev1.Pod {
	out := make([][]*corev1.Pod, rounds)
	for r := range out {
		out[r] = w.shuffled(w.pods(r+1, moved*(r+1)))
	}
	return out
}

const updateRounds = 3

func updateClientGo(moved int) func(sizes) Measure {
	return func(s sizes) Measure {
		w := newWorld(s.small)
		c := newClientGo(w.pods(0, 0))
		return eachRound(versions(w, updateRounds, moved), func(p *corev1.Pod) { check(c.Update(p)) })
	}
}

func updateKinglet(moved int, snapshot bool) func(sizes) Measure {
	return func(s sizes) Measure {
		w := newWorld(s.small)
		c := newKinglet(w.pods(0, 0))
		m := eachRound(versions(w, updateRounds, moved), func(p *corev1.Pod) {
			if snapshot {
				c.Snapshot()
			}
			check(c.Put(p))
		})
		if !snapshot && moved == 0 {
			m["own-allocs"] = ownAllocs(w)
		}
		return m
	}
}

// ownAllocs measures what the store alone allocates for an update: with index
// functions that do not make a slice for each answer.
func ownAllocs(w *world) float64 {
	answers := map[string][]string{}
	answer := func(v string) []string {
		if answers[v] == nil {
			answers[v] = []string{v}
		}
		return answers[v]
	}
	o := kingletOptions()
	o.Indexers = map[string]store.IndexFunc[*corev1.Pod]{
		"namespace": func(p *corev1.Pod) ([]string, error) { return answer(p.Namespace), nil },
		"node":      func(p *corev1.Pod) ([]string, error) { return answer(p.Spec.NodeName), nil },
	}
	c := fillKinglet(o, w.pods(0, 0))
	fresh := w.shuffled(w.pods(1, 0))
	m := timed(len(fresh), func() {
		for _, p := range fresh {
			check(c.Put(p))
		}
	})
	if m["allocs"] < 0.001 {
		return 0 // the runtime's own, such as starting a collection
	}
	return m["allocs"]
}

func updateReadClientGo(s sizes) Measure {
	w := newWorld(s.small)
	c := newClientGo(w.pods(0, 0))
	return eachRound(versions(w, updateRounds, 0), func(p *corev1.Pod) {
		if _, ok, _ := c.GetByKey(p.Namespace + "/" + p.Name); !ok {
			panic("missing")
		}
		check(c.Update(p))
	})
}

func updateReadKinglet(s sizes) Measure {
	w := newWorld(s.small)
	c := newKinglet(w.pods(0, 0))
	return eachRound(versions(w, updateRounds, 0), func(p *corev1.Pod) {
		if _, ok := c.Get(store.Key{Namespace: p.Namespace, Name: p.Name}); !ok {
			panic("missing")
		}
		check(c.Put(p))
	})
}

// eachRound measures one write, and keeps the fastest of the rounds.
func eachRound(rounds [][]*corev1.Pod, write func(*corev1.Pod)) Measure {
	r := 0
	return best(len(rounds), func() Measure {
		pods := rounds[r]
		r++
		return timed(len(pods), func() {
			for _, p := range pods {
				write(p)
			}
		})
	})
}

func check(err error) {
	if err != nil {
		panic(err)
	}
}

// halves splits the pods in those that are there and those that come and go,
// the latter in random order.
func halves(w *world) (here, moving []*corev1.Pod) {
	for i, p := range w.pods(0, 0) {
		if i%2 == 0 {
			here = append(here, p)
		} else {
			moving = append(moving, p)
		}
	}
	return here, w.shuffled(moving)
}

// comeAndGo measures inserting half of the pods and deleting them again, a
// few times; Measure is of the inserts or of the deletes.
func comeAndGo(w *world, moving []*corev1.Pod, inserts bool, insert, remove func(*corev1.Pod)) Measure {
	var b Measure
	for range 4 {
		moving = w.shuffled(moving)
		in := eachRound([][]*corev1.Pod{moving}, insert)
		moving = w.shuffled(moving)
		out := eachRound([][]*corev1.Pod{moving}, remove)
		m := out
		if inserts {
			m = in
		}
		if b == nil || m["ns"] < b["ns"] {
			b = m
		}
	}
	return b
}

func comeAndGoClientGo(inserts bool) func(sizes) Measure {
	return func(s sizes) Measure { return dropInComeAndGo(inserts)(s, newClientGo) }
}

func comeAndGoKinglet(inserts bool) func(sizes) Measure {
	return func(s sizes) Measure {
		w := newWorld(s.small)
		here, moving := halves(w)
		c := newKinglet(here)
		return comeAndGo(w, moving, inserts,
			func(p *corev1.Pod) { check(c.Put(p)) },
			func(p *corev1.Pod) {
				if _, ok := c.Delete(store.Key{Namespace: p.Namespace, Name: p.Name}); !ok {
					panic("missing")
				}
			})
	}
}

const replaceRounds = 3

func replaceClientGo(moved int) func(sizes) Measure {
	return func(s sizes) Measure {
		w := newWorld(s.small)
		c := newClientGo(w.pods(0, 0))
		r := 0
		return best(replaceRounds, func() Measure {
			r++
			list := objects(w.pods(r, moved*r))
			return timed(1, func() { check(c.Replace(list, "1")) })
		})
	}
}

func replaceKinglet(moved int) func(sizes) Measure {
	return func(s sizes) Measure {
		w := newWorld(s.small)
		c := newKinglet(w.pods(0, 0))
		var changes []store.Change[*corev1.Pod]
		r := 0
		return best(replaceRounds, func() Measure {
			r++
			list := batch(w.pods(r, moved*r))
			return timed(1, func() {
				clear(changes)
				if changes, _ = c.Replace(list, changes[:0]); len(changes) != w.n {
					panic("changes are missing")
				}
			})
		})
	}
}

func replaceFirstClientGo(s sizes) Measure {
	list := objects(newWorld(s.small).pods(0, 0))
	return best(3, func() Measure {
		c := cache.NewIndexer(cache.MetaNamespaceKeyFunc, newClientGo(nil).GetIndexers())
		return timed(1, func() { check(c.Replace(list, "1")) })
	})
}

func replaceFirstKinglet(s sizes) Measure {
	list := batch(newWorld(s.small).pods(0, 0))
	return best(3, func() Measure {
		c := newKinglet(nil)
		return timed(1, func() {
			_, err := c.Replace(list, nil)
			check(err)
		})
	})
}

// renamed makes fresh pods under names that no other round has.
func renamed(w *world, round int) []*corev1.Pod {
	pods := w.pods(round, 0)
	for _, p := range pods {
		p.Name = fmt.Sprintf("%s%d", p.Name, round)
	}
	return pods
}

func replaceKeysClientGo(s sizes) Measure { return dropInReplaceKeys(s, newClientGo) }

func replaceKeysKinglet(s sizes) Measure {
	w := newWorld(s.small)
	c := newKinglet(w.pods(0, 0))
	var changes []store.Change[*corev1.Pod]
	r := 0
	return best(replaceRounds, func() Measure {
		r++
		list := batch(renamed(w, r))
		return timed(1, func() {
			clear(changes)
			if changes, _ = c.Replace(list, changes[:0]); len(changes) != 2*w.n {
				panic("changes are missing")
			}
		})
	})
}
