package cache

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/uuid"
	"k8s.io/apimachinery/pkg/watch"
	kc "k8s.io/client-go/tools/cache"
)

// freshPod has a UID of its own, as pods have that a test's helper makes, or an aggregated
// server that makes them up with each answer.
func freshPod(name, rv string) *corev1.Pod {
	return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: name, UID: uuid.NewUUID(), ResourceVersion: rv}}
}

func TestANewerDeleteThatNamesAnotherUIDDeletes(t *testing.T) {
	for who, make := range map[string]func(lw kc.ListerWatcher) SharedIndexInformer{
		"kinglet": func(lw kc.ListerWatcher) SharedIndexInformer {
			return NewSharedIndexInformer(lw, &corev1.Pod{}, 0, Indexers{})
		},
		"client-go": func(lw kc.ListerWatcher) SharedIndexInformer {
			return kc.NewSharedIndexInformer(lw, &corev1.Pod{}, 0, kc.Indexers{})
		},
	} {
		t.Run(who, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := watch.NewFake()
				lw := &kc.ListWatch{
					ListWithContextFunc: func(context.Context, metav1.ListOptions) (runtime.Object, error) {
						return &corev1.PodList{ListMeta: metav1.ListMeta{ResourceVersion: "1"}}, nil
					},
					WatchFuncWithContext: func(_ context.Context, o metav1.ListOptions) (watch.Interface, error) {
						if o.SendInitialEvents != nil {
							return nil, apierrors.NewInvalid(schema.GroupKind{}, "", nil)
						}
						return w, nil
					},
				}
				inf := make(lw)
				told := ""
				_, _ = inf.AddEventHandler(kc.ResourceEventHandlerFuncs{
					AddFunc:    func(any) { told += " add" },
					UpdateFunc: func(any, any) { told += " update" },
					DeleteFunc: func(any) { told += " delete" },
				})
				defer start(inf.RunWithContext)()
				time.Sleep(5 * time.Second)
				w.Add(freshPod("a", "2"))
				w.Modify(freshPod("a", "3"))
				w.Delete(freshPod("a", "4"))
				time.Sleep(time.Minute)
				synctest.Wait()
				if n := len(inf.GetStore().List()); n != 0 {
					t.Errorf("a minute after the DELETED the store has %d objects; told:%s", n, told)
				}
			})
		})
	}
}
