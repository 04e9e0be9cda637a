package cache

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/kinglet-go/kinglet/source"
)

// TestEventsThatChangeNothingAreCounted for informers and controllers of any
// constructor.
func TestEventsThatChangeNothingAreCounted(t *testing.T) {
	type observable interface {
		Observable
		RunWithContext(context.Context)
	}
	for name, of := range map[string]func(lw ListerWatcher) any{
		"shared informer": func(lw ListerWatcher) any { return NewSharedIndexInformer(lw, &corev1.Pod{}, 0, Indexers{}) },
		"controller": func(lw ListerWatcher) any {
			_, c := NewInformer(lw, &corev1.Pod{}, 0, ResourceEventHandlerFuncs{})
			return c
		},
		"controller with a transform": func(lw ListerWatcher) any {
			same := func(obj any) (any, error) { return obj, nil }
			_, c := NewTransformingInformer(lw, &corev1.Pod{}, 0, ResourceEventHandlerFuncs{}, same)
			return c
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				events := watch.NewFake()
				first, next := testPod("a", "n1"), testPod("a", "n2")
				first.ResourceVersion, next.ResourceVersion = "1", "2"
				observed := of(&ListWatch{
					ListFunc: func(metav1.ListOptions) (runtime.Object, error) {
						return &corev1.PodList{ListMeta: metav1.ListMeta{ResourceVersion: "1"}, Items: []corev1.Pod{*first}}, nil
					},
					WatchFunc: func(options metav1.ListOptions) (watch.Interface, error) {
						if options.SendInitialEvents != nil {
							return nil, apierrors.NewInvalid(schema.GroupKind{Kind: "Pod"}, "", nil)
						}
						return events, nil
					},
				}).(observable)
				defer runInformer(observed)()
				events.Modify(next)
				synctest.Wait()
				if st := observed.Status(); st.Duplicates != 0 || st.EventsByType.Modified != 1 {
					t.Errorf("after a change: %d duplicates of %+v", st.Duplicates, st.EventsByType)
				}
				events.Modify(next.DeepCopy())
				events.Delete(testPod("b", "n1"))
				synctest.Wait()
				if st := observed.Status(); st.Duplicates != 2 {
					t.Errorf("%d duplicates, want the change that came again and the delete of what is not there", st.Duplicates)
				}
			})
		})
	}
}

func TestTheSharingOfAnInformerIsInItsStatus(t *testing.T) {
	proto := podServer(t, runtime.ContentTypeProtobuf)
	chosen := source.NewSharing(0)
	ids := map[uint64]string{0: "no table"}
	for name, lw := range map[string]ListerWatcher{
		"from a client":         NewListWatchFromClient(proto.CoreV1().RESTClient(), "pods", "ns", notGone),
		"from a client, chosen": NewListWatchFromClient(proto.CoreV1().RESTClient(), "pods", "ns", notGone),
		"closures":              generated(throughTransport(t, proto)),
		"closures, chosen":      generated(throughTransport(t, proto)),
	} {
		isChosen := strings.HasSuffix(name, ", chosen")
		if isChosen {
			source.SetDefaultSharing(chosen)
		}
		inf := NewSharedIndexInformer(lw, &corev1.Pod{}, 0, Indexers{})
		if st := inf.(Observable).Status(); st.SharingID != 0 {
			t.Errorf("%s: before it starts it shares through %d", name, st.SharingID)
		}
		stop := start(inf.RunWithContext)
		if !WaitFor(t.Context(), "", inf.HasSyncedChecker()) {
			t.Fatal("not synced")
		}
		if st := inf.(Observable).Status(); st.ReadPath.Why == nil && isChosen != (st.SharingID == chosen.ID()) {
			t.Errorf("%s: its objects share through %d, and %d was chosen", name, st.SharingID, chosen.ID())
		} else if other, there := ids[st.SharingID]; !isChosen && st.ReadPath.Why == nil && there {
			t.Errorf("%s: shares with %s", name, other)
		} else {
			ids[st.SharingID] = name
		}
		stop()
		source.SetDefaultSharing(nil)
	}
}
