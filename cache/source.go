package cache

import (
	"errors"

	"k8s.io/apimachinery/pkg/runtime"

	"github.com/kinglet-go/kinglet/source"
)

var errNoListerWatcher = errors.New("no ListerWatcher")

// newSource is where the objects of lw come from, as the typed packages see it.
// example is an object of the expected type, or nil if any will do. opts are
// the source's; what lw decides itself, its namespace and selectors, must be
// left empty.
func newSource(lw ListerWatcher, example any, opts source.Options) (source.Source[any], error) {
	if lw == nil {
		return nil, errNoListerWatcher
	}
	if obj, ok := example.(runtime.Object); ok {
		opts.Example = obj
	}
	return source.FromListerWatcher[any](lw, opts)
}
