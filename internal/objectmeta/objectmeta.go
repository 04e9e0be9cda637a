// Package objectmeta answers questions about an object from its metadata: do selectors
// match it, did a write remove it, and is it whole.
package objectmeta

import (
	"maps"
	"reflect"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/selection"
)

// Partial is the selfLink of objects that are not whole: fields were left out when they
// were decoded. No server sets one since Kubernetes 1.20, and none reads it.
const Partial = "kinglet: this object is not whole"

// PartialAnnotation is the name of theirs if they have no others. No server takes it, so it
// refuses an object that is written back by whatever client.
const PartialAnnotation = Partial + ": patch it, or get it live from the server"

// IsPartial reports that fields of an object were left out when it was decoded.
func IsPartial(m metav1.Object) bool { return m.GetSelfLink() == Partial }

// MarkPartial marks an object as not whole, by its selfLink. The error is that it has no
// metadata.
func MarkPartial(obj any) error {
	m, err := meta.Accessor(obj)
	if err == nil && !IsPartial(m) {
		m.SetSelfLink(Partial)
	}
	return err
}

// MarkWhole removes the mark of an object that is not whole, since it has become so.
func MarkWhole(m metav1.Object) {
	if !IsPartial(m) {
		return
	}
	m.SetSelfLink("")
	all := maps.Clone(m.GetAnnotations())
	if delete(all, PartialAnnotation); len(all) == 0 {
		all = nil
	}
	m.SetAnnotations(all)
}

// IsField reports whether a field that field selectors name is part of the metadata.
func IsField(name string) bool { return name == "metadata.name" || name == "metadata.namespace" }

// Selected reports whether both selectors match an object; a nil selector matches
// everything. field returns the value of a field outside of the metadata, and whether it
// is known; if nil, none is. known is false if the answer depends on such a field.
func Selected(m metav1.Object, byLabels labels.Selector, byFields fields.Selector, field func(name string) (string, bool)) (selected, known bool) {
	if byLabels != nil && !byLabels.Matches(labels.Set(m.GetLabels())) {
		return false, true
	}
	if byFields == nil {
		return true, true
	}
	known = true
	for _, r := range byFields.Requirements() {
		var value string
		switch {
		case r.Field == "metadata.name":
			value = m.GetName()
		case r.Field == "metadata.namespace":
			value = m.GetNamespace()
		default:
			ok := false
			if field != nil {
				value, ok = field(r.Field)
			}
			if !ok {
				known = false
				continue
			}
		}
		if (value == r.Value) == (r.Operator == selection.NotEquals) {
			return false, true
		}
	}
	return known, known
}

// Gone reports whether obj, whose metadata m is, is the answer to a write that removed
// it. The server removes an object that is being deleted with its last finalizer, and
// answers with its last state; while it waits for a graceful end the object has a grace
// period. of is its resource; empty if that is not known. A Namespace has finalizers in its
// spec, too, so that its metadata alone does not determine this.
func Gone(obj any, m metav1.Object, of schema.GroupResource) bool {
	if m.GetDeletionTimestamp() == nil || len(m.GetFinalizers()) > 0 {
		return false
	}
	if grace := m.GetDeletionGracePeriodSeconds(); grace != nil && *grace > 0 {
		return false
	}
	unknown := of.Resource == ""
	if m.GetNamespace() != "" || !unknown && of != corev1.Resource("namespaces") {
		return true
	}
	switch o := obj.(type) {
	case *corev1.Namespace:
		return len(o.Spec.Finalizers) == 0 && !IsPartial(m)
	case *unstructured.Unstructured:
		if o.GetKind() == "Namespace" && o.GetAPIVersion() == "v1" {
			left, _, _ := unstructured.NestedSlice(o.Object, "spec", "finalizers")
			return len(left) == 0 && !IsPartial(m)
		}
	case *metav1.PartialObjectMetadata, *metav1.ObjectMeta:
		return false
	default:
		// A program's own type for namespaces may lack their spec.
		return unknown && reflect.Indirect(reflect.ValueOf(obj)).Type().Name() != "Namespace"
	}
	return true
}
