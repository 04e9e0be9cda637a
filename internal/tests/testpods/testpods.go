// Package testpods makes pods, for tests.
package testpods

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Namespace is where the pods are.
const Namespace = "ns"

// New returns a pod on a node, as a client would create it: without UID and
// version. It has a container for each image.
func New(name, node string, images ...string) *corev1.Pod {
	p := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: Namespace, Name: name},
		Spec:       corev1.PodSpec{NodeName: node},
	}
	for _, image := range images {
		p.Spec.Containers = append(p.Spec.Containers, corev1.Container{Name: image, Image: image})
	}
	return p
}
