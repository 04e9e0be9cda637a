package cache

import (
	"fmt"

	"k8s.io/apimachinery/pkg/api/meta"
)

// transformed is f as a source calls it: once for each version of an object
// that comes from the server, before anybody else sees it. What f returns may
// be of any type that has object metadata, and must keep namespace and name,
// under which the server will speak of it again. An object for which f fails
// is quarantined: the last good version stays, and the failure is reported.
func transformed(f TransformFunc) func(any) (any, error) {
	return func(obj any) (any, error) {
		was, err := meta.Accessor(obj)
		if err != nil {
			return nil, err
		}
		// f may write to obj.
		namespace, name := was.GetNamespace(), was.GetName()
		out, err := f(obj)
		if err != nil {
			return nil, err
		}
		is, err := meta.Accessor(out)
		if err != nil {
			return nil, fmt.Errorf("the transform returned a %T: %w", out, err)
		}
		if is.GetNamespace() != namespace || is.GetName() != name {
			return nil, fmt.Errorf("the transform made %s/%s of %s/%s", is.GetNamespace(), is.GetName(), namespace, name)
		}
		return out, nil
	}
}
