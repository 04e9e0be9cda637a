// Package foreign has metadata read by another module.
package foreign

import (
	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Kind is known to be an object, and no more.
var Kind = &appsv1.Deployment{}

// Partial does not know the kind.
func Partial(o metav1.Object) { _ = meta.AsPartialObjectMetadata(o) }
