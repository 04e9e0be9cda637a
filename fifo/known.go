package fifo

import "iter"

// Known is what the consumers of a DeltaFIFO have: usually the store that
// their process functions keep up to date. The queue asks it which deletions
// were missed, and what to sync.
//
// Both methods are called with the queue's lock held, so they must not call
// the queue; they have to be safe for concurrent use with whoever writes. The
// queue never calls Get from within the loop over Keys.
//
// A process function has to have made its changes when it returns: from then
// on the queue relies on Known for that key.
type Known[K comparable, T any] interface {
	// Keys iterates over the keys of all objects, each once. Every key is
	// the one that the queue's key function finds for its object.
	Keys() iter.Seq[K]
	// Get returns the object under key.
	Get(key K) (obj T, ok bool, err error)
}

// Readable is something to look objects up in that cannot fail: a
// store.Reader[T] is a Readable[store.Key, T].
type Readable[K comparable, T any] interface {
	Keys() iter.Seq[K]
	Get(key K) (T, bool)
}

// KnownIn returns r as Known.
func KnownIn[K comparable, T any](r Readable[K, T]) Known[K, T] { return readable[K, T]{r} }

type readable[K comparable, T any] struct{ r Readable[K, T] }

func (k readable[K, T]) Keys() iter.Seq[K] { return k.r.Keys() }

func (k readable[K, T]) Get(key K) (T, bool, error) {
	obj, ok := k.r.Get(key)
	return obj, ok, nil
}
