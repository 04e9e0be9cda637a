package ctrlruntime

import (
	"fmt"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kinglet-go/kinglet"
	"github.com/kinglet-go/kinglet/internal/objectmeta"
)

// coversFunc returns a function that reports whether the informer covers an object, for
// kinglet.Options.Covers. It is nil if only the server can tell: for objects that a
// transform has changed, and for metadata under a selector of other fields.
func (h *holding) coversFunc(s *spaces) func(obj any) bool {
	for _, config := range s.configs {
		if config.Transform != nil || (h.form == metadataOnly || h.full != nil) && !ofMetadata(config.FieldSelector) {
			return nil
		}
	}
	return func(held any) bool {
		obj, ok := held.(runtime.Object)
		m, isMeta := held.(metav1.Object)
		if !ok || !isMeta {
			return false
		}
		if _, config, known := h.settings(m.GetNamespace()); known && config.Transform != nil {
			// SetNamespaces has added the transform: the object is covered if it is
			// held.
			_, holds := h.informer.Kinglet().Store().Get(kinglet.Key{Namespace: m.GetNamespace(), Name: m.GetName()})
			return holds
		}
		return h.covers(m, func(field string) (string, bool) { return h.fieldOf(obj, field), true })
	}
}

// coversMetadata reports whether the informer certainly covers an object, given only
// its metadata.
func (h *holding) coversMetadata(m metav1.Object) bool {
	return h.covers(m, nil)
}

// covers reports whether the informer covers an object. field returns a field that is
// not metadata, and whether it is known.
func (h *holding) covers(m metav1.Object, field func(string) (string, bool)) bool {
	_, config, held := h.settings(m.GetNamespace())
	if !held {
		return false
	}
	selected, _ := objectmeta.Selected(m, config.LabelSelector, config.FieldSelector, field)
	return selected
}

// ofMetadata reports whether a selector uses no other fields than name and namespace.
func ofMetadata(selector fields.Selector) bool {
	return selector == nil || !slices.ContainsFunc(selector.Requirements(), func(r fields.Requirement) bool { return !objectmeta.IsField(r.Field) })
}

// selectable is a field that a server does not select by its own path, or whose value
// is not "" where the field is absent.
type selectable struct{ path, absent string }

// selectables are those of Kubernetes' own kinds; see their packages in pkg/registry.
// The selectable fields of a custom resource are selected by their paths, as "" where
// absent.
var selectables = map[schema.GroupKind]map[string]selectable{
	{Kind: "Pod"}:                   {"spec.hostNetwork": {"spec.hostNetwork", "false"}},
	{Kind: "Node"}:                  {"spec.unschedulable": {"spec.unschedulable", "false"}},
	{Kind: "Event"}:                 {"source": {"source.component", ""}},
	{Group: "batch", Kind: "Job"}:   {"status.successful": {"status.succeeded", "0"}},
	{Kind: "ReplicationController"}: {"status.replicas": {"status.replicas", "0"}},
}

// fieldOf returns the value of a field as a server selects by it.
func (h *holding) fieldOf(obj runtime.Object, field string) string {
	at, ok := selectables[h.gvk.GroupKind()][field]
	if !ok {
		at = selectable{path: field}
	}
	var content map[string]any
	if u, ok := obj.(*unstructured.Unstructured); ok {
		content = u.Object
	} else {
		var err error
		if content, err = runtime.DefaultUnstructuredConverter.ToUnstructured(obj); err != nil {
			return at.absent
		}
	}
	value, found, err := unstructured.NestedFieldNoCopy(content, strings.Split(at.path, ".")...)
	if !found || err != nil {
		return at.absent
	}
	return fmt.Sprint(value)
}
