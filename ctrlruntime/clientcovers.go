package ctrlruntime

import (
	"fmt"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/selection"
	"sigs.k8s.io/controller-runtime/pkg/cache"

	"github.com/kinglet-go/kinglet"
)

// coversFunc returns a function that decides which objects are of the informer, for
// kinglet.Options.Covers; nil if nobody but the server can: objects that a transform has
// changed, and metadata under a selector of other fields.
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
			// SetNamespaces has set it. The object is decided by what is held.
			_, holds := h.informer.Kinglet().Store().Get(kinglet.Key{Namespace: m.GetNamespace(), Name: m.GetName()})
			return holds
		}
		return h.covers(m, func(field string) (string, bool) { return h.fieldOf(obj, field), true })
	}
}

// coversMetadata reports whether an object of which no more than the metadata is known
// is certainly of the informer.
func (h *holding) coversMetadata(m metav1.Object) bool {
	return h.covers(m, func(string) (string, bool) { return "", false })
}

// covers reports whether an object is of the informer. field returns its other fields
// than those of metadata, and whether that is known.
func (h *holding) covers(m metav1.Object, field func(string) (string, bool)) bool {
	_, config, known := h.settings(m.GetNamespace())
	if !known || config.LabelSelector != nil && !config.LabelSelector.Matches(labels.Set(m.GetLabels())) {
		return false
	}
	for _, r := range requirements(config) {
		is, ok := "", true
		switch r.Field {
		case "metadata.name":
			is = m.GetName()
		case "metadata.namespace":
			is = m.GetNamespace()
		default:
			is, ok = field(r.Field)
		}
		if !ok || (is == r.Value) == (r.Operator == selection.NotEquals) {
			return false
		}
	}
	return true
}

func requirements(config *cache.Config) fields.Requirements {
	if config.FieldSelector == nil {
		return nil
	}
	return config.FieldSelector.Requirements()
}

// ofMetadata reports whether a selector is of no other fields than name and namespace.
func ofMetadata(selector fields.Selector) bool {
	for _, r := range requirements(&cache.Config{FieldSelector: selector}) {
		if r.Field != "metadata.name" && r.Field != "metadata.namespace" {
			return false
		}
	}
	return true
}

// selectable is a field that a server does not select by its path, or not as it is
// where it is absent.
type selectable struct{ path, absent string }

// selectables are those of Kubernetes' own kinds; see their packages in pkg/registry. A
// custom resource has its selectable fields by their paths, and "" where one is absent.
var selectables = map[schema.GroupKind]map[string]selectable{
	{Kind: "Pod"}:                   {"spec.hostNetwork": {"spec.hostNetwork", "false"}},
	{Kind: "Node"}:                  {"spec.unschedulable": {"spec.unschedulable", "false"}},
	{Kind: "Event"}:                 {"source": {"source.component", ""}},
	{Group: "batch", Kind: "Job"}:   {"status.successful": {"status.succeeded", "0"}},
	{Kind: "ReplicationController"}: {"status.replicas": {"status.replicas", "0"}},
}

// fieldOf returns a field of an object as a server selects by it.
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
