package command

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/restmapper"

	"github.com/kinglet-go/kinglet/cmd/kinglet/internal/follow"
)

// target is a name of resources as a user types it, and of one object if name is not empty.
type target struct{ resource, name string }

// parseTargets reads arguments as kubectl get does: RESOURCE[,RESOURCE…], RESOURCE NAME…,
// or RESOURCE/NAME….
func parseTargets(args []string) ([]target, error) {
	if len(args) == 0 {
		return nil, errors.New("say what to watch, for example: kinglet watch pods,deployments")
	}
	var targets []target
	slashes := 0
	for _, arg := range args {
		if resource, name, ok := strings.Cut(arg, "/"); ok {
			if slashes++; resource == "" || name == "" || strings.ContainsAny(arg, ", ") || strings.Contains(name, "/") {
				return nil, fmt.Errorf("%q is no RESOURCE/NAME", arg)
			}
			targets = append(targets, target{resource, name})
		}
	}
	if slashes == len(args) {
		return targets, nil
	}
	if slashes > 0 {
		return nil, fmt.Errorf("%s: either RESOURCE/NAME everywhere, or one RESOURCE and then names", strings.Join(args, " "))
	}
	resources := strings.Split(args[0], ",")
	if slices.Contains(resources, "") || len(args) > 1 && len(resources) > 1 || slices.ContainsFunc(args[1:], func(a string) bool { return strings.Contains(a, ",") }) {
		return nil, fmt.Errorf("%s: it has to be RESOURCE[,RESOURCE…] without spaces, RESOURCE NAME…, or RESOURCE/NAME…", strings.Join(args, " "))
	}
	for _, resource := range resources {
		if len(args) == 1 {
			targets = append(targets, target{resource: resource})
		}
		for _, name := range args[1:] {
			targets = append(targets, target{resource, name})
		}
	}
	return targets, nil
}

// nameError is the error for a name that the server has no resource for.
type nameError struct{ text string }

func (e *nameError) Error() string { return e.text }

// resolver finds resources by name.
type resolver struct {
	mapper    meta.RESTMapper
	discovery discovery.DiscoveryInterface
}

// resolve finds what each target stands for, which is several resources for a category
// such as "all". Each target that stands for none gives one error; an error of discovery
// itself comes alone, and is no *nameError.
func (r *resolver) resolve(targets []target) (found []follow.Resource, errs []error) {
	for _, t := range targets {
		resources, err := r.one(t.resource)
		if _, about := errors.AsType[*nameError](err); about {
			errs = append(errs, err)
			continue
		}
		if err != nil {
			return nil, []error{err}
		}
		for _, one := range resources {
			one.Name = t.name
			if !slices.ContainsFunc(found, func(o follow.Resource) bool { return o.String() == one.String() }) {
				found = append(found, one)
			}
		}
	}
	return found, errs
}

func (r *resolver) one(name string) (found []follow.Resource, err error) {
	if members, ok := restmapper.NewDiscoveryCategoryExpander(r.discovery).Expand(name); ok {
		watchable, err := r.watchable()
		if err != nil {
			return nil, err
		}
		for _, member := range members {
			if slices.Contains(watchable, member.String()) {
				mapping, err := r.mapping(member.String())
				if err != nil {
					return nil, err
				}
				found = append(found, resourceOf(mapping))
			}
		}
		if len(found) == 0 {
			return nil, &nameError{fmt.Sprintf("nothing in category %q can be listed and watched", name)}
		}
		return found, nil
	}
	mapping, missing := r.mapping(name)
	if missing != nil && !meta.IsNoMatchError(missing) {
		return nil, missing
	}
	// Only now: for a name that it did not know, the mapper has asked the server again.
	watchable, err := r.watchable()
	switch {
	case err != nil:
		return nil, err
	case missing != nil:
		text := fmt.Sprintf("the server doesn't have a resource type %q; ", name)
		if similar := similar(name, watchable); len(similar) > 0 {
			return nil, &nameError{text + "did you mean " + strings.Join(similar, " or ") + "?"}
		}
		return nil, &nameError{text + "see: kubectl api-resources"}
	case !slices.Contains(watchable, mapping.Resource.GroupResource().String()):
		return nil, &nameError{mapping.Resource.GroupResource().String() + ": this resource cannot be listed and watched"}
	}
	return []follow.Resource{resourceOf(mapping)}, nil
}

func resourceOf(m *meta.RESTMapping) follow.Resource {
	return follow.Resource{GroupVersionResource: m.Resource, Namespaced: m.Scope.Name() == meta.RESTScopeNameNamespace}
}

// mapping accepts what kubectl accepts: resource, resource.group and
// resource.version.group, in plural, singular or short form, and the same with
// a kind. The rules are those of cli-runtime's resource.Builder, which keeps them to itself.
func (r *resolver) mapping(name string) (*meta.RESTMapping, error) {
	full, resource := schema.ParseResourceArg(strings.ToLower(name))
	candidates := []schema.GroupVersionResource{resource.WithVersion("")}
	if full != nil {
		candidates = append([]schema.GroupVersionResource{*full}, candidates...)
	}
	for _, candidate := range candidates {
		gvk, err := r.mapper.KindFor(candidate)
		if err == nil {
			return r.mapper.RESTMapping(gvk.GroupKind(), gvk.Version)
		}
		if !meta.IsNoMatchError(err) {
			return nil, err
		}
	}
	gvk, kind := schema.ParseKindArg(name)
	if gvk != nil {
		if mapping, err := r.mapper.RESTMapping(gvk.GroupKind(), gvk.Version); err == nil {
			return mapping, nil
		}
	}
	return r.mapper.RESTMapping(kind)
}

// watchable returns every name under which something can be listed and watched, sorted:
// the plural, with its group if it has one. Groups that do not answer are left out.
func (r *resolver) watchable() (names []string, err error) {
	_, lists, err := r.discovery.ServerGroupsAndResources()
	if err != nil && !discovery.IsGroupDiscoveryFailedError(err) {
		return nil, err
	}
	for _, list := range discovery.FilteredBy(discovery.SupportsAllVerbs{Verbs: []string{"list", "watch"}}, lists) {
		gv, err := schema.ParseGroupVersion(list.GroupVersion)
		if err != nil {
			continue
		}
		for _, resource := range list.APIResources {
			names = append(names, schema.GroupResource{Group: gv.Group, Resource: resource.Name}.String())
		}
	}
	slices.Sort(names)
	return slices.Compact(names), nil
}

// similar returns the names that look like a mistyped one, by cobra's own measure for
// commands.
func similar(name string, names []string) (found []string) {
	name, _, _ = strings.Cut(strings.ToLower(name), ".")
	known := &cobra.Command{SuggestionsMinimumDistance: 1 + len(name)/4}
	for _, n := range names {
		plural, _, _ := strings.Cut(n, ".")
		known.AddCommand(&cobra.Command{Use: plural, Run: func(*cobra.Command, []string) {}, Annotations: map[string]string{"name": n}})
	}
	suggested := known.SuggestionsFor(name)
	for _, c := range known.Commands() {
		if slices.Contains(suggested, c.Name()) && len(found) < 3 {
			found = append(found, c.Annotations["name"])
		}
	}
	return found
}
