package cache

import (
	"context"
	"errors"
	"sync/atomic"

	"k8s.io/apimachinery/pkg/runtime/schema"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/client-go/util/watchlist"

	"github.com/kinglet-go/kinglet/internal/errtype"
	"github.com/kinglet-go/kinglet/source"
)

// lateSource is the source of an informer that is not fully configured yet: until it
// starts, its transform may be set and its ListWatch changed.
type lateSource struct {
	lw   ListerWatcher
	name string
	// made is the resource of a ListWatch from a client.
	made schema.GroupVersionResource
	// transform may be nil. drop are the fields that the transform removes, if it is
	// known to do nothing else.
	transform TransformFunc
	drop      []string
	// decision is set once, before the first List or Watch.
	decision atomic.Pointer[decision]
}

// decision is the source that was decided on. shared and requested are cached from its
// traits.
type decision struct {
	source.Source[any]
	shared    func() *source.Sharing
	requested func() schema.GroupVersionResource
}

func newLateSource(lw ListerWatcher, name string) *lateSource {
	s := &lateSource{lw: lw, name: name}
	if made := listWatchIn(lw).made; made != nil {
		s.made = made.groupVersionResource()
	}
	return s
}

var errNotDecided = errors.New("the informer has not started")

// decide sets the source. If err is not nil, every list will fail with it.
func (s *lateSource) decide(src source.Source[any], err error) {
	if err != nil {
		src = failingSource{name: s.name, err: err}
	}
	t := src.Traits()
	s.decision.Store(&decision{src, t.Shared, t.Requested})
}

// decided returns the source that was decided on, or nil.
func (s *lateSource) decided() source.Source[any] {
	if d := s.decision.Load(); d != nil {
		return d.Source
	}
	return nil
}

// shared returns the result of the decided source's Traits.Shared.
func (s *lateSource) shared() *source.Sharing {
	if d := s.decision.Load(); d != nil && d.shared != nil {
		return d.shared()
	}
	return nil
}

// requested returns what the last request was for, as far as that is known.
func (s *lateSource) requested() (known schema.GroupVersionResource) {
	if d := s.decision.Load(); d != nil && d.requested != nil {
		known = d.requested()
	}
	return known
}

// String implements source.Source.
func (s *lateSource) String() string { return s.name }

// Traits implements source.Source. It returns the traits of the decided source, with
// the resource of a ListWatch from a client.
func (s *lateSource) Traits() (t source.Traits[any]) {
	if d := s.decision.Load(); d != nil {
		t = d.Traits()
	}
	t.Resource, t.Shared, t.Requested = s.made, s.shared, s.requested
	t.NoWatchList = watchlist.DoesClientNotSupportWatchListSemantics(s.lw)
	return t
}

// List implements source.Source.
func (s *lateSource) List(ctx context.Context, req source.ListRequest[any], yield func(source.Page[any]) error) error {
	src := s.decided()
	if src == nil {
		return errNotDecided
	}
	return crashed(src.List(ctx, req, yield))
}

// Watch implements source.Source.
func (s *lateSource) Watch(ctx context.Context, req source.WatchRequest[any], yield func([]source.Event[any]) error) error {
	src := s.decided()
	if src == nil {
		return errNotDecided
	}
	return crashed(src.Watch(ctx, req, yield))
}

// crashed returns err. If a function of the ListWatch panicked, it handles the panic as
// client-go does: it logs it, and ends the process unless utilruntime.ReallyCrash is
// false.
func crashed(err error) error {
	p, ok := errtype.As[*source.PanicError](err)
	if !ok {
		return err
	}
	func() {
		defer utilruntime.HandleCrash()
		panic(p)
	}()
	return err
}

// failingSource replaces a source that could not be made, so that its error appears where
// errors of lists do.
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
