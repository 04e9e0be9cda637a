package cache

import (
	"errors"
	"fmt"
	"os"
	"strconv"

	"k8s.io/apimachinery/pkg/runtime"

	"github.com/kinglet-go/kinglet/source"
)

var (
	errNoListerWatcher = errors.New("no ListerWatcher")
	errNotREST         = errors.New("the client that the ListWatch was made from is no *rest.RESTClient")
	errDisabled        = errors.New("the fast path is disabled in the environment")
)

// disableFastPath is the environment variable that makes informers which start from then
// on read through their client alone, as client-go's do.
const disableFastPath = "KINGLET_DISABLE_FAST_PATH"

// fastPathDisabled returns the reason not to read the wire, or nil. Any value that is
// not a false one disables it, so that "yes" works too.
func fastPathDisabled() error {
	value := os.Getenv(disableFastPath)
	if off, err := strconv.ParseBool(value); value == "" || err == nil && !off {
		return nil
	}
	return fmt.Errorf("%w: %s=%s", errDisabled, disableFastPath, value)
}

// newSource returns the source of lw's objects, as the typed packages see it. example is
// an object of the expected type, or nil for any type. opts are the source's; what lw
// decides itself, its namespace and selectors, must be left empty. If opts.Drop is not
// empty, transform removes those fields and does nothing else: objects that are read
// from the wire come without them, and transform is called for all others.
//
// The wire is read if lw's client lets it: see source.Interceptor. With the fast path
// disabled lw is called, its client decodes, and objects share nothing.
func newSource(lw ListerWatcher, example any, opts source.Options, transform TransformFunc) (*itemSource, error) {
	if lw == nil {
		return nil, errNoListerWatcher
	}
	if obj, ok := example.(runtime.Object); ok {
		opts.Example = obj
	}
	ours := listWatchIn(lw)
	s := &itemSource{unchunked: ours.DisableChunking, transform: transform, why: clientDecodes(lw), fixes: []itemFix{keyedHere}}
	switch {
	case fastPathDisabled() != nil:
		opts.DisableSharing, opts.Sharing = true, nil
	case opts.Sharing == nil:
		opts.Sharing = source.OwnSharing()
	}
	if s.why == nil {
		opts.Interceptor = &source.Interceptor{}
	}
	var err error
	s.Source, err = source.FromListerWatcher[any](lw, opts)
	return s, err
}

// clientDecodes returns the reason why lw's answers are not to be read from the wire, or
// nil.
func clientDecodes(lw ListerWatcher) error {
	ours := listWatchIn(lw)
	switch disabled := fastPathDisabled(); {
	case disabled != nil:
		return disabled
	case ours.made != nil && ours.made.groupVersionResource().Empty():
		return errNotREST
	}
	return nil
}

// listWatchIn returns the ListWatch that lw is; an empty one if it is none.
func listWatchIn(lw ListerWatcher) *ListWatch {
	switch lw := lw.(type) {
	case *ListWatch:
		return lw
	case *clientListWatch:
		return lw.ListWatch
	}
	return &ListWatch{}
}
