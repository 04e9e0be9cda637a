package kinglet

import (
	"github.com/kinglet-go/kinglet/store"
)

// The types of package store that users of an informer need.
type (
	// Key names one object.
	Key = store.Key
	// Change is one step in the history of a key.
	Change[T any] = store.Change[T]
	// ChangeType is Added, Updated or Deleted.
	ChangeType = store.ChangeType
	// Reason is how a change became known: Live, Initial, Relist or Resync.
	Reason = store.Reason
	// IndexMatch names what an index holds under one value.
	IndexMatch = store.IndexMatch
	// Reader is everything that can be read from an informer.
	Reader[T any] = store.Reader[T]
	// KeyFunc reads an object's key.
	KeyFunc[T any] = store.KeyFunc[T]
	// IndexFunc returns the values under which an object is found.
	IndexFunc[T any] = store.IndexFunc[T]
)

// The types and reasons of changes.
const (
	Added   = store.Added
	Updated = store.Updated
	Deleted = store.Deleted

	Live    = store.Live
	Initial = store.Initial
	Relist  = store.Relist
	Resync  = store.Resync
)
