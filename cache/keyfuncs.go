package cache

import (
	"errors"
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// MetaNamespaceKeyFunc returns the key that nearly every store uses:
// "namespace/name", or "name" for an object without a namespace. An
// ExplicitKey is its own key. It fails for an object without metadata.
//
// A store that is given this very function, not one that calls it, reads keys
// from the objects without building a string.
func MetaNamespaceKeyFunc(obj any) (string, error) {
	if key, ok := obj.(ExplicitKey); ok {
		return string(key), nil
	}
	name, err := ObjectToName(obj)
	if err != nil {
		return "", err
	}
	return name.String(), nil
}

// DeletionHandlingMetaNamespaceKeyFunc is MetaNamespaceKeyFunc, except that
// it returns the key in a DeletedFinalStateUnknown.
func DeletionHandlingMetaNamespaceKeyFunc(obj any) (string, error) {
	if d, ok := obj.(DeletedFinalStateUnknown); ok {
		return d.Key, nil
	}
	return MetaNamespaceKeyFunc(obj)
}

// ObjectToName returns the namespace and name of an object with metadata.
func ObjectToName(obj any) (ObjectName, error) {
	m, err := meta.Accessor(obj)
	if err != nil {
		return ObjectName{}, fmt.Errorf("object has no meta: %w", err)
	}
	return MetaObjectToName(m), nil
}

// DeletionHandlingObjectToName is ObjectToName, except that it returns the
// name in the key of a DeletedFinalStateUnknown.
func DeletionHandlingObjectToName(obj any) (ObjectName, error) {
	if d, ok := obj.(DeletedFinalStateUnknown); ok {
		return ParseObjectName(d.Key)
	}
	return ObjectToName(obj)
}

// MetaObjectToName returns the namespace and name of an object.
func MetaObjectToName(obj metav1.Object) ObjectName {
	return ObjectName{Namespace: obj.GetNamespace(), Name: obj.GetName()}
}

// NewObjectName makes an ObjectName of its parts.
func NewObjectName(namespace, name string) ObjectName {
	return ObjectName{Namespace: namespace, Name: name}
}

// NamespacedNameAsObjectName converts a NamespacedName.
func NamespacedNameAsObjectName(nn types.NamespacedName) ObjectName { return ObjectName(nn) }

// ParseObjectName is the inverse of ObjectName.String.
func ParseObjectName(str string) (ObjectName, error) {
	namespace, name, err := SplitMetaNamespaceKey(str)
	return ObjectName{Namespace: namespace, Name: name}, err
}

// SplitMetaNamespaceKey returns the namespace and name in a key that
// MetaNamespaceKeyFunc made. A key with two slashes is an error.
func SplitMetaNamespaceKey(key string) (namespace, name string, err error) {
	before, after, found := strings.Cut(key, "/")
	switch {
	case !found:
		return "", before, nil
	case strings.Contains(after, "/"):
		return "", "", fmt.Errorf("unexpected key format: %q", key)
	}
	return before, after, nil
}

// MetaNamespaceIndexFunc indexes objects by their namespace; see
// NamespaceIndex.
func MetaNamespaceIndexFunc(obj any) ([]string, error) {
	m, err := meta.Accessor(obj)
	if err != nil {
		return []string{""}, fmt.Errorf("object has no meta: %w", err)
	}
	return []string{m.GetNamespace()}, nil
}

// IndexFuncToKeyFuncAdapter makes a key function of an index function that
// has exactly one value for every object. The key function fails for an
// object with none or several.
func IndexFuncToKeyFuncAdapter(indexFunc IndexFunc) KeyFunc {
	return func(obj any) (string, error) {
		values, err := indexFunc(obj)
		if err != nil {
			return "", err
		}
		switch len(values) {
		case 0:
			return "", errors.New("unexpected empty indexKeys")
		case 1:
			return values[0], nil
		}
		return "", fmt.Errorf("too many keys: %v", values)
	}
}
