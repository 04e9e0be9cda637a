package cache

import (
	"fmt"
	"reflect"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	kc "k8s.io/client-go/tools/cache"

	"github.com/kinglet-go/kinglet/store"
)

// Keys are strings in this package and a store.Key below it. Every string has
// a key of its own. A string from MetaNamespaceKeyFunc has the key that the
// typed packages use: it is split at the first slash, which costs no
// allocation. A string that begins with a slash stays whole, since "/b" is not
// "b".

// keying reads store keys from objects.
type keying struct {
	fn KeyFunc
	// meta is whether fn is MetaNamespaceKeyFunc, or the one that handles
	// deletions. Then the key is read from the object, without building the
	// string that fn would return.
	meta bool
	// tombstones is whether fn is the one that handles deletions.
	tombstones bool
}

func keyingBy(fn KeyFunc) keying {
	k := keying{fn: fn}
	switch codeOf(fn) {
	case codeOf(MetaNamespaceKeyFunc), codeOf(kc.MetaNamespaceKeyFunc):
		k.meta = true
	case codeOf(DeletionHandlingMetaNamespaceKeyFunc), codeOf(kc.DeletionHandlingMetaNamespaceKeyFunc):
		k.meta, k.tombstones = true, true
	}
	return k
}

// codeOf identifies a top-level function. A closure is never one of them.
func codeOf(fn KeyFunc) uintptr { return reflect.ValueOf(fn).Pointer() }

// keyOf returns the key that fn makes of an object. The error is a KeyError.
func keyOf(fn func(any) (string, error), obj any) (string, error) {
	key, err := fn(obj)
	if err != nil {
		return "", KeyError{Obj: obj, Err: err}
	}
	return key, nil
}

// key returns an object's key. The error is a KeyError.
func (k *keying) key(obj any) (store.Key, error) {
	key, err := k.read(obj)
	if err != nil {
		return store.Key{}, KeyError{Obj: obj, Err: err}
	}
	return key, nil
}

// read is key, but returns the key function's own error.
func (k *keying) read(obj any) (store.Key, error) {
	if k.meta {
		switch o := obj.(type) {
		case metav1.Object:
			return metaKey(o), nil
		case DeletedFinalStateUnknown:
			if k.tombstones {
				return store.ParseKey(o.Key), nil
			}
		}
	}
	key, err := k.fn(obj)
	if err != nil {
		return store.Key{}, err
	}
	return store.ParseKey(key), nil
}

// metaKey returns the key of the string that MetaNamespaceKeyFunc returns for o.
func metaKey(o metav1.Object) store.Key {
	namespace, name := o.GetNamespace(), o.GetName()
	switch {
	case namespace == "":
		return store.ParseKey(name)
	case strings.IndexByte(namespace, '/') >= 0:
		return store.ParseKey(namespace + "/" + name)
	}
	return store.Key{Namespace: namespace, Name: name}
}

// storeKeyFunc converts a key function of this package to a store's.
func storeKeyFunc(fn KeyFunc) store.KeyFunc[any] {
	k := keyingBy(fn)
	return k.read
}

// keyStrings makes strings of keys, many in one allocation. A string that is
// kept keeps a kilobyte alive.
type keyStrings struct{ b strings.Builder }

const keyStringsChunk = 1024

func (s *keyStrings) of(key store.Key) string {
	if key.Namespace == "" {
		return key.Name
	}
	n := len(key.Namespace) + 1 + len(key.Name)
	if s.b.Cap()-s.b.Len() < n {
		s.b = strings.Builder{}
		s.b.Grow(max(n, keyStringsChunk))
	}
	start := s.b.Len()
	s.b.WriteString(key.Namespace)
	s.b.WriteByte('/')
	s.b.WriteString(key.Name)
	return s.b.String()[start:]
}

// MetaNamespaceKeyFunc returns the key that nearly every store uses:
// "namespace/name", or "name" for an object without a namespace. An
// ExplicitKey is its own key. It fails for an object without metadata.
//
// A store that is given this very function, not one that calls it, reads keys
// from the objects without building a string.
func MetaNamespaceKeyFunc(obj any) (string, error) {
	return kc.MetaNamespaceKeyFunc(obj)
}

// DeletionHandlingMetaNamespaceKeyFunc is MetaNamespaceKeyFunc, except that
// it returns the key in a DeletedFinalStateUnknown.
func DeletionHandlingMetaNamespaceKeyFunc(obj any) (string, error) {
	return kc.DeletionHandlingMetaNamespaceKeyFunc(obj)
}

// ObjectToName returns the namespace and name of an object with metadata.
func ObjectToName(obj any) (ObjectName, error) { return kc.ObjectToName(obj) }

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
func MetaNamespaceIndexFunc(obj any) ([]string, error) { return kc.MetaNamespaceIndexFunc(obj) }

// IndexFuncToKeyFuncAdapter makes a key function of an index function that
// has exactly one value for every object. The key function fails for an
// object with none or several.
func IndexFuncToKeyFuncAdapter(indexFunc IndexFunc) KeyFunc {
	return kc.IndexFuncToKeyFuncAdapter(indexFunc)
}

// storeIndexFunc converts an index function of this package to a store's. A
// nil object is in no index.
func storeIndexFunc(fn IndexFunc) store.IndexFunc[any] {
	return func(obj any) ([]string, error) {
		if obj == nil {
			return nil, nil
		}
		return fn(obj)
	}
}

// storeIndexers converts indexes of this package to a store's. An index
// without a function is left out.
func storeIndexers(indexers Indexers) map[string]store.IndexFunc[any] {
	fns := make(map[string]store.IndexFunc[any], len(indexers))
	for name, fn := range indexers {
		if fn != nil {
			fns[name] = storeIndexFunc(fn)
		}
	}
	return fns
}
