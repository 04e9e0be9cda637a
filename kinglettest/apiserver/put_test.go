package apiserver_test

import (
	"sync"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kinglet-go/kinglet/kinglettest/apiserver"
)

func TestPutNeverFailsBesideOtherWritesOfTheKey(t *testing.T) {
	storage := apiserver.NewStorage(apiserver.ConfigMaps)
	var writers sync.WaitGroup
	for range 4 {
		writers.Go(func() {
			for range 2000 {
				if _, err := storage.Put(&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "a"}}); err != nil {
					t.Error(err)
				}
				if _, err := storage.Delete(apiserver.ConfigMaps.GroupResource(), types.NamespacedName{Namespace: "ns", Name: "a"}, nil); err != nil && !apierrors.IsNotFound(err) {
					t.Error(err)
				}
			}
		})
	}
	writers.Wait()
}
