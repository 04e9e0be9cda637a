//go:build e2e

package e2e

import (
	"context"
	"fmt"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/util/retry"

	"github.com/kinglet-go/kinglet/test/internal/history"
)

// round is the label that tells which rollout a pod came with.
const round = "round"

func createDeployments(t *testing.T, ctx context.Context, client kubernetes.Interface) {
	t.Helper()
	_, err := client.CoreV1().Namespaces().Create(ctx,
		&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}}, metav1.CreateOptions{})
	must(t, err)
	for i := range deployments {
		_, err := client.AppsV1().Deployments(namespace).Create(ctx, deployment(i), metav1.CreateOptions{})
		must(t, err)
	}
}

func deploymentName(i int) string { return fmt.Sprintf("web-%02d", i) }

func deployment(i int) *appsv1.Deployment {
	n := int32(replicas)
	// Fast rollouts: half may be missing, half may be extra.
	half := intstr.FromString("50%")
	selector := map[string]string{"app": deploymentName(i)}
	labels := map[string]string{"app": deploymentName(i), round: "v0"}
	return &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Name: deploymentName(i), Namespace: namespace},
		Spec: appsv1.DeploymentSpec{
			Replicas: &n,
			Selector: &metav1.LabelSelector{MatchLabels: selector},
			Strategy: appsv1.DeploymentStrategy{
				RollingUpdate: &appsv1.RollingUpdateDeployment{MaxUnavailable: &half, MaxSurge: &half},
			},
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: labels},
				Spec: corev1.PodSpec{
					TerminationGracePeriodSeconds: new(int64),
					Containers:                    []corev1.Container{{Name: "web", Image: "registry.k8s.io/pause:3.10"}},
				},
			},
		},
	}
}

// roll starts a rollout of deployments from to to.
func roll(t *testing.T, ctx context.Context, client kubernetes.Interface, version string, from, to int) {
	t.Helper()
	patch := fmt.Appendf(nil, `{"spec":{"template":{"metadata":{"labels":{%q:%q}}}}}`, round, version)
	for i := from; i < to; i++ {
		// The API server may be on its way back.
		err := retry.OnError(retry.DefaultBackoff, func(error) bool { return ctx.Err() == nil }, func() error {
			_, err := client.AppsV1().Deployments(namespace).Patch(ctx, deploymentName(i),
				types.StrategicMergePatchType, patch, metav1.PatchOptions{})
			return err
		})
		must(t, err)
	}
}

// allReady says that every replica is one of version's, and ready, and that
// nothing is left of what was before.
func allReady(version string) func(history.Objects) bool {
	return func(last history.Objects) bool {
		ready, others := count(last, version)
		return ready == deployments*replicas && others == 0
	}
}

// halfReady says that a rollout is in the middle.
func halfReady(version string) func(history.Objects) bool {
	return func(last history.Objects) bool {
		ready, _ := count(last, version)
		return ready >= deployments*replicas/2
	}
}

// count returns how many pods of version are ready, and how many of the test's
// pods are anything else.
func count(last history.Objects, version string) (ready, others int) {
	for key, obj := range last {
		switch p := obj.(*corev1.Pod); {
		case key.Namespace != namespace:
		case p.Labels[round] == version && isReady(p):
			ready++
		default:
			others++
		}
	}
	return ready, others
}

func isReady(p *corev1.Pod) bool {
	for _, c := range p.Status.Conditions {
		if c.Type == corev1.PodReady {
			return c.Status == corev1.ConditionTrue && p.DeletionTimestamp == nil
		}
	}
	return false
}
