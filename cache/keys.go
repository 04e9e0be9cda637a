package cache

import (
	"github.com/kinglet-go/kinglet/store"
)

// Keys are strings in this package and a store.Key below it. Every string has
// a key of its own. A string from MetaNamespaceKeyFunc has the key that the
// typed packages use: it is split at the first slash, which costs no
// allocation. A string that begins with a slash stays whole, since "/b" is not
// "b".

// storeKey converts a key of this package to the store's.
func storeKey(key string) store.Key { return store.ParseKey(key) }

// keyString is the inverse of storeKey.
func keyString(key store.Key) string {
	if key.Namespace == "" {
		return key.Name
	}
	return key.Namespace + "/" + key.Name
}
