//go:build e2e

package programs

import (
	"context"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"

	"github.com/kinglet-go/kinglet/cache"
)

// The informers of a factory, made where the program starts: what InformerFor
// was told first for a type is what all of the factory's listers read.

// podInformer knows the REST client that it reads from.
func podInformer(f informers.SharedInformerFactory) cache.SharedIndexInformer {
	return f.InformerFor(&corev1.Pod{}, func(client kubernetes.Interface, resync time.Duration) cache.SharedIndexInformer {
		lw := cache.NewListWatchFromClient(client.CoreV1().RESTClient(), "pods", metav1.NamespaceAll, fields.Everything())
		return cache.NewSharedIndexInformer(lw, &corev1.Pod{}, resync, cache.Indexers{
			cache.NamespaceIndex: cache.MetaNamespaceIndexFunc,
			"node":               func(obj any) ([]string, error) { return []string{obj.(*corev1.Pod).Spec.NodeName}, nil },
		})
	})
}

// nodeInformer is filtered, by a selector that all nodes pass.
func nodeInformer(f informers.SharedInformerFactory) cache.SharedIndexInformer {
	return f.InformerFor(&corev1.Node{}, func(client kubernetes.Interface, resync time.Duration) cache.SharedIndexInformer {
		lw := cache.NewFilteredListWatchFromClient(client.CoreV1().RESTClient(), "nodes", metav1.NamespaceAll,
			func(o *metav1.ListOptions) { o.LabelSelector = "no-such-label!=x" })
		return cache.NewSharedIndexInformerWithOptions(lw, &corev1.Node{}, cache.SharedIndexInformerOptions{ResyncPeriod: resync})
	})
}

// deploymentInformer has closures over the typed client, as generated
// informers do.
func deploymentInformer(f informers.SharedInformerFactory) cache.SharedIndexInformer {
	return f.InformerFor(&appsv1.Deployment{}, func(client kubernetes.Interface, resync time.Duration) cache.SharedIndexInformer {
		d := client.AppsV1().Deployments(metav1.NamespaceAll)
		return cache.NewSharedIndexInformer(listWatch(d.List, d.Watch), &appsv1.Deployment{}, resync,
			cache.Indexers{cache.NamespaceIndex: cache.MetaNamespaceIndexFunc})
	})
}

// listWatch has the closures that informers of a client with such methods
// have.
func listWatch[L runtime.Object](list func(context.Context, metav1.ListOptions) (L, error), watch func(context.Context, metav1.ListOptions) (watch.Interface, error)) *cache.ListWatch {
	return &cache.ListWatch{
		ListWithContextFunc:  func(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) { return list(ctx, o) },
		WatchFuncWithContext: watch,
	}
}

func newDeployment(name string, replicas int32) *appsv1.Deployment {
	app := map[string]string{"app": name}
	return &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: appsv1.DeploymentSpec{
			Replicas: new(replicas),
			Selector: &metav1.LabelSelector{MatchLabels: app},
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: app},
				Spec: corev1.PodSpec{
					TerminationGracePeriodSeconds: new(int64),
					Containers:                    []corev1.Container{{Name: "web", Image: "example.com/web:1"}},
				},
			},
		},
	}
}

// available says that a rollout is over.
func available(d *appsv1.Deployment) bool {
	return d != nil && d.Status.ObservedGeneration == d.Generation &&
		d.Status.AvailableReplicas == *d.Spec.Replicas && d.Status.UpdatedReplicas == *d.Spec.Replicas &&
		d.Status.Replicas == *d.Spec.Replicas
}
