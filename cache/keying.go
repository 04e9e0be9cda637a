package cache

import (
	"reflect"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	kc "k8s.io/client-go/tools/cache"

	"github.com/kinglet-go/kinglet/store"
)

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
				return storeKey(o.Key), nil
			}
		}
	}
	key, err := k.fn(obj)
	if err != nil {
		return store.Key{}, err
	}
	return storeKey(key), nil
}

// metaKey returns storeKey of the string that MetaNamespaceKeyFunc returns
// for o.
func metaKey(o metav1.Object) store.Key {
	namespace, name := o.GetNamespace(), o.GetName()
	switch {
	case namespace == "":
		return storeKey(name)
	case strings.IndexByte(namespace, '/') >= 0:
		return storeKey(namespace + "/" + name)
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
