package cache

import (
	"context"
	"errors"

	"k8s.io/client-go/util/watchlist"

	"github.com/kinglet-go/kinglet/source"
)

// lateSource is the source of an informer that is not fully configured
// yet: its transform is set, and its ListWatch may be changed, until it starts.
type lateSource struct {
	lw   ListerWatcher
	name string
	// transform may be nil.
	transform TransformFunc
	// src is set once, before the first List or Watch.
	src source.Source[any]
}

var errNotDecided = errors.New("the informer has not started")

// decide makes up what has been left open. An error is one that every list
// will fail with.
func (s *lateSource) decide(src source.Source[any], err error) {
	if err != nil {
		src = failingSource{name: s.name, err: err}
	}
	s.src = src
}

// String implements source.Source.
func (s *lateSource) String() string { return s.name }

// Traits implements source.Source: those of the source that was decided on.
func (s *lateSource) Traits() (t source.Traits[any]) {
	if s.src != nil {
		t = s.src.Traits()
	}
	t.NoWatchList = watchlist.DoesClientNotSupportWatchListSemantics(s.lw)
	return t
}

// List implements source.Source.
func (s *lateSource) List(ctx context.Context, req source.ListRequest[any], yield func(source.Page[any]) error) error {
	if s.src == nil {
		return errNotDecided
	}
	return s.src.List(ctx, req, yield)
}

// Watch implements source.Source.
func (s *lateSource) Watch(ctx context.Context, req source.WatchRequest[any], yield func([]source.Event[any]) error) error {
	if s.src == nil {
		return errNotDecided
	}
	return s.src.Watch(ctx, req, yield)
}

// failingSource is in the place of a source that could not be made, so that
// its error is shown where those of lists are.
type failingSource struct {
	name string
	err  error
}

func (s failingSource) String() string { return s.name }

func (s failingSource) Traits() source.Traits[any] { return source.Traits[any]{} }

func (s failingSource) List(context.Context, source.ListRequest[any], func(source.Page[any]) error) error {
	return s.err
}

func (s failingSource) Watch(context.Context, source.WatchRequest[any], func([]source.Event[any]) error) error {
	return s.err
}
