package apiserver

import (
	"cmp"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"slices"
	"strconv"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/version"
)

// verbs are those of every resource, and statusVerbs those of /status: see parse.
var (
	verbs       = metav1.Verbs{"create", "delete", "deletecollection", "get", "list", "patch", "update", "watch"}
	statusVerbs = metav1.Verbs{"get", "patch", "update"}
)

// discover answers requests for discovery and health checks, and reports whether r is one.
// Discovery has the form of before KEP-3352 (aggregated discovery), to which clients fall back.
func (s *Server) discover(ctx context.Context, w http.ResponseWriter, r *http.Request) bool {
	path := strings.Split(strings.Trim(r.URL.Path, "/"), "/")
	var obj runtime.Object
	switch {
	case r.Method != http.MethodGet:
		return false
	case len(path) == 1 && path[0] == "version":
		w.Header().Set("Content-Type", runtime.ContentTypeJSON)
		minor := strconv.Itoa(int(s.opts.Version))
		_ = json.NewEncoder(w).Encode(version.Info{Major: "1", Minor: minor, GitVersion: "v1." + minor + ".0"})
		return true
	case slices.Contains([]string{"healthz", "livez", "readyz"}, path[0]):
		w.Header().Set("Content-Type", "text/plain; charset=utf-8")
		_, _ = io.WriteString(w, "ok")
		return true
	case len(path) == 1 && path[0] == "api":
		obj = &metav1.APIVersions{Versions: []string{"v1"}}
	case len(path) == 2 && path[0] == "api" && path[1] == "v1":
		obj = s.storage.resourceList(schema.GroupVersion{Version: "v1"})
	case len(path) == 1 && path[0] == "apis":
		obj = &metav1.APIGroupList{Groups: s.storage.groups()}
	case len(path) == 2 && path[0] == "apis":
		groups := s.storage.groups()
		if i := slices.IndexFunc(groups, func(g metav1.APIGroup) bool { return g.Name == path[1] }); i >= 0 {
			obj = &groups[i]
		}
	case len(path) == 3 && path[0] == "apis":
		if list := s.storage.resourceList(schema.GroupVersion{Group: path[1], Version: path[2]}); len(list.APIResources) > 0 {
			obj = list
		}
	}
	if obj == nil {
		return false
	}
	f := statusForm(r.Header.Get("Accept"))
	if err := s.answer(ctx, w, r, f, &Fault{}, http.StatusOK, obj); err != nil {
		s.answerError(ctx, w, f, &Fault{}, err)
	}
	return true
}

// groups returns the groups of resources but for the core group, each with its versions, the
// most stable first.
func (s *Storage) groups() (all []metav1.APIGroup) {
	s.mu.Lock()
	defer s.mu.Unlock()
	versions := map[string][]string{}
	for _, c := range s.resources {
		if c.Group != "" && !slices.Contains(versions[c.Group], c.Version) {
			versions[c.Group] = append(versions[c.Group], c.Version)
		}
	}
	for group, vs := range versions {
		slices.SortFunc(vs, func(a, b string) int { return version.CompareKubeAwareVersionStrings(b, a) })
		g := metav1.APIGroup{Name: group}
		for _, v := range vs {
			g.Versions = append(g.Versions, metav1.GroupVersionForDiscovery{GroupVersion: group + "/" + v, Version: v})
		}
		g.PreferredVersion = g.Versions[0]
		all = append(all, g)
	}
	slices.SortFunc(all, func(a, b metav1.APIGroup) int { return cmp.Compare(a.Name, b.Name) })
	return all
}

// resourceList returns the resources of a group and version, and their /status.
func (s *Storage) resourceList(gv schema.GroupVersion) *metav1.APIResourceList {
	s.mu.Lock()
	defer s.mu.Unlock()
	list := &metav1.APIResourceList{GroupVersion: gv.String(), APIResources: []metav1.APIResource{}}
	for _, c := range s.resources {
		if c.GroupVersion() != gv {
			continue
		}
		r := metav1.APIResource{Name: c.Resource.Resource, SingularName: strings.ToLower(c.Kind), Namespaced: !c.ClusterScoped, Kind: c.Kind, Verbs: verbs}
		list.APIResources = append(list.APIResources, r)
		if c.hasStatus() {
			r.Name, r.Verbs = r.Name+"/status", statusVerbs
			list.APIResources = append(list.APIResources, r)
		}
	}
	slices.SortFunc(list.APIResources, func(a, b metav1.APIResource) int { return cmp.Compare(a.Name, b.Name) })
	return list
}
