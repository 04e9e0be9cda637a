package cache

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/client-go/util/watchlist"

	"github.com/kinglet-go/kinglet/source"
	"github.com/kinglet-go/kinglet/store"
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
// decides itself, its namespace and selectors, must be left empty.
//
// The wire is read if lw's client lets it: see source.WrapTransport. With the fast path
// disabled lw is called, its client decodes, and objects share nothing.
func newSource(lw ListerWatcher, example any, opts source.Options) (*itemSource, error) {
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
	s := &itemSource{asked: ours, unchunked: ours.DisableChunking, why: fastPathDisabled()}
	switch {
	case s.why != nil:
		opts.DisableSharing, opts.Sharing = true, nil
	case opts.Sharing == nil:
		opts.Sharing = source.OwnSharing()
	}
	if s.why == nil && ours.made != nil && ours.made.groupVersionResource().Empty() {
		s.why = errNotREST
	}
	opts.Intercept = s.why == nil
	var err error
	s.Source, err = source.FromListerWatcher[any](lw, opts)
	return s, err
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

// itemSource is the source of a ListerWatcher's objects with the keys of this package, and
// counts them in metrics. Its List and Watch are not safe for concurrent use.
type itemSource struct {
	source.Source[any]
	asked *ListWatch // see listWatchIn
	// why, if not nil, is the reason why a client decodes.
	why error
	// unchunked lists in one piece, whatever limit is requested. A sample keeps
	// its limit, and so does a probe, which requests one object for its version.
	unchunked bool

	counts *reflectorMetrics // may be nil
	meter  *meter            // may be nil
	// began and listed describe the list whose pages are being fetched.
	began  time.Time
	listed int
}

// onPath returns the OnPath for a request.
func (s *itemSource) onPath(onPath func(source.ReadPath)) func(source.ReadPath) {
	if s.why == nil || onPath == nil {
		return onPath
	}
	return func(path source.ReadPath) {
		if path.Path == source.PathClient {
			path.Why = s.why
		}
		onPath(path)
	}
}

// ReadAnswer implements source.AnswerReader.
func (s *itemSource) ReadAnswer(a source.Answer) (source.Written[any], error) {
	return answered(s.Source, a, keyedHere)
}

// answered reads an answer and calls fix with its object.
func answered(src source.Source[any], a source.Answer, fix func(*source.Item[any])) (source.Written[any], error) {
	w, err := source.ReadAnswer(src, a)
	if err == nil && !w.Unread {
		fix(&w.Item)
		err = w.Err
	}
	return w, err
}

// fixed calls fix with the items of a page.
func fixed(page source.Page[any], fix func(*source.Item[any])) source.Page[any] {
	for i := range page.Items {
		fix(&page.Items[i])
	}
	return page
}

// List implements source.Source. A list enters the store after its last page is
// returned: before the reflector's next request, or with its OnOpen.
func (s *itemSource) List(ctx context.Context, req source.ListRequest[any], yield func(source.Page[any]) error) error {
	ctx = context.WithValue(ctx, forSource{}, s.asked)
	if req.Exact {
		return s.Source.List(ctx, req, func(page source.Page[any]) error { return yield(fixed(page, keyedHere)) })
	}
	if probe := req.Once && req.Limit == 1; s.unchunked && !probe {
		req.Limit = 0
	}
	req.OnPath = s.onPath(req.OnPath)
	s.meter.settle()
	if req.Continue == "" {
		s.counts.listing()
		s.began, s.listed = time.Now(), 0
	}
	last := false
	err := crashed(s.Source.List(ctx, req, func(page source.Page[any]) error {
		s.listed += len(page.Items)
		last = !page.More && page.Continue == ""
		return yield(fixed(page, keyedHere))
	}))
	if err == nil && last {
		s.counts.listed(s.began, s.listed)
		s.meter.complete(s.listed)
	}
	return err
}

// Watch implements source.Source. Initial events count as a list, without the
// bookmark that ends them.
func (s *itemSource) Watch(ctx context.Context, req source.WatchRequest[any], yield func([]source.Event[any]) error) error {
	ctx = context.WithValue(ctx, forSource{}, s.asked)
	req.OnPath = s.onPath(req.OnPath)
	if publish := req.OnOpen; publish != nil {
		req.OnOpen = func() {
			publish()
			s.meter.settle()
		}
	} else {
		s.meter.settle()
	}
	initial := req.SendInitialEvents
	if initial {
		s.counts.listing()
	} else {
		s.counts.watching()
	}
	// items counts events since began, queued those that are not in the store yet.
	began, items, queued := time.Now(), 0, 0
	err := crashed(s.Source.Watch(ctx, req, func(events []source.Event[any]) error {
		queued += len(events)
		for i := range events {
			if events[i].Type.HasObject() {
				keyedHere(&events[i].Item)
			}
			items++
			if initial && events[i].InitialEventsEnd {
				s.counts.listed(began, items-1)
				s.counts.watching()
				began, items, initial = time.Now(), 0, false
				queued--
			}
		}
		if initial {
			return yield(events)
		}
		n := queued
		queued = 0
		return s.meter.process(n, func() error { return yield(events) })
	}))
	if !initial {
		s.counts.watched(began, items)
	}
	return err
}

// crashed returns err. If a function of the ListWatch panicked, it handles the panic as
// client-go does: it logs it, and ends the process unless utilruntime.ReallyCrash is
// false.
func crashed(err error) error {
	p, ok := errors.AsType[*source.PanicError](err)
	if !ok {
		return err
	}
	func() {
		defer utilruntime.HandleCrash()
		panic(p)
	}()
	return err
}

// keyedHere gives an item its key in this package: an object without a name has
// one too, and a name with a slash is split as keys are.
func keyedHere(it *source.Item[any]) {
	if it.Err != nil {
		if nameless, ok := errors.AsType[*source.NamelessError](it.Err); ok {
			if m, err := meta.Accessor(nameless.Object()); err == nil {
				*it = source.Item[any]{
					Key: store.Key{Namespace: m.GetNamespace()}, UID: m.GetUID(), ResourceVersion: m.GetResourceVersion(),
					Object: nameless.Object(),
				}
			}
		}
	}
	if strings.IndexByte(it.Key.Namespace, '/') >= 0 || it.Key.Namespace == "" && strings.IndexByte(it.Key.Name, '/') > 0 {
		it.Key = store.ParseKey(it.Key.String())
	}
}

// lateSource is the source of an informer that is not fully configured yet: until it
// starts, its transform may be set and its ListWatch changed.
type lateSource struct {
	lw   ListerWatcher
	name string
	// made is the resource of a ListWatch from a client.
	made schema.GroupVersionResource
	// transform may be nil.
	transform TransformFunc
	// fields are the options that say which fields objects have, and the Example.
	fields source.Options
	// whole is the source of the objects when they are read whole; nil if they never are.
	whole *lateSource
	// reduce is Traits.Reduce of the decided source before the transform.
	reduce func(obj any) (any, error)
	// checkIndex is Traits.CheckIndex before there is a decision.
	checkIndex func(index func(obj any) any) error
	// renames: objects go through a transform, which may rename them. renamed is set once
	// it has: from then on the key of an object for which the transform fails is unknown.
	renames bool
	renamed atomic.Bool
	// decision is set once, before the first List or Watch.
	decision atomic.Pointer[decision]
}

// decision is the source that was decided on, or the error of every list and watch if
// there is none.
type decision struct {
	source.Source[any]
	err error
}

var (
	errNotDecided = errors.New("the informer has not started")
	// errNoKey reports the delete of an object that has neither name nor namespace.
	// Its key is empty, like that of objects that cannot be told apart, so only a
	// list can tell what was deleted.
	errNoKey = errors.New("an object that has neither namespace nor name was deleted")
)

var informerKey = storeKeyFunc(DeletionHandlingMetaNamespaceKeyFunc)

// decide sets the source. If err is not nil, every list will fail with it. renames: src
// transforms objects.
func (s *lateSource) decide(src source.Source[any], renames bool, err error) {
	s.renames = renames
	s.decision.Store(&decision{src, err})
}

// decided returns the source that was decided on.
func (s *lateSource) decided() (source.Source[any], error) {
	d := s.decision.Load()
	if d == nil {
		return nil, errNotDecided
	}
	return d.Source, d.err
}

// String implements source.Source.
func (s *lateSource) String() string { return s.name }

// Traits implements source.Source. It returns the traits of the decided source, with
// the resource of a ListWatch from a client.
func (s *lateSource) Traits() (t source.Traits) {
	if src, err := s.decided(); err == nil {
		t = src.Traits()
		t.Reduce = s.reduce
	} else {
		t.CheckIndex, t.Secrets = s.checkIndex, true // for all that is known
	}
	if !s.made.Empty() {
		t.Resource, t.Secrets = s.made, s.made.Resource == "secrets"
	}
	t.NoWatchList = t.NoWatchList || watchlist.DoesClientNotSupportWatchListSemantics(s.lw)
	return t
}

// ReadAnswer implements source.AnswerReader.
func (s *lateSource) ReadAnswer(a source.Answer) (w source.Written[any], err error) {
	src, err := s.decided()
	if err != nil {
		return w, source.ErrNoAnswers
	}
	return answered(src, a, s.fix)
}

// List implements source.Source.
func (s *lateSource) List(ctx context.Context, req source.ListRequest[any], yield func(source.Page[any]) error) error {
	src, err := s.decided()
	if err != nil {
		return err
	}
	return src.List(ctx, req, func(page source.Page[any]) error { return yield(fixed(page, s.fix)) })
}

// Watch implements source.Source.
func (s *lateSource) Watch(ctx context.Context, req source.WatchRequest[any], yield func([]source.Event[any]) error) error {
	src, err := s.decided()
	if err != nil {
		return err
	}
	return src.Watch(ctx, req, func(events []source.Event[any]) error {
		for i := range events {
			e := &events[i]
			if e.Type.HasObject() {
				s.fix(&e.Item)
			}
			if e.Type == source.Deleted && e.Err == nil && e.Key == (store.Key{}) {
				e.Item = source.Item[any]{UID: e.UID, ResourceVersion: e.ResourceVersion, Err: errNoKey}
			}
		}
		return yield(events)
	})
}

// fix gives an item that was transformed the key of the object that it is now.
func (s *lateSource) fix(it *source.Item[any]) {
	switch {
	case it.Err != nil && s.renamed.Load():
		it.Key = store.Key{}
	case it.Err == nil && s.renames:
		if key, err := informerKey(it.Object); err == nil && key != it.Key {
			s.renamed.Store(true)
			it.Key = key
		}
	}
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
