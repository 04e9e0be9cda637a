package conformance

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	kc "k8s.io/client-go/tools/cache"
)

// indexTests are the part of the row "store" that is about indexes.
func indexTests() []test {
	return []test{
		{sentence: "random operations leave every index as a scan would find it", run: indexEqualsScan},
		{sentence: "an index finds by several values, by one, and not by those that are gone", run: indexFinds},
		{sentence: "an object with several of the values of the question is found once", run: indexFindsOnce},
		{sentence: "replace leaves nothing behind in an index", run: indexAfterReplace},
		{sentence: "an unknown index is an error and has no values", run: indexUnknown},
		{sentence: "indexers added before and after the data find the same", run: indexersAddedLate},
		{sentence: "an indexer that exists already is refused, with all that came with it", run: indexersConflict},
		{sentence: "the keys of an index come in order", run: indexKeysInOrder},
		{sentence: "the error of an index function is that of the question", run: indexQuestionError},
	}
}

func podIndexers() kc.Indexers { return kc.Indexers{"node": byNode, "labels": byLabels} }

func indexEqualsScan(t *testing.T, im Implementation) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	r := rand.New(rand.NewPCG(seed, 2))
	s := im.NewIndexer(im.MetaNamespaceKeyFunc, podIndexers())
	twin := map[string]*corev1.Pod{}
	random := func() *corev1.Pod {
		p := pod(fmt.Sprintf("ns%d", r.IntN(2)), fmt.Sprintf("p%d", r.IntN(15)))
		if n := r.IntN(4); n > 0 {
			on(fmt.Sprintf("n%d", n))(p)
		}
		for range r.IntN(3) {
			label(fmt.Sprintf("l%d", r.IntN(3)), fmt.Sprint(r.IntN(2)))(p)
		}
		return p
	}
	check := func(step int) {
		want := map[string][]string{}
		for key, p := range twin {
			nodes, _ := byNode(p)
			values, _ := byLabels(p)
			for _, v := range nodes {
				want["node "+v] = append(want["node "+v], key)
			}
			for _, v := range values {
				want["labels "+v] = append(want["labels "+v], key)
			}
		}
		var values []string
		for _, name := range []string{"node", "labels"} {
			for _, v := range s.ListIndexFuncValues(name) {
				at := name + " " + v
				values = append(values, at)
				same(t, fmt.Sprintf("step %d: keys of %s", step, at), sorted(value(s.IndexKeys(name, v))(t)), sorted(want[at])...)
				same(t, fmt.Sprintf("step %d: objects of %s", step, at), names(value(s.ByIndex(name, v))(t)), sorted(want[at])...)
			}
		}
		same(t, fmt.Sprintf("step %d: values", step), sorted(values), slices.Sorted(maps.Keys(want))...)
	}
	for step := range 1500 {
		p := random()
		key := p.Namespace + "/" + p.Name
		switch n := r.IntN(100); {
		case n < 30:
			must(t, s.Add(p))
			twin[key] = p
		case n < 65:
			must(t, s.Update(p))
			twin[key] = p
		case n < 98:
			must(t, s.Delete(p))
			delete(twin, key)
		default:
			clear(twin)
			var list []any
			for range r.IntN(10) {
				p := random()
				if _, ok := twin[p.Namespace+"/"+p.Name]; !ok {
					twin[p.Namespace+"/"+p.Name] = p
					list = append(list, p)
				}
			}
			must(t, s.Replace(list, fmt.Sprint(step)))
		}
		if step%25 == 0 {
			check(step)
		}
	}
	check(1500)
}

func indexFinds(t *testing.T, im Implementation) {
	s := im.NewIndexer(im.MetaNamespaceKeyFunc, podIndexers())
	must(t, s.Add(pod("ns", "a", on("n1"), label("app", "x"), label("tier", "db"))))
	must(t, s.Add(pod("ns", "b", on("n2"), label("app", "x"))))
	must(t, s.Add(pod("ns", "c")))
	same(t, "on n1", names(value(s.ByIndex("node", "n1"))(t)), "ns/a")
	same(t, "on n3", value(s.ByIndex("node", "n3"))(t))
	same(t, "app=x", names(value(s.ByIndex("labels", "app=x"))(t)), "ns/a", "ns/b")
	same(t, "like b", names(value(s.Index("labels", pod("", "", label("app", "x"))))(t)), "ns/a", "ns/b")
	same(t, "like nothing", value(s.Index("node", pod("ns", "c")))(t))
	same(t, "nodes", sorted(s.ListIndexFuncValues("node")), "n1", "n2")

	must(t, s.Update(pod("ns", "a", on("n2"), label("app", "y"))))
	same(t, "on n1 after the move", value(s.ByIndex("node", "n1"))(t))
	same(t, "on n2 after the move", names(value(s.ByIndex("node", "n2"))(t)), "ns/a", "ns/b")
	same(t, "app=x after the move", value(s.IndexKeys("labels", "app=x"))(t), "ns/b")
	same(t, "nodes after the move", s.ListIndexFuncValues("node"), "n2")
	same(t, "labels after the move", sorted(s.ListIndexFuncValues("labels")), "app=x", "app=y")

	must(t, s.Delete(pod("ns", "a")))
	must(t, s.Delete(pod("ns", "b")))
	same(t, "nodes after the deletes", s.ListIndexFuncValues("node"))
	same(t, "labels after the deletes", s.ListIndexFuncValues("labels"))
}

