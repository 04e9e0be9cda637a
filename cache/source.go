package cache

import (
	"errors"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"

	"github.com/kinglet-go/kinglet/source"
)

var (
	errNoListerWatcher = errors.New("no ListerWatcher")
	errNotREST         = errors.New("the client that the ListWatch was made from is no rest.Interface")
)

// newSource is where the objects of lw come from, as the typed packages see it.
// example is an object of the expected type, or nil if any will do. opts are
// the source's; what lw decides itself, its namespace and selectors, must be
// left empty.
//
// A ListWatch from a client whose functions are its own is read from the wire,
// as long as the server's answers can be; see source.Prefer. For all others
// the interceptor is open: a client made with source.WrapTransport lets the wire be
// read as well.
func newSource(lw ListerWatcher, example any, opts source.Options) (*itemSource, error) {
	if lw == nil {
		return nil, errNoListerWatcher
	}
	if obj, ok := example.(runtime.Object); ok {
		opts.Example = obj
	}
	made, whole := fromClient(lw)
	var src source.Source[any]
	var err error
	if made != nil {
		src, err = preferWire(made, lw, opts)
	} else {
		opts.Interceptor = &source.Interceptor{}
		src, err = source.FromListerWatcher[any](lw, opts)
	}
	if err != nil {
		return nil, err
	}
	return &itemSource{Source: src, unchunked: whole, fixes: []itemFix{keyedHere}}, nil
}

// fromClient returns the collection that lw stands for, if it is a ListWatch
// from a client as it was made, and whether lists shall come in one piece.
func fromClient(lw ListerWatcher) (made *collection, whole bool) {
	switch lw := lw.(type) {
	case *ListWatch:
		return lw.readable(), lw.DisableChunking
	case *clientListWatch:
		return lw.readable(), lw.DisableChunking
	}
	return nil, false
}

// preferWire reads a collection from the wire, and asks lw where that cannot
// be: with an unknown type, with a client that is none, or with a server that
// speaks otherwise.
func preferWire(made *collection, lw ListerWatcher, opts source.Options) (source.Source[any], error) {
	ordinary, err := source.FromListerWatcher[any](lw, opts)
	if err != nil {
		return nil, err
	}
	wire, err := made.source(opts)
	return source.Prefer(wire, ordinary, source.PreferOptions{Missing: err})
}

// source reads the collection from the wire. Either it or the error is nil.
func (c *collection) source(opts source.Options) (source.Source[any], error) {
	client, ok := c.client.(rest.Interface)
	if !ok {
		return nil, errNotREST
	}
	opts.Namespace, opts.Modify = c.namespace, c.modify
	return source.FromREST[any](client, c.resource, opts)
}
