package cache

import (
	"fmt"

	"k8s.io/apimachinery/pkg/api/meta"
)

// transformed adapts f to a source, which calls it once for each version of an
// object from the server, before anything else sees it. f may return any type
// that has object metadata. It may rename the object, which is stored under the
// new name then: f must return the same name for every version, also the deleted
// one. An object for which f fails is quarantined: the last good version stays,
// and the failure is reported.
func transformed(f TransformFunc) func(any) (any, error) {
	return func(obj any) (any, error) {
		out, err := f(obj)
		if err != nil {
			return nil, err
		}
		if _, err := meta.Accessor(out); err != nil {
			return nil, fmt.Errorf("the transform returned a %T: %w", out, err)
		}
		return out, nil
	}
}
