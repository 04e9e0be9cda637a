package cache

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strconv"
	"sync/atomic"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/client-go/util/watchlist"

	"github.com/kinglet-go/kinglet/internal/errtype"
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
// The wire is read if lw's client lets it: see source.WrapTransport. With the fast path
// disabled lw is called, its client decodes, and objects share nothing.
func newSource(lw ListerWatcher, example any, opts source.Options, transform TransformFunc) (*itemSource, error) {
	if lw == nil {
		return nil, errNoListerWatcher
	}
	if obj, ok := example.(runtime.Object); ok {
		opts.Example = obj
	}
	ours := listWatchIn(lw)
	if made := ours.made; made != nil {
		opts.Narrows = func(lo *metav1.ListOptions) string {
			if made.modify != nil {
				made.modify(lo)
			}
			return made.namespace
		}
	}
	s := &itemSource{unchunked: ours.DisableChunking, transform: transform, why: clientDecodes(lw), fixes: []itemFix{keyedHere}}
	switch {
	case fastPathDisabled() != nil:
		opts.DisableSharing, opts.Sharing = true, nil
	case opts.Sharing == nil:
		opts.Sharing = source.OwnSharing()
	}
	if s.why == nil {
		opts.Intercept = true
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

// decision is the source that was decided on.
type decision struct{ source.Source[any] }

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
	s.decision.Store(&decision{src})
}

// decided returns the source that was decided on, or nil.
func (s *lateSource) decided() source.Source[any] {
	if d := s.decision.Load(); d != nil {
		return d.Source
	}
	return nil
}

// String implements source.Source.
func (s *lateSource) String() string { return s.name }

// Traits implements source.Source. It returns the traits of the decided source, with
// the resource of a ListWatch from a client.
func (s *lateSource) Traits() (t source.Traits) {
	if d := s.decision.Load(); d != nil {
		t = d.Traits()
	}
	if !s.made.Empty() {
		t.Resource = s.made
	}
	t.NoWatchList = watchlist.DoesClientNotSupportWatchListSemantics(s.lw)
	return t
}

// ReadAnswer implements source.AnswerReader.
func (s *lateSource) ReadAnswer(a source.Answer) (w source.Written[any], err error) {
	if src := s.decided(); src != nil {
		return source.ReadAnswer(src, a)
	}
	return w, source.ErrNoAnswers
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

func (s failingSource) Traits() source.Traits { return source.Traits{} }

func (s failingSource) List(context.Context, source.ListRequest[any], func(source.Page[any]) error) error {
	return s.err
}

func (s failingSource) Watch(context.Context, source.WatchRequest[any], func([]source.Event[any]) error) error {
	return s.err
}

// transformed adapts f to a source, which calls it once for each version of an
// object from the server, before anything else sees it. f may return any type
// that has object metadata. It may rename the object, which is stored under the
// new name then: f must return the same name for every version, also the deleted
// one. An object for which f fails is quarantined: the last good version stays,
// and the failure is reported.
func transformed(f TransformFunc) func(any) (any, error) {
	return func(obj any) (any, error) {
		out, err := f(obj)
		if err != nil {
			return nil, err
		}
		if _, err := meta.Accessor(out); err != nil {
			return nil, fmt.Errorf("the transform returned a %T: %w", out, err)
		}
		return out, nil
	}
}
