// Package nested reads metadata of objects inside others, of which nothing is kept but what is
// read.
package nested

import (
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Fast reads labels through an interface, and owners by a function of another module.
func Fast(s *appsv1.StatefulSet) bool {
	for i := range s.Spec.VolumeClaimTemplates {
		claim := &s.Spec.VolumeClaimTemplates[i]
		if mine(claim) && metav1.GetControllerOf(claim) == nil && claim.Spec.StorageClassName != nil {
			return true
		}
	}
	return false
}

func mine(o metav1.Object) bool { return o.GetLabels()["mine"] == "yes" }

// Wider is a kind that embeds another.
type Wider struct {
	corev1.Pod `json:",inline"`
	Extra      string `json:"extra"`
}

// Extra reads labels through an interface, and annotations.
func Extra(w *Wider) string {
	if mine(w) && annotated(w) {
		return w.Extra
	}
	return ""
}

func annotated(o metav1.Object) bool { return len(o.GetAnnotations()) > 0 }
