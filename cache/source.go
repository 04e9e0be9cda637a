package cache

import (
	"errors"
	"fmt"
	"os"
	"strconv"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"

	"github.com/kinglet-go/kinglet/source"
)

var (
	errNoListerWatcher = errors.New("no ListerWatcher")
	errNotREST         = errors.New("the client that the ListWatch was made from is no rest.Interface")
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
// decides itself, its namespace and selectors, must be left empty.
//
// A ListWatch from a client with its own functions is read from the wire, as long as the
// server's answers allow it; see source.Prefer. All others get an interceptor: a client
// made with source.WrapTransport lets the wire be read as well. With the fast path
// disabled lw is called, its client decodes, and objects share nothing.
func newSource(lw ListerWatcher, example any, opts source.Options) (*itemSource, error) {
	if lw == nil {
		return nil, errNoListerWatcher
	}
	if obj, ok := example.(runtime.Object); ok {
		opts.Example = obj
	}
	if opts.Sharing == nil {
		opts.Sharing = source.OwnSharing()
	}
	made, whole := fromClient(lw)
	var src source.Source[any]
	var err error
	if disabled := fastPathDisabled(); disabled != nil {
		opts.DisableSharing, opts.Sharing = true, nil
		src, err = preferWire(nil, disabled, lw, opts)
	} else if made != nil {
		wire, missing := made.source(opts)
		src, err = preferWire(wire, missing, lw, opts)
	} else {
		opts.Interceptor = &source.Interceptor{}
		src, err = source.FromListerWatcher[any](lw, opts)
	}
	if err != nil {
		return nil, err
	}
	return &itemSource{Source: src, unchunked: whole, fixes: []itemFix{keyedHere}}, nil
}

// newDroppingSource is newSource for a transform that does nothing but remove the fields
// that opts.Drop names. Objects that are read from the wire come without them; transform
// is called for those that the client decodes. It returns nil if objects cannot be read
// in this way: without the fast path, if lw is not a ListWatch from a client, or if the
// type has no such field.
func newDroppingSource(lw ListerWatcher, example any, opts source.Options, transform TransformFunc) *itemSource {
	made, whole := fromClient(lw)
	if made == nil || fastPathDisabled() != nil {
		return nil
	}
	if obj, ok := example.(runtime.Object); ok {
		opts.Example = obj
	}
	wire, err := made.source(opts)
	if err != nil {
		return nil
	}
	opts.Drop = nil
	ordinary, err := source.FromListerWatcher[any](lw, opts)
	if err != nil {
		return nil
	}
	src, err := source.Prefer(wire, source.Map(ordinary, transformed(transform)), source.PreferOptions{})
	if err != nil {
		return nil
	}
	return &itemSource{Source: src, unchunked: whole, fixes: []itemFix{keyedHere}}
}

// fromClient returns the collection behind lw, if it is an unchanged ListWatch from a
// client, and whether lists must come in one piece.
func fromClient(lw ListerWatcher) (made *collection, whole bool) {
	switch lw := lw.(type) {
	case *ListWatch:
		return lw.readable(), lw.DisableChunking
	case *clientListWatch:
		return lw.readable(), lw.DisableChunking
	}
	return nil, false
}

// preferWire reads a collection from the wire, and falls back to lw: if wire is nil
// because of missing, such as an unknown type or a client that is not a REST client, or
// if the server's answers cannot be read.
func preferWire(wire source.Source[any], missing error, lw ListerWatcher, opts source.Options) (source.Source[any], error) {
	ordinary, err := source.FromListerWatcher[any](lw, opts)
	if err != nil {
		return nil, err
	}
	return source.Prefer(wire, ordinary, source.PreferOptions{Missing: missing})
}

// source returns a source that reads the collection from the wire. Either it or the
// error is nil.
func (c *collection) source(opts source.Options) (source.Source[any], error) {
	client, ok := c.client.(rest.Interface)
	if !ok {
		return nil, errNotREST
	}
	opts.Namespace, opts.Modify = c.namespace, c.modify
	return source.FromREST[any](client, c.resource, opts)
}
