package fifo

import "k8s.io/client-go/tools/cache"

// intake finds the keys of objects and transforms them, before they are queued.
// All queues embed it. It needs no lock.
type intake[K comparable, T any] struct {
	key  func(T) (K, error)
	opts Options[K, T]
}

// Key returns the key of obj. The error is a KeyError.
func (in *intake[K, T]) Key(obj T) (K, error) {
	var none K
	if in.key == nil {
		return none, cache.KeyError{Obj: obj, Err: ErrNoKeyFunc}
	}
	key, err := in.key(obj)
	if err != nil {
		return none, cache.KeyError{Obj: obj, Err: err}
	}
	return key, nil
}

// keys returns the key of each object of list. The error is a KeyError.
func (in *intake[K, T]) keys(list []T) ([]K, error) {
	keys := make([]K, len(list))
	for i, obj := range list {
		key, err := in.Key(obj)
		if err != nil {
			return nil, err
		}
		keys[i] = key
	}
	return keys, nil
}

// prepare returns the key of obj, and the object to queue. The error is a
// KeyError or the transform's.
func (in *intake[K, T]) prepare(obj T) (key K, queued T, err error) {
	if key, err = in.Key(obj); err != nil {
		return key, queued, err
	}
	queued, err = in.opts.transform(obj)
	return key, queued, err
}

// prepareAll is prepare for a list, which it does not change. Without a
// transform it returns list itself.
func (in *intake[K, T]) prepareAll(list []T) (keys []K, queued []T, err error) {
	if keys, err = in.keys(list); err != nil {
		return nil, nil, err
	}
	queued, err = in.opts.transformAll(list)
	return keys, queued, err
}
