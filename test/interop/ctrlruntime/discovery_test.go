package ctrlruntime

import (
	"context"
	"testing"
	"testing/synctest"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kinglet-go/kinglet/ctrlruntime"
	"github.com/kinglet-go/kinglet/kinglettest/apiserver"
)

// Neither controller-runtime's client nor a cache is given a Mapper here: they ask the server.
func TestTheServerInMemoryNeedsNoMapper(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		widgets := schema.GroupVersionKind{Group: "example.com", Version: "v1", Kind: "Widget"}
		storage := apiserver.NewStorage(apiserver.ConfigMaps,
			apiserver.Resource{GroupVersionResource: rbacv1.SchemeGroupVersion.WithResource("clusterroles"), Kind: "ClusterRole", ClusterScoped: true},
			apiserver.Resource{GroupVersionResource: widgets.GroupVersion().WithResource("widgets"), Kind: widgets.Kind, Status: true})
		server := apiserver.New(storage, apiserver.Options{})
		defer server.Close()
		ctx, stop := context.WithCancel(t.Context())
		c, err := ctrlruntime.NewCache(server.Config(), cache.Options{})
		if err != nil {
			t.Fatal(err)
		}
		ended := make(chan error, 1)
		go func() { ended <- c.Start(ctx) }()
		live, err := client.New(server.Config(), client.Options{})
		if err != nil {
			t.Fatal(err)
		}
		widget := &unstructured.Unstructured{}
		widget.SetGroupVersionKind(widgets)
		for _, obj := range []client.Object{&corev1.ConfigMap{}, &rbacv1.ClusterRole{}, widget} {
			obj.SetName("a")
			if _, cluster := obj.(*rbacv1.ClusterRole); !cluster {
				obj.SetNamespace("ns")
			}
			if err := live.Create(ctx, obj); err != nil {
				t.Fatal(err)
			}
			if err := c.Get(ctx, client.ObjectKeyFromObject(obj), obj); err != nil {
				t.Errorf("%T: %v", obj, err)
			}
		}
		widget.Object["status"] = map[string]any{"ready": true}
		if err := live.Status().Update(ctx, widget); err != nil {
			t.Error(err)
		}
		unknown := &metav1.PartialObjectMetadata{}
		unknown.SetGroupVersionKind(widgets.GroupVersion().WithKind("Other"))
		if err := live.Get(ctx, client.ObjectKey{Name: "a"}, unknown); !meta.IsNoMatchError(err) {
			t.Errorf("a kind that the server does not have: %v", err)
		}
		stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
}
