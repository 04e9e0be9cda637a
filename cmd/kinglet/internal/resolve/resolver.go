package resolve

import (
	"errors"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/restmapper"
)

// Resolver finds resources by name.
type Resolver struct {
	// Mapper knows short names, as cli-runtime's does.
	Mapper meta.RESTMapper
	// Discovery is what Mapper was made of.
	Discovery discovery.DiscoveryInterface
}

// Resolve finds what each name stands for, which is several resources for a
// category such as "all". Each name that stands for none gives one error; an
// error of discovery itself, which is the same for all names, comes alone and
// is no *UnknownError or *UnwatchableError.
func (r *Resolver) Resolve(names []string) ([]Resource, []error) {
	var (
		found []Resource
		errs  []error
	)
	for _, name := range names {
		resources, err := r.one(name)
		switch {
		case err == nil:
			found = append(found, resources...)
		case isAboutName(err):
			errs = append(errs, err)
		default:
			return nil, []error{err}
		}
	}
	return withoutRepeats(found), errs
}

func isAboutName(err error) bool {
	_, unknown := errors.AsType[*UnknownError](err)
	_, unwatchable := errors.AsType[*UnwatchableError](err)
	return unknown || unwatchable
}

func (r *Resolver) one(name string) ([]Resource, error) {
	if members, ok := restmapper.NewDiscoveryCategoryExpander(r.Discovery).Expand(name); ok {
		return r.category(name, members)
	}
	mapping, err := r.mapping(name)
	if meta.IsNoMatchError(err) {
		return nil, r.unknown(name)
	}
	if err != nil {
		return nil, err
	}
	resource := Resource{
		GVR:        mapping.Resource,
		GVK:        mapping.GroupVersionKind,
		Namespaced: mapping.Scope.Name() == meta.RESTScopeNameNamespace,
	}
	if lacking := r.lacking(mapping.Resource); len(lacking) > 0 {
		return nil, &UnwatchableError{Resource: resource.String(), Lacking: lacking}
	}
	return []Resource{resource}, nil
}

// mapping accepts what kubectl accepts: resource, resource.group and
// resource.version.group, in plural, singular or short form, and the same with
// a kind.
func (r *Resolver) mapping(name string) (*meta.RESTMapping, error) {
	gvr, resource := schema.ParseResourceArg(strings.ToLower(name))
	candidates := []schema.GroupVersionResource{resource.WithVersion("")}
	if gvr != nil {
		candidates = append([]schema.GroupVersionResource{*gvr}, candidates...)
	}
	for _, candidate := range candidates {
		gvk, err := r.Mapper.KindFor(candidate)
		if err == nil {
			return r.Mapper.RESTMapping(gvk.GroupKind(), gvk.Version)
		}
		if !meta.IsNoMatchError(err) {
			return nil, err
		}
	}
	gvk, kind := schema.ParseKindArg(name)
	if gvk != nil {
		if mapping, err := r.Mapper.RESTMapping(gvk.GroupKind(), gvk.Version); err == nil {
			return mapping, nil
		}
	}
	return r.Mapper.RESTMapping(kind)
}

// category leaves out what cannot be watched: nobody asked for it by name.
func (r *Resolver) category(name string, members []schema.GroupResource) ([]Resource, error) {
	var found []Resource
	for _, member := range members {
		resources, err := r.one(member.String())
		if err != nil && !isAboutName(err) {
			return nil, err
		}
		found = append(found, resources...)
	}
	if len(found) == 0 {
		return nil, &UnknownError{Name: name}
	}
	return withoutRepeats(found), nil
}

// lacking returns which of the verbs that are needed the resource does not
// have, as far as discovery tells.
func (r *Resolver) lacking(gvr schema.GroupVersionResource) []string {
	list, err := r.Discovery.ServerResourcesForGroupVersion(gvr.GroupVersion().String())
	if err != nil {
		return nil // then the server will say so itself
	}
	i := slices.IndexFunc(list.APIResources, func(a metav1.APIResource) bool { return a.Name == gvr.Resource })
	if i < 0 {
		return nil
	}
	var lacking []string
	for _, verb := range []string{"list", "watch"} {
		if !slices.Contains(list.APIResources[i].Verbs, verb) {
			lacking = append(lacking, verb)
		}
	}
	return lacking
}

// Names returns every name under which something can be watched, sorted: the
// plural, with its group if it has one. For completion.
func (r *Resolver) Names() ([]string, error) {
	_, lists, err := r.Discovery.ServerGroupsAndResources()
	if err != nil && len(lists) == 0 {
		return nil, err
	}
	var names []string
	for resource, gv := range watchable(lists) {
		names = append(names, schema.GroupResource{Group: gv.Group, Resource: resource.Name}.String())
	}
	slices.Sort(names)
	return slices.Compact(names), nil
}
