package main

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/tools/cache"

	"github.com/kinglet-go/kinglet/store"
)

// newClientGo returns client-go's indexer with the functions that everybody
// uses.
func newClientGo(pods []*corev1.Pod) cache.Indexer {
	s := cache.NewIndexer(cache.MetaNamespaceKeyFunc, cache.Indexers{
		"namespace": cache.MetaNamespaceIndexFunc,
		"node":      func(obj any) ([]string, error) { return []string{obj.(*corev1.Pod).Spec.NodeName}, nil },
	})
	for _, p := range pods {
		if err := s.Add(p); err != nil {
			panic(err)
		}
	}
	return s
}

func podKey(p *corev1.Pod) (store.Key, error) {
	return store.Key{Namespace: p.Namespace, Name: p.Name}, nil
}

func kingletOptions() store.Options[*corev1.Pod] {
	return store.Options[*corev1.Pod]{
		KeyFunc: podKey,
		Indexers: map[string]store.IndexFunc[*corev1.Pod]{
			"namespace": func(p *corev1.Pod) ([]string, error) { return []string{p.Namespace}, nil },
			"node":      func(p *corev1.Pod) ([]string, error) { return []string{p.Spec.NodeName}, nil },
		},
	}
}

func newKinglet(pods []*corev1.Pod) *store.Store[*corev1.Pod] {
	return fillKinglet(kingletOptions(), pods)
}

func fillKinglet(o store.Options[*corev1.Pod], pods []*corev1.Pod) *store.Store[*corev1.Pod] {
	s, err := store.New(o)
	if err != nil {
		panic(err)
	}
	for _, p := range pods {
		if err := s.Put(p); err != nil {
			panic(err)
		}
	}
	return s
}

// batch makes the operations of a list.
func batch(pods []*corev1.Pod) store.Batch[*corev1.Pod] {
	b := store.Batch[*corev1.Pod]{Reason: store.Relist, ResourceVersion: "1"}
	for _, p := range pods {
		b.Ops = append(b.Ops, store.Op[*corev1.Pod]{Key: store.Key{Namespace: p.Namespace, Name: p.Name}, Object: p})
	}
	return b
}

// objects makes the list that client-go's Replace takes.
func objects(pods []*corev1.Pod) []any {
	out := make([]any, len(pods))
	for i, p := range pods {
		out[i] = p
	}
	return out
}
