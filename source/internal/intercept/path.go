package intercept

import (
	"regexp"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kinglet-go/kinglet/store"
)

// CollectionOf returns the resource in the path of a request for a collection. The
// path may have a proxy's prefix:
//
//	…/api/v1/pods
//	…/api/v1/namespaces/ns/pods
//	…/apis/apps/v1/namespaces/ns/deployments
func CollectionOf(path string) (found schema.GroupVersionResource, ok bool) {
	ok = versioned(path, func(gv schema.GroupVersion, rest []string) bool {
		if !isCollection(gv, rest) {
			return false
		}
		found = gv.WithResource(rest[len(rest)-1])
		return true
	})
	return found, ok
}

// versioned calls fits with each group and version that a path may have, and the
// segments after them, until it returns true: a proxy's prefix may look like one.
func versioned(path string, fits func(gv schema.GroupVersion, rest []string) bool) bool {
	segments := strings.Split(strings.Trim(path, "/"), "/")
	for i, s := range segments {
		rest := segments[i+1:]
		var gv schema.GroupVersion
		switch {
		case s == "api" && len(rest) >= 2:
			gv.Version, rest = rest[0], rest[1:]
		case s == "apis" && len(rest) >= 3:
			gv.Group, gv.Version, rest = rest[0], rest[1], rest[2:]
		default:
			continue
		}
		if apiVersion(gv.Version) && fits(gv, rest) {
			return true
		}
	}
	return false
}

// ObjectOf returns the object that the path of a request names. The path may have
// a proxy's prefix:
//
//	…/api/v1/namespaces/ns/pods          a collection, where objects are created
//	…/api/v1/namespaces/ns/pods/web      one object
//	…/api/v1/namespaces/ns/pods/web/log  a subresource of it
//	…/apis/apps/v1/…                     the same of other groups
//
// The key has no name if the path is a collection's.
func ObjectOf(path string) (resource schema.GroupVersionResource, key store.Key, subresource string, ok bool) {
	ok = versioned(path, func(gv schema.GroupVersion, rest []string) bool {
		key, subresource = store.Key{}, ""
		if len(rest) >= 3 && rest[0] == "namespaces" && !(gv.Group == "" && len(rest) == 3 && (rest[2] == "status" || rest[2] == "finalize")) {
			key.Namespace, rest = rest[1], rest[2:]
		}
		if len(rest) > 3 || slices.Contains(rest, "") {
			return false
		}
		resource = gv.WithResource(rest[0])
		if len(rest) > 1 {
			key.Name = rest[1]
		}
		if len(rest) > 2 {
			subresource = rest[2]
		}
		return true
	})
	return resource, key, subresource, ok
}

// isCollection reports whether what follows the version names a collection.
func isCollection(gv schema.GroupVersion, rest []string) bool {
	switch {
	case len(rest) == 1:
		return rest[0] != "" && rest[0] != "watch"
	case len(rest) != 3 || rest[0] != "namespaces" || rest[1] == "" || rest[2] == "":
		return false
	}
	// The subresources of the core group's namespaces look like collections.
	return gv.Group != "" || rest[2] != "status" && rest[2] != "finalize"
}

var versionPattern = regexp.MustCompile(`^v[0-9]+((alpha|beta)[0-9]+)?$`)

func apiVersion(s string) bool { return versionPattern.MatchString(s) }
