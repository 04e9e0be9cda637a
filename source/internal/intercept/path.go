package intercept

import (
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/kinglet-go/kinglet/store"
)

// CollectionOf returns the resource in the path of a request for a collection. The
// path may have a proxy's prefix:
//
//	…/api/v1/pods
//	…/api/v1/namespaces/ns/pods
//	…/apis/apps/v1/namespaces/ns/deployments
func CollectionOf(path string) (schema.GroupVersionResource, bool) {
	resource, key, _, ok := ObjectOf(path, nil)
	if !ok || key.Name != "" || key.Namespace == "" && resource.Resource == "watch" {
		return schema.GroupVersionResource{}, false
	}
	return resource, true
}

// ObjectOf returns the object that the path of a request names: see the function of
// this name in package source.
func ObjectOf(path string, known func(schema.GroupResource) bool) (resource schema.GroupVersionResource, key store.Key, subresource string, ok bool) {
	segments := strings.Split(strings.Trim(path, "/"), "/")
	// A proxy's prefix may look like a group and version, and so may a name.
	for i, s := range segments {
		rest := segments[i+1:]
		var gv schema.GroupVersion
		switch {
		case s == "api" && len(rest) >= 2 && rest[0] == "v1":
			// The core group has this version alone.
			gv.Version, rest = rest[0], rest[1:]
		case s == "apis" && len(rest) >= 3 && len(validation.IsDNS1123Label(rest[1])) == 0:
			gv.Group, gv.Version, rest = rest[0], rest[1], rest[2:]
		default:
			continue
		}
		k := store.Key{}
		// As for a server, whatever the group: namespaceSubresources in k8s.io/apiserver/pkg/endpoints/request.
		if len(rest) >= 3 && rest[0] == "namespaces" && !(len(rest) == 3 && (rest[2] == "status" || rest[2] == "finalize")) {
			k.Namespace, rest = rest[1], rest[2:]
		}
		if known != nil && len(rest) > 3 && rest[2] == "proxy" {
			break // what follows is another server's
		}
		if len(rest) > 3 || slices.Contains(rest, "") {
			continue
		}
		prefer := known != nil && known(schema.GroupResource{Group: gv.Group, Resource: rest[0]})
		if ok && !prefer {
			continue
		}
		ok, resource, key, subresource = true, gv.WithResource(rest[0]), k, ""
		if len(rest) > 1 {
			key.Name = rest[1]
		}
		if len(rest) > 2 {
			subresource = rest[2]
		}
		if prefer {
			break
		}
	}
	return resource, key, subresource, ok
}
