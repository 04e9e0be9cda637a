// Package predicate has controller-runtime compare annotations.
package predicate

import appsv1 "k8s.io/api/apps/v1"

// Kind is known to be an object, and no more.
var Kind = &appsv1.Deployment{}

// AnnotationChangedPredicate is controller-runtime's, which the tests do without.
type AnnotationChangedPredicate struct{}
