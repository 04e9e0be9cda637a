package resolve

import (
	"errors"
	"iter"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"

	"github.com/kinglet-go/kinglet/internal/editdistance"
)

// maxSimilar bounds how many names are proposed.
const maxSimilar = 3

// unknown makes the error for a name that nothing has, with the names that
// look most like it.
func (r *Resolver) unknown(name string) error {
	e := &UnknownError{Name: name}
	_, lists, err := r.Discovery.ServerGroupsAndResources()
	if failed, ok := errors.AsType[*discovery.ErrGroupDiscoveryFailed](err); ok {
		for gv := range failed.Groups {
			e.Unavailable = append(e.Unavailable, gv.String())
		}
		slices.Sort(e.Unavailable)
	}
	wanted, group, _ := strings.Cut(strings.ToLower(name), ".")
	best := len(wanted)/3 + 1 // further away it is another word
	for resource, gv := range watchable(lists) {
		if group != "" && group == gv.Group && resource.Name == wanted {
			continue
		}
		d := min(editdistance.Between(wanted, resource.Name), editdistance.Between(wanted, resource.SingularName),
			editdistance.Between(wanted, strings.ToLower(resource.Kind)))
		if d > best {
			continue
		}
		if d < best {
			best, e.Similar = d, nil
		}
		full := schema.GroupResource{Group: gv.Group, Resource: resource.Name}.String()
		if !slices.Contains(e.Similar, full) {
			e.Similar = append(e.Similar, full)
		}
	}
	slices.Sort(e.Similar)
	if len(e.Similar) > maxSimilar {
		e.Similar = e.Similar[:maxSimilar]
	}
	return e
}

// watchable iterates over what can be watched; subresources cannot.
func watchable(lists []*metav1.APIResourceList) iter.Seq2[metav1.APIResource, schema.GroupVersion] {
	return func(yield func(metav1.APIResource, schema.GroupVersion) bool) {
		for _, list := range lists {
			gv, err := schema.ParseGroupVersion(list.GroupVersion)
			if err != nil {
				continue
			}
			for _, resource := range list.APIResources {
				if !slices.Contains(resource.Verbs, "watch") || strings.Contains(resource.Name, "/") {
					continue
				}
				if !yield(resource, gv) {
					return
				}
			}
		}
	}
}
