package resolve

import (
	"slices"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Resource is one collection that can be listed and watched.
type Resource struct {
	GVR        schema.GroupVersionResource
	GVK        schema.GroupVersionKind
	Namespaced bool
}

// String returns the name that identifies the resource to kubectl: "pods",
// "deployments.apps".
func (r Resource) String() string { return r.GVR.GroupResource().String() }

// IsSecret reports whether values are not to be shown unasked.
func (r Resource) IsSecret() bool { return r.GVR.Group == "" && r.GVR.Resource == "secrets" }

// ShortestNames returns for each resource a name for people: the plural alone
// where it is the only one of its name, with its group otherwise.
func ShortestNames(resources []Resource) []string {
	count := make(map[string]int, len(resources))
	for _, r := range resources {
		count[r.GVR.Resource]++
	}
	names := make([]string, len(resources))
	for i, r := range resources {
		names[i] = r.GVR.Resource
		if count[r.GVR.Resource] > 1 {
			names[i] = r.String()
		}
	}
	return names
}

// withoutRepeats drops resources that came before, under any version.
func withoutRepeats(resources []Resource) []Resource {
	var out []Resource
	for _, r := range resources {
		if !slices.ContainsFunc(out, func(o Resource) bool { return o.GVR.GroupResource() == r.GVR.GroupResource() }) {
			out = append(out, r)
		}
	}
	return out
}
