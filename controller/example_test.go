package controller_test

import (
	"context"
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kinglet-go/kinglet"
	"github.com/kinglet-go/kinglet/controller"
	"github.com/kinglet-go/kinglet/source/sourcetest"
)

func check(err error) {
	if err != nil {
		panic(err)
	}
}

// A controller of StatefulSets also watches their Pods.
func Example() {
	labels := metav1.ObjectMeta{Namespace: "ns", Name: "web"}
	statefulSets, err := kinglet.New[*appsv1.StatefulSet](sourcetest.NewStatic(&appsv1.StatefulSet{ObjectMeta: labels}), kinglet.Options[*appsv1.StatefulSet]{})
	check(err)
	pods, err := kinglet.New[*corev1.Pod](sourcetest.NewStatic[*corev1.Pod](), kinglet.Options[*corev1.Pod]{})
	check(err)
	ctx, stop := context.WithCancel(context.Background())
	reconcile := func(_ context.Context, key kinglet.Key) (controller.Result, error) {
		statefulSet, ok := statefulSets.Store().Get(key)
		if !ok {
			return controller.Result{}, nil // it was deleted
		}
		fmt.Println("reconciles", statefulSet.Name)
		stop()
		return controller.Result{}, nil
	}

	// README.md begin
	c, err := controller.New(controller.ReconcilerFunc[kinglet.Key](reconcile), controller.Options[kinglet.Key]{Workers: 8})
	check(err)
	_, err = controller.Watch(c, statefulSets, controller.Self)
	check(err)
	_, err = controller.Watch(c, pods, controller.Owner[*corev1.Pod](schema.GroupKind{Group: "apps", Kind: "StatefulSet"}))
	check(err)
	set := kinglet.NewSet(statefulSets, pods)
	check(set.AddController(c))
	check(set.Run(ctx)) // a stop ends the runs first, then the informers
	// README.md end

	// Output: reconciles web
}