func indexFindsOnce(t *testing.T, im Implementation) {
	s := im.NewIndexer(im.MetaNamespaceKeyFunc, podIndexers())
	must(t, s.Add(pod("ns", "a", label("app", "x"), label("tier", "db"))))
	must(t, s.Add(pod("ns", "b", label("tier", "db"))))
	same(t, "like a", names(value(s.Index("labels", pod("", "", label("app", "x"), label("tier", "db"))))(t)), "ns/a", "ns/b")

	twice := im.NewIndexer(im.MetaNamespaceKeyFunc, kc.Indexers{"twice": func(any) ([]string, error) { return []string{"v", "v"}, nil }})
	must(t, twice.Add(pod("ns", "a")))
	same(t, "a value that came twice", names(value(twice.ByIndex("twice", "v"))(t)), "ns/a")
	must(t, twice.Delete(pod("ns", "a")))
	same(t, "a value that came twice, after the delete", value(twice.ByIndex("twice", "v"))(t))
}

func indexAfterReplace(t *testing.T, im Implementation) {
	s := im.NewIndexer(im.MetaNamespaceKeyFunc, podIndexers())
	must(t, s.Add(pod("ns", "a", on("n1"))))
	must(t, s.Add(pod("ns", "b", on("n1"))))
	must(t, s.Replace([]any{pod("ns", "a", on("n2")), pod("ns", "c", on("n2"))}, "2"))
	same(t, "on n1", value(s.ByIndex("node", "n1"))(t))
	same(t, "on n2", names(value(s.ByIndex("node", "n2"))(t)), "ns/a", "ns/c")
	must(t, s.Replace(nil, "3"))
	same(t, "values", s.ListIndexFuncValues("node"))
	same(t, "keys", s.ListKeys())
}

func indexUnknown(t *testing.T, im Implementation) {
	s := im.NewIndexer(im.MetaNamespaceKeyFunc, podIndexers())
	must(t, s.Add(pod("ns", "a", on("n1"))))
	if list, err := s.ByIndex("none", "n1"); err == nil {
		t.Errorf("ByIndex finds %v", list)
	}
	if list, err := s.Index("none", pod("ns", "a")); err == nil {
		t.Errorf("Index finds %v", list)
	}
	if list, err := s.IndexKeys("none", "n1"); err == nil {
		t.Errorf("IndexKeys finds %v", list)
	}
	same(t, "values of an unknown index", s.ListIndexFuncValues("none"))
}

func indexersAddedLate(t *testing.T, im Implementation) {
	s := im.NewIndexer(im.MetaNamespaceKeyFunc, kc.Indexers{})
	must(t, s.AddIndexers(kc.Indexers{"node": byNode}))
	must(t, s.Add(pod("ns", "a", on("n1"))))
	must(t, s.Add(pod("ns", "b", on("n2"))))
	must(t, s.AddIndexers(kc.Indexers{"late": byNode, "namespace": im.MetaNamespaceIndexFunc}))
	same(t, "names of the indexers", slices.Sorted(maps.Keys(s.GetIndexers())), "late", "namespace", "node")
	for _, name := range []string{"node", "late"} {
		same(t, name+" of n1", names(value(s.ByIndex(name, "n1"))(t)), "ns/a")
		same(t, "values of "+name, sorted(s.ListIndexFuncValues(name)), "n1", "n2")
	}
	must(t, s.Update(pod("ns", "a", on("n3"))))
	must(t, s.Delete(pod("ns", "b")))
	for _, name := range []string{"node", "late"} {
		same(t, "values of "+name, s.ListIndexFuncValues(name), "n3")
	}
	same(t, "in ns", value(s.IndexKeys("namespace", "ns"))(t), "ns/a")
	if values, err := s.GetIndexers()["late"](pod("ns", "x", on("n7"))); err != nil || len(values) != 1 || values[0] != "n7" {
		t.Errorf("the function of the index says %v, %v", values, err)
	}
}

func indexersConflict(t *testing.T, im Implementation) {
	s := im.NewIndexer(im.MetaNamespaceKeyFunc, kc.Indexers{"node": byNode})
	must(t, s.Add(pod("ns", "a", on("n1"))))
	if err := s.AddIndexers(kc.Indexers{"node": byLabels, "labels": byLabels}); err == nil {
		t.Error("a second indexer of the same name is taken")
	}
	same(t, "names of the indexers", slices.Sorted(maps.Keys(s.GetIndexers())), "node")
	same(t, "on n1", names(value(s.ByIndex("node", "n1"))(t)), "ns/a")
	must(t, s.AddIndexers(kc.Indexers{}))
}

func indexKeysInOrder(t *testing.T, im Implementation) {
	s := im.NewIndexer(im.MetaNamespaceKeyFunc, podIndexers())
	for _, name := range []string{"c", "a", "d", "b"} {
		must(t, s.Add(pod("ns", name, on("n1"))))
	}
	same(t, "keys", value(s.IndexKeys("node", "n1"))(t), "ns/a", "ns/b", "ns/c", "ns/d")
	same(t, "keys of an absent value", value(s.IndexKeys("node", "n2"))(t))
}

func indexQuestionError(t *testing.T, im Implementation) {
	s := im.NewIndexer(im.MetaNamespaceKeyFunc, podIndexers())
	must(t, s.Add(pod("ns", "a", on("n1"))))
	if list, err := s.Index("node", "a string"); err == nil {
		t.Errorf("an index function failed, and found %v", list)
	}
}
