package ownwrites_test

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"
	"testing/synctest"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	typedcorev1 "k8s.io/client-go/kubernetes/typed/core/v1"

	"github.com/kinglet-go/kinglet"
	"github.com/kinglet-go/kinglet/internal/tests/testpods"
	"github.com/kinglet-go/kinglet/kinglettest/apiserver"
	"github.com/kinglet-go/kinglet/source"
)

// hooked is a source that calls hook in one of the calls of Traits.
type hooked struct {
	source.Source[pod]
	calls *atomic.Int32
	at    int32
	hook  func()
}

func (h hooked) Traits() source.Traits {
	if h.calls.Add(1) == h.at {
		h.hook()
	}
	return h.Source.Traits()
}

func (h hooked) ReadAnswer(a source.Answer) (source.Written[pod], error) {
	return source.ReadAnswer(h.Source, a)
}

// TestNoWriteAndNoReadIsLostWhileSourcesAreSet writes, and reads on demand, in each step of
// SetSources that asks the new source something.
func TestNoWriteAndNoReadIsLostWhileSourcesAreSet(t *testing.T) {
	all, ns, other := kinglet.Scope{ID: "all"}, kinglet.NamespaceScope("ns"), kinglet.NamespaceScope("other")
	changes := [][2][]kinglet.Scope{{{all}, {all}}, {{ns}, {all}}, {{all}, {ns}}, {{ns, other}, {ns}}, {{other, ns}, {all}}, {{all}, {other, ns}}}
	writes := map[string]struct {
		do   func(ctx context.Context, pods typedcorev1.PodInterface, a pod) error
		want string // the node of a, empty if it is gone
	}{
		"update": {func(ctx context.Context, pods typedcorev1.PodInterface, a pod) error {
			a.Spec.NodeName = "n2"
			_, err := pods.Update(ctx, a, metav1.UpdateOptions{})
			return err
		}, "n2"},
		"delete": {func(ctx context.Context, pods typedcorev1.PodInterface, a pod) error {
			return pods.Delete(ctx, "a", metav1.DeleteOptions{})
		}, ""},
		"read on demand": {nil, "n1"},
	}
	for n, change := range changes {
		for name, write := range writes {
			for at := int32(1); at <= 8; at++ {
				t.Run(fmt.Sprintf("%s, change %d, call %d", name, n, at), func(t *testing.T) {
					synctest.Test(t, func(t *testing.T) {
						b := &behind{t: t, storage: apiserver.NewStorage(apiserver.Pods), ended: make(chan error, 1)}
						b.server = apiserver.New(b.storage, apiserver.Options{})
						var calls atomic.Int32
						var hook func()
						scoped := func(o source.Options, scopes []kinglet.Scope, at int32) (to []kinglet.ScopedSource[pod]) {
							for _, s := range scopes {
								from := func(o source.Options) source.Source[pod] {
									if s.ID != all.ID {
										o.Namespace = s.ID
									}
									src, err := source.FromConfig[pod](b.server.Config(), corev1.SchemeGroupVersion.WithResource("pods"), o)
									b.must(err)
									return src
								}
								to = append(to, kinglet.ScopedSource[pod]{Scope: s, Source: hooked{from(o), &calls, at, func() { hook() }}, Whole: from(source.Options{})})
							}
							return to
						}
						opts := kinglet.Options[pod]{Indexers: map[string]kinglet.IndexFunc[pod]{"node": byNode}}
						var lean source.Options
						var demand *kinglet.OnDemand[pod]
						var err error
						if write.do == nil {
							demand, err = kinglet.NewScopedOnDemand(kinglet.OnDemandOptions[pod]{Bytes: 1, Options: opts}, func(o source.Options) []kinglet.ScopedSource[pod] {
								lean = o
								return scoped(o, change[0], -1)
							})
							b.must(err)
							b.informer = demand.Informer
						} else {
							b.informer, err = kinglet.NewScoped(opts, scoped(lean, change[0], -1)...)
							b.must(err)
						}
						a := b.create(testpods.New("a", "n1"))
						b.run()
						defer b.end()
						if demand != nil {
							b.server.Release()
						}
						own := &kinglet.OwnWrites{}
						b.must(own.Add(corev1.SchemeGroupVersion.WithResource("pods"), b.informer))
						cfg := b.server.Config()
						cfg.Wrap(own.Wrap)
						pods := kubernetes.NewForConfigOrDie(cfg).CoreV1().Pods("ns")
						want := "n1"
						expect := func(when string) {
							p, ok := b.informer.Store().Get(key("a"))
							if demand != nil {
								var err error
								if p, err = demand.Get(t.Context(), key("a")); err != nil {
									t.Errorf("%s, Get: %v", when, err)
									return
								}
							}
							if ok != (want != "") || ok && p.Spec.NodeName != want {
								t.Errorf("%s, a read shows %v, want it on %q", when, p, want)
							}
						}
						hook = func() {
							if write.do != nil {
								b.must(write.do(t.Context(), pods, a.DeepCopy()))
								want = write.want
							}
							expect("meanwhile")
						}
						calls.Store(0)
						b.must(b.informer.SetSources(scoped(lean, change[1], at)...))
						synctest.Wait() // the source's goroutine may call the hook
						expect("after it")
						b.server.Release()
						synctest.Wait()
						expect("in the end")
					})
				})
			}
		}
	}
}
