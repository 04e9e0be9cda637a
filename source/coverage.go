package source

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/selection"
)

// covers returns whether an object is selected, as far as its metadata tells;
// most is the answer if that says nothing against it.
func (o *Options) covers(m metav1.Object, most Coverage) (Coverage, error) {
	lo := metav1.ListOptions{LabelSelector: o.LabelSelector, FieldSelector: o.FieldSelector}
	if o.Modify != nil {
		o.Modify(&lo)
	}
	if lo.LabelSelector != "" {
		sel, err := labels.Parse(lo.LabelSelector)
		if err != nil {
			return CoverageUnknown, fmt.Errorf("label selector %q: %w", lo.LabelSelector, err)
		}
		if !sel.Matches(labels.Set(m.GetLabels())) {
			return NotCovered, nil
		}
	}
	if lo.FieldSelector == "" {
		return most, nil
	}
	sel, err := fields.ParseSelector(lo.FieldSelector)
	if err != nil {
		return CoverageUnknown, fmt.Errorf("field selector %q: %w", lo.FieldSelector, err)
	}
	for _, r := range sel.Requirements() {
		var is string
		switch r.Field {
		case "metadata.name":
			is = m.GetName()
		case "metadata.namespace":
			is = m.GetNamespace()
		default:
			most = CoverageUnknown
			continue
		}
		if (is == r.Value) == (r.Operator == selection.NotEquals) {
			return NotCovered, nil
		}
	}
	return most, nil
}

// gone reports whether a write has left nothing of an object. The server removes
// one that was deleted together with its last finalizer, and answers with it as
// it was last; while it waits for a graceful end it has a grace period.
func gone(obj any, m metav1.Object) bool {
	if m.GetDeletionTimestamp() == nil || len(m.GetFinalizers()) > 0 {
		return false
	}
	if grace := m.GetDeletionGracePeriodSeconds(); grace != nil && *grace > 0 {
		return false
	}
	// A namespace has finalizers in its spec, too, which its metadata does not
	// show.
	switch o := obj.(type) {
	case *corev1.Namespace:
		return len(o.Spec.Finalizers) == 0
	case *unstructured.Unstructured:
		if o.GetKind() == "Namespace" && o.GetAPIVersion() == "v1" {
			left, _, _ := unstructured.NestedSlice(o.Object, "spec", "finalizers")
			return len(left) == 0
		}
	case *metav1.PartialObjectMetadata:
		return m.GetNamespace() != ""
	}
	return true
}
