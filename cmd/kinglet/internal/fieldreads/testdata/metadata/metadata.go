// Package metadata reads metadata through interfaces, which may be that of any kind.
package metadata

import (
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Paused reads annotations of a kind that says nothing of them.
func Paused(d *appsv1.Deployment) bool { return paused(d) && d.Spec.Paused }

func paused(o metav1.Object) bool { return o.GetAnnotations()["paused"] == "true" }

// Generated reads them of a type parameter, and of what GetObjectMeta returns.
func Generated(p *corev1.Pod) (string, int) {
	p.SetGenerateName("x")
	return generated(p), len(p.GetObjectMeta().GetSelfLink())
}

func generated[T metav1.Object](o T) string { return o.GetGenerateName() }

// Template passes metadata that is not an object's.
func Template(s *appsv1.StatefulSet) bool {
	return paused(&s.Spec.Template) || s.Spec.Template.Name == ""
}
