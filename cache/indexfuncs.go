package cache

import (
	"context"

	utilruntime "k8s.io/apimachinery/pkg/util/runtime"

	"github.com/kinglet-go/kinglet/store"
)

// storeIndexFunc is a store's index function for one of this package's. A nil
// object is in no index.
func storeIndexFunc(fn IndexFunc) store.IndexFunc[any] {
	return func(obj any) ([]string, error) {
		if obj == nil {
			return nil, nil
		}
		return fn(obj)
	}
}

// storeIndexers are a store's indexes for those of this package. One without a
// function does not exist.
func storeIndexers(indexers Indexers) map[string]store.IndexFunc[any] {
	fns := make(map[string]store.IndexFunc[any], len(indexers))
	for name, fn := range indexers {
		if fn != nil {
			fns[name] = storeIndexFunc(fn)
		}
	}
	return fns
}

// reportError is where errors go that no caller is given.
func reportError(err error) {
	utilruntime.HandleErrorWithContext(context.Background(), err, "A store keeps an object for which a function failed")
}
