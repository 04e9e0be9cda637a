package ctrlruntime

import (
	"context"
	"testing"
	"testing/synctest"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/cache"

	"github.com/kinglet-go/kinglet/ctrlruntime"
)

// fatPod inherits DeepCopyObject, which returns a *corev1.Pod.
type fatPod struct {
	corev1.Pod `json:",inline"`
	Extra      string `json:"extra,omitempty"`
}

type fatPodList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []fatPod `json:"items"`
}

func (l *fatPodList) DeepCopyObject() runtime.Object { c := *l; return &c }

// As with controller-runtime's cache, reads fail.
func TestAReadOfATypeThatInheritsDeepCopyObjectIsAnErrorAndNoPanic(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.create(pod("a", "p", "n1", nil))
		scheme, gv := runtime.NewScheme(), schema.GroupVersion{Version: "v1"}
		metav1.AddToGroupVersion(scheme, gv)
		scheme.AddKnownTypeWithName(gv.WithKind("Pod"), &fatPod{})
		scheme.AddKnownTypeWithName(gv.WithKind("PodList"), &fatPodList{})
		c, err := ctrlruntime.NewCache(w.config(), cache.Options{Scheme: scheme, Mapper: mapper()})
		if err != nil {
			t.Fatal(err)
		}
		ended := make(chan error, 1)
		ctx, stop := context.WithCancel(context.Background())
		go func() { ended <- c.Start(ctx) }()
		synctest.Wait()
		if err := c.Get(ctx, keyed("a", "p"), &fatPod{}); err == nil {
			t.Error("Get returned no error")
		}
		if err := c.List(ctx, &fatPodList{}); err == nil {
			t.Error("List returned no error")
		}
		stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
}
