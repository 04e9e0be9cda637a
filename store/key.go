package store

import (
	"cmp"
	"strings"
)

// Key names one object. It is comparable, cheap to copy and made of strings
// that it shares with the object it was read from, so that no
// "namespace/name" string has to be built to look something up.
//
// Keys are ordered by Namespace, then Name.
type Key struct {
	// Namespace is empty for a cluster-scoped object.
	Namespace string
	Name      string
}

// String returns "name" or "namespace/name", for people to read. It allocates; it is
// not for lookups.
func (k Key) String() string {
	if k.Namespace != "" {
		return k.Namespace + "/" + k.Name
	}
	return k.Name
}

// appendText appends what String returns.
func (k *Key) appendText(b []byte) []byte {
	if k.Namespace != "" {
		b = append(append(b, k.Namespace...), '/')
	}
	return append(b, k.Name...)
}

// ParseKey returns the key whose String is s. The part before
// the first slash is the namespace; a string that begins with a slash, or has
// none, is a name as a whole. Different strings have different keys.
func ParseKey(s string) Key {
	if i := strings.IndexByte(s, '/'); i > 0 {
		return Key{Namespace: s[:i], Name: s[i+1:]}
	}
	return Key{Name: s}
}

// Compare returns -1, 0 or +1 as k sorts before, with or after o.
func (k Key) Compare(o Key) int {
	// Namespaces are mostly equal strings that share memory, which compare in O(1),
	// so comparing them before the names costs little.
	if k.Namespace != o.Namespace {
		return strings.Compare(k.Namespace, o.Namespace)
	}
	return cmp.Compare(k.Name, o.Name)
}

// Scope is a part of the key space that one source covers: everything, one
// namespace of several, a shard. Replacing a scope deletes only keys
// inside it, and each scope has a resource version of its own. The zero Scope is
// everything.
type Scope struct {
	// ID identifies the scope within a store.
	ID string
	// Span is a range of keys that contains all keys of the scope. A list of the
	// scope looks at no other objects of the store. The zero Span is all keys.
	Span Span
	// Contains reports whether a key of Span belongs to the scope; nil means every
	// key does. It must be pure: the answer for a key never changes.
	Contains func(Key) bool
}

// Has reports whether k belongs to s.
func (s Scope) Has(k Key) bool { return s.Span.Has(k) && (s.Contains == nil || s.Contains(k)) }
