package cache

import (
	"context"

	utilruntime "k8s.io/apimachinery/pkg/util/runtime"

	"github.com/kinglet-go/kinglet/store"
)

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

// reportError handles errors that no caller receives.
func reportError(err error) {
	utilruntime.HandleErrorWithContext(context.Background(), err, "A store keeps an object for which a function failed")
}
