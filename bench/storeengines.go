package main

import (
	"strings"

	corev1 "k8s.io/api/core/v1"
	clientgo "k8s.io/client-go/tools/cache"

	"github.com/kinglet-go/kinglet/cache"
	"github.com/kinglet-go/kinglet/store"
)

// podStore is a store of pods, indexed by namespace and node. Reads look at each object
// of their result.
type podStore interface {
	get(store.Key) *corev1.Pod
	put(*corev1.Pod)
	remove(*corev1.Pod)
	byIndex(name, value string) (results int)
	all() (results int)
	// replacing returns a function that replaces everything by pods.
	replacing(pods []*corev1.Pod) func()
}

// newStore returns an engine's store of pods, filled in order as a list comes.
func newStore(engine string, pods []*corev1.Pod) podStore {
	var s podStore
	switch engine {
	case clientGo:
		s = indexer{clientgo.NewIndexer(clientgo.MetaNamespaceKeyFunc, podIndexers)}
	case dropIn:
		s = indexer{cache.NewIndexer(cache.MetaNamespaceKeyFunc, podIndexers)}
	default:
		s = newTypedStore(store.Options[*corev1.Pod]{KeyFunc: podKey, Indexers: typedIndexers})
	}
	for _, p := range pods {
		s.put(p)
	}
	return s
}

var podIndexers = clientgo.Indexers{
	"namespace": clientgo.MetaNamespaceIndexFunc,
	"node":      func(obj any) ([]string, error) { return []string{obj.(*corev1.Pod).Spec.NodeName}, nil },
}

var typedIndexers = map[string]store.IndexFunc[*corev1.Pod]{
	"namespace": func(p *corev1.Pod) ([]string, error) { return []string{p.Namespace}, nil },
	"node":      func(p *corev1.Pod) ([]string, error) { return []string{p.Spec.NodeName}, nil },
}

func podKey(p *corev1.Pod) (store.Key, error) { return keyOf(p), nil }

func keyOf(p *corev1.Pod) store.Key { return store.Key{Namespace: p.Namespace, Name: p.Name} }

// indexer is client-go's, or the drop-in's.
type indexer struct{ clientgo.Indexer }

// get makes the key, as whoever has namespace and name does.
func (s indexer) get(k store.Key) *corev1.Pod { return s.getByKey(k.Namespace + "/" + k.Name) }

func (s indexer) getByKey(key string) *corev1.Pod {
	obj, ok, _ := s.GetByKey(key)
	if !ok {
		panic("missing")
	}
	return obj.(*corev1.Pod)
}

func (s indexer) put(p *corev1.Pod)    { check(s.Update(p)) }
func (s indexer) remove(p *corev1.Pod) { check(s.Delete(p)) }

func (s indexer) byIndex(name, value string) int {
	objs, err := s.ByIndex(name, value)
	check(err)
	return countPods(objs)
}

func (s indexer) all() int { return countPods(s.List()) }

func countPods(objs []any) (n int) {
	for _, o := range objs {
		if o.(*corev1.Pod) != nil {
			n++
		}
	}
	return n
}

func (s indexer) replacing(pods []*corev1.Pod) func() {
	list := make([]any, len(pods))
	for i, p := range pods {
		list[i] = p
	}
	return func() { check(s.Replace(list, "1")) }
}

// typedStore is kinglet's.
type typedStore struct {
	*store.Store[*corev1.Pod]
	changes []store.Change[*corev1.Pod]
}

func newTypedStore(o store.Options[*corev1.Pod]) *typedStore {
	s, err := store.New(o)
	check(err)
	return &typedStore{Store: s}
}

func (s *typedStore) get(k store.Key) *corev1.Pod {
	p, ok := s.Get(k)
	if !ok {
		panic("missing")
	}
	return p
}

func (s *typedStore) put(p *corev1.Pod) { check(s.Put(p)) }

func (s *typedStore) remove(p *corev1.Pod) {
	if _, ok := s.Delete(keyOf(p)); !ok {
		panic("missing")
	}
}

func (s *typedStore) byIndex(name, value string) (n int) {
	objs, err := s.ByIndex(name, value)
	check(err)
	for p := range objs {
		if p != nil {
			n++
		}
	}
	return n
}

func (s *typedStore) all() (n int) {
	for p := range s.All() {
		if p != nil {
			n++
		}
	}
	return n
}

func (s *typedStore) replacing(pods []*corev1.Pod) func() {
	b := store.Batch[*corev1.Pod]{Reason: store.Relist, ResourceVersion: "1"}
	for _, p := range pods {
		b.Ops = append(b.Ops, store.Op[*corev1.Pod]{Key: keyOf(p), Object: p})
	}
	return func() {
		clear(s.changes)
		var err error
		s.changes, err = s.Replace(b, s.changes[:0])
		check(err)
	}
}

// lookupKeys are keys that share no memory with the pods, as those of a reconcile request
// that came through a queue of strings.
func lookupKeys(pods []*corev1.Pod) []store.Key {
	keys := make([]store.Key, len(pods))
	for i, p := range pods {
		keys[i] = store.Key{Namespace: strings.Clone(p.Namespace), Name: strings.Clone(p.Name)}
	}
	return keys
}

func check(err error) {
	if err != nil {
		panic(err)
	}
}
