// Package testpods makes pods for tests and benchmarks: small ones ([New]), and many that are
// as large as real ones and alike in the way that real ones are.
//
// A Collection is n pods in key order, over templates (as Deployments have
// them) and namespaces, one node for 40 pods. A pod has two containers with 13
// environment variables, 4 arguments, 2 ports, 3 mounts, two probes, resources
// and a security context each, 3 volumes of which one is projected, 2
// tolerations, 6 labels, 4 annotations of which one is its own, an owner
// reference, two managedFields entries (1.2 KB of FieldsV1 by the controller
// manager, 0.7 KB by the kubelet), 5 conditions, and two container statuses
// with container IDs of their own. It takes 6.3 KB in protobuf and 9.7 KB in
// JSON.
//
// What pods of one template have in common is what the template says: spec
// (but for the node), labels, the controller manager's fields, most of the
// container statuses. What is a pod's own: name, UID, versions, times, IPs,
// container IDs, the node's name, one annotation, and in the kubelet's fields
// the key of the pod's IP, as the API server writes it.
//
// A collection has rounds. Round 0 is its first state; in each later round the
// kubelet restarts one container of each pod, in an order that looks random,
// which changes the status and the time of the kubelet's managedFields entry,
// as it would on a real server. Resource versions are unique over all of it,
// and rise.
//
// Everything follows from the options: equal options, equal pods, on every
// machine.
package testpods

import (
	"sync"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Namespace is where the pods of New are.
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

// Large returns pod i (of 1,000) of a template (of 500) in a round, as a Collection makes it;
// with unique, pod i of all, which has no content in common with another.
func Large(template, i, round int, unique bool) *corev1.Pod {
	if unique {
		c := *collection()
		c.opts.Unique = true
		return c.Pod(i, round)
	}
	return collection().Pod(template*replicas+i%replicas, round)
}

const replicas = 1000

var collection = sync.OnceValue(func() *Collection {
	return NewCollection(Options{Pods: 500 * replicas, Templates: 500})
})

// to returns a pointer to v, as new does from Go 1.26 on.
func to[T any](v T) *T { return &v }
