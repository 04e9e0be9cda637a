// Package unit tests a controller without a cluster. docs/testing.md quotes it.
package unit

import (
	"context"
	"testing"
	"testing/synctest"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/kinglet-go/kinglet"
	"github.com/kinglet-go/kinglet/controller"
	"github.com/kinglet-go/kinglet/kinglettest/apiserver"
	"github.com/kinglet-go/kinglet/source"
)

// run is the program: it labels every Pod until ctx ends.
func run(ctx context.Context, cfg *rest.Config) error {
	own := &kinglet.OwnWrites{}
	cfg.Wrap(own.Wrap)
	client, err := kubernetes.NewForConfig(cfg)
	if err != nil {
		return err
	}
	resource := corev1.SchemeGroupVersion.WithResource("pods")
	from, err := source.FromConfig[*corev1.Pod](cfg, resource, source.Options{})
	if err != nil {
		return err
	}
	pods, err := kinglet.New(from, kinglet.Options[*corev1.Pod]{})
	if err != nil {
		return err
	}
	if err := own.Add(resource, pods); err != nil {
		return err
	}
	label := func(ctx context.Context, key kinglet.Key) (result controller.Result, err error) {
		pod, ok := pods.Store().Get(key)
		if !ok || pod.Labels["seen"] == "true" {
			return result, nil
		}
		patch := []byte(`{"metadata":{"labels":{"seen":"true"}}}`)
		_, err = client.CoreV1().Pods(key.Namespace).Patch(ctx, key.Name, types.MergePatchType, patch, metav1.PatchOptions{})
		return result, err
	}
	c, err := controller.New(controller.ReconcilerFunc[kinglet.Key](label), controller.Options[kinglet.Key]{})
	if err != nil {
		return err
	}
	if _, err := controller.Watch(c, pods, controller.Self); err != nil {
		return err
	}
	set := kinglet.NewSet(pods)
	if err := set.AddController(c); err != nil {
		return err
	}
	return set.Run(ctx)
}

// docs/testing.md begin
func TestEveryPodIsLabeled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		storage := apiserver.NewStorage(apiserver.Pods)
		server := apiserver.New(storage, apiserver.Options{})
		defer server.Close()
		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- run(ctx, server.Config()) }()

		pods := kubernetes.NewForConfigOrDie(server.Config()).CoreV1().Pods("default")
		pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "web"}}
		if _, err := pods.Create(ctx, pod, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
		synctest.Wait() // until the program and the server have nothing left to do
		got, err := pods.Get(ctx, "web", metav1.GetOptions{})
		if err != nil || got.Labels["seen"] != "true" {
			t.Errorf("got %v, %v", got.Labels, err)
		}
		stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
}

// docs/testing.md end
