//go:build tagged

package notfollowed

import corev1 "k8s.io/api/core/v1"

// Node is read with a build tag alone.
func Node(p *corev1.Pod) string { return p.Spec.NodeName }
