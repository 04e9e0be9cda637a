package cache

import (
	"github.com/kinglet-go/kinglet/store"
)

// Keys are strings here and a store.Key below. Every string has a key of its
// own, and a string that MetaNamespaceKeyFunc makes has the one that the typed
// packages use: it is parted at the first slash, which costs no allocation.
// One that begins with a slash stays whole, since "/b" is not "b".

// storeKey is the store's key for a key of this package.
func storeKey(key string) store.Key { return store.ParseKey(key) }

// keyString is the key of this package for a store's key: storeKey, undone.
func keyString(key store.Key) string {
	if key.Namespace == "" {
		return key.Name
	}
	return key.Namespace + "/" + key.Name
}
