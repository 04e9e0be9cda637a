package main

import (
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"runtime"

	corev1 "k8s.io/api/core/v1"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kinglet-go/kinglet/bench/internal/process"
	"github.com/kinglet-go/kinglet/ctrlruntime"
)

// groups assigns pods to the values of indexes at random, so that those of a value are
// far apart.
type groups struct {
	// turn is each pod's place in a random order.
	turn map[client.ObjectKey]int
	n    int
}

// The fields of the indexes. A value of byHundredth has a hundredth of the pods. The
// values of byTenth and byOtherTenth have a tenth each; those that measureReads asks
// for have a thousandth of the pods in common.
const (
	byHundredth  = "hundredth"
	byTenth      = "tenth"
	byOtherTenth = "other tenth"
)

func newGroups(w *managed) *groups {
	g := &groups{turn: map[client.ObjectKey]int{}, n: w.pods.Len()}
	for i, turn := range rand.New(rand.NewPCG(3, 5)).Perm(g.n) {
		p := w.pods.Pod(i, 0)
		g.turn[client.ObjectKeyFromObject(p)] = turn
	}
	return g
}

// keys returns all keys in random order.
func (g *groups) keys() []client.ObjectKey {
	keys := make([]client.ObjectKey, g.n)
	for key, turn := range g.turn {
		keys[turn] = key
	}
	return keys
}

func (g *groups) fields() map[string]client.IndexerFunc {
	by := func(value func(turn int) int) client.IndexerFunc {
		return func(o client.Object) []string {
			return []string{fmt.Sprint(value(g.turn[client.ObjectKeyFromObject(o)]))}
		}
	}
	tenth := g.n / 10
	return map[string]client.IndexerFunc{
		byHundredth: by(func(turn int) int { return turn / (g.n / 100) }),
		byTenth:     by(func(turn int) int { return turn / tenth }),
		// Its values begin a thousandth earlier.
		byOtherTenth: by(func(turn int) int { return (turn + g.n/1000) / tenth }),
	}
}

// step is what is timed n times.
type step struct {
	key string
	n   int
	do  func(i int) error
}

// measureReads measures reads through the manager's client, and views.
func measureReads(ctx context.Context, w *managed) error {
	g := newGroups(w)
	if err := w.start(ctx, w.config(false), cache.Options{}, g.fields()); err != nil {
		return err
	}
	cl, keys := w.manager.GetClient(), g.keys()
	get := func(i int) error {
		var p corev1.Pod
		return cl.Get(ctx, keys[i%len(keys)], &p)
	}
	list := func(want int, opts ...client.ListOption) func(int) error {
		return func(int) error {
			var list corev1.PodList
			if err := cl.List(ctx, &list, opts...); err != nil {
				return err
			}
			if len(list.Items) != want {
				return fmt.Errorf("a list of %d pods, not %d", len(list.Items), want)
			}
			return nil
		}
	}
	one := func(i int) client.ListOption { return client.MatchingFields{byHundredth: fmt.Sprint(i)} }
	steps := []step{
		{"get", w.job.Size.scaled(200_000, 2_000), get},
		{"list", w.job.Size.scaled(200, 10), func(i int) error { return list(g.n/100, one(i%100))(i) }},
		{"fields", w.job.Size.scaled(200, 10), list(g.n/1000, client.MatchingFields{byTenth: "1", byOtherTenth: "2"})},
	}
	if w.job.Engine == kinglets {
		view, err := ctrlruntime.For[*corev1.Pod](w.manager.GetCache())
		if err != nil {
			return err
		}
		steps = append(steps, step{"view", w.job.Size.scaled(5_000_000, 20_000), func(i int) error {
			if _, ok := view.Get(keys[i%len(keys)]); !ok {
				return fmt.Errorf("%s is missing", keys[i%len(keys)])
			}
			return nil
		}})
	}
	for _, s := range steps {
		if err := w.timed(s.key, s.n, s.do); err != nil {
			return fmt.Errorf("%s: %w", s.key, err)
		}
	}
	return nil
}

// timed measures n calls of do: CPU of the whole process, with what the collector does
// for them, and what is allocated.
func (w *managed) timed(key string, n int, do func(i int) error) error {
	if _, _, err := process.Settle(); err != nil {
		return err
	}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	cost, err := w.job.phase(key, func() error {
		for i := range n {
			if err := do(i); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	runtime.ReadMemStats(&after)
	w.figures[key] = cost.CPU * 1e9 / float64(n)
	w.figures[key+" allocs"] = float64(after.Mallocs-before.Mallocs) / float64(n)
	w.figures[key+" bytes"] = float64(after.TotalAlloc-before.TotalAlloc) / float64(n)
	return nil
}

// measureContention measures writes to the store while workers list all pods.
func measureContention(ctx context.Context, w *managed) error {
	if err := w.start(ctx, w.config(false), cache.Options{}, byNode); err != nil {
		return err
	}
	informer, err := w.manager.GetCache().GetInformer(ctx, &corev1.Pod{})
	if err != nil {
		return err
	}
	store := informer.(toolscache.SharedIndexInformer).GetIndexer()
	cl, reader := w.manager.GetClient(), w.manager.GetCache()
	var all corev1.PodList
	if err := cl.List(ctx, &all, client.UnsafeDisableDeepCopy); err != nil {
		return err
	}
	rnd := rand.New(rand.NewPCG(7, 11))
	c := contention[*corev1.Pod]{
		duration: w.job.store().contention,
		fresh: func(n int) *corev1.Pod {
			p := all.Items[rnd.IntN(len(all.Items))]
			p.ResourceVersion = fmt.Sprint(n)
			return &p
		},
		list: func() {
			var list corev1.PodList
			if err := cl.List(ctx, &list, client.UnsafeDisableDeepCopy); err != nil || len(list.Items) != w.pods.Len() {
				panic(fmt.Sprintf("a list of %d pods: %v", len(list.Items), err))
			}
		},
		write: func(p *corev1.Pod) {
			if err := store.Update(p); err != nil {
				panic(err)
			}
		},
		shown: func(p *corev1.Pod) bool {
			var got corev1.Pod
			err := reader.Get(ctx, client.ObjectKeyFromObject(p), &got, client.UnsafeDisableDeepCopy)
			return err == nil && got.ResourceVersion == p.ResourceVersion
		},
	}
	maps.Copy(w.figures, c.run(readers))
	return nil
}
