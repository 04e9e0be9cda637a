package source

import (
	"regexp"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

// collectionOf reads the group and version from the path of a request for a
// collection, which may stand behind a proxy's prefix:
//
//	…/api/v1/pods
//	…/api/v1/namespaces/ns/pods
//	…/apis/apps/v1/namespaces/ns/deployments
func collectionOf(path string) (schema.GroupVersion, bool) {
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
		if apiVersion(gv.Version) && isCollection(gv, rest) {
			return gv, true
		}
	}
	return schema.GroupVersion{}, false
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
