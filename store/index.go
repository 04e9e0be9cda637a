package store

import "iter"

// KeyFunc reads an object's key. It must be pure, fast and safe to call from
// many goroutines: the store calls it often, also during reads, unless it
// remembers keys.
type KeyFunc[T any] func(obj T) (Key, error)

// IndexFunc returns the values under which an object is found in one index;
// none, one or many. It must be pure: what changes the store or its informer waits for
// it, so it would wait for itself. On an error the object is stored, absent
// from this index, and the error is reported as an *IndexError.
type IndexFunc[T any] func(obj T) ([]string, error)

// Reader is everything that can be read from a store or a snapshot of it.
// All methods are safe for concurrent use. Objects are shared and read-only.
//
// On a *Store each call sees the latest version at the time of the call; an
// iterator stays on the version at which its loop began. On a *Snapshot all
// calls see the same version.
type Reader[T any] interface {
	// Get returns the object under key. It does not allocate.
	Get(key Key) (T, bool)
	// Len returns the number of objects.
	Len() int
	// All iterates over all objects in key order.
	All() iter.Seq[T]
	// Keys iterates over all keys in order.
	Keys() iter.Seq[Key]
	// Prefix iterates in key order over the objects of one cluster and
	// namespace whose name starts with p.Name; over a whole cluster if both
	// Namespace and Name are empty.
	Prefix(p Key) iter.Seq[T]
	// ByIndex iterates over the objects that the named index holds under
	// value. The error wraps ErrNoIndex if there is no such index.
	ByIndex(index, value string) (iter.Seq[T], error)
	// IndexCount returns how many objects ByIndex would yield, without
	// visiting them.
	IndexCount(index, value string) (int, error)
	// IndexValues iterates over the values that have at least one object, in
	// no particular order.
	IndexValues(index string) (iter.Seq[string], error)
	// Indexes returns the names of the indexes, sorted.
	Indexes() []string
	// ResourceVersion returns the version of the given scope (its ID) that
	// this state equals; empty before the first list.
	ResourceVersion(scope string) string
}
