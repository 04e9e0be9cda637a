package cache

import (
	"fmt"

	"k8s.io/apimachinery/pkg/api/meta"
)

// transformed is f as a source calls it: once for each version of an object
// that comes from the server, before anybody else sees it. What f returns may
// be of any type that has object metadata. It may have another name, under which
// it is kept then: f has to give the same one to every version, the deleted one
// as well. An object for which f fails is quarantined: the last good version
// stays, and the failure is reported.
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
