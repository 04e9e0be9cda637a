package main

import (
	"context"
	"fmt"
	"reflect"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/dynamic"
	typedv1 "k8s.io/client-go/kubernetes/typed/core/v1"

	"github.com/kinglet-go/kinglet/bench/internal/replay"
	"github.com/kinglet-go/kinglet/source"
)

// comparePage is small, so that checking takes no memory to speak of.
const comparePage = 500

// compare lists what the server has, with client-go's clients and codecs, and
// returns how many objects the store holds exactly so. Anything else is an
// error.
func (s *setup) compare(ctx context.Context, at replay.Endpoint, store running) (n int, err error) {
	opts := metav1.ListOptions{Limit: comparePage}
	list, err := s.lister(at)
	if err != nil {
		return 0, err
	}
	for {
		items, next, err := list(ctx, opts)
		if err != nil {
			return n, err
		}
		for _, want := range items {
			got := store.get(want.GetNamespace(), want.GetName())
			if got != nil && source.IsPartial(got) {
				want.SetSelfLink(got.GetSelfLink()) // the mark of an object that is not whole
			}
			if !reflect.DeepEqual(got, want) {
				return n, fmt.Errorf("%s/%s is not as the server has it:\n%+v\n%+v", want.GetNamespace(), want.GetName(), got, want)
			}
			n++
		}
		if next == "" {
			break
		}
		opts.Continue = next
	}
	if store.len() != n {
		return n, fmt.Errorf("the store holds %d objects, the server has %d", store.len(), n)
	}
	return n, nil
}

// lister returns a function that reads one page, and returns it with the token of the next.
func (s *setup) lister(at replay.Endpoint) (func(context.Context, metav1.ListOptions) ([]metav1.Object, string, error), error) {
	cfg := s.config(at)
	if s.untyped {
		c, err := dynamic.NewForConfig(cfg)
		if err != nil {
			return nil, err
		}
		return pagesOf(s, c.Resource(podsResource).List), nil
	}
	c, err := typedv1.NewForConfig(cfg)
	if err != nil {
		return nil, err
	}
	return pagesOf(s, c.Pods(metav1.NamespaceAll).List), nil
}

// pagesOf returns a lister of what list returns.
func pagesOf[L runtime.Object](s *setup, list func(context.Context, metav1.ListOptions) (L, error)) func(context.Context, metav1.ListOptions) ([]metav1.Object, string, error) {
	return func(ctx context.Context, opts metav1.ListOptions) (out []metav1.Object, next string, err error) {
		l, err := list(ctx, opts)
		if err != nil {
			return nil, "", err
		}
		err = meta.EachListItem(l, func(obj runtime.Object) (err error) {
			if p, ok := obj.(*corev1.Pod); ok {
				obj, err = s.transform.apply(p)
			}
			out = append(out, obj.(metav1.Object))
			return err
		})
		page, _ := meta.ListAccessor(l)
		return out, page.GetContinue(), err
	}
}
