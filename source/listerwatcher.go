package source

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/url"
	"reflect"
	"runtime/debug"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/kinglet-go/kinglet/source/internal/encoding"
)

var (
	errNothing = errors.New("got nil and no error")
	errNilItem = errors.New("got nil where an object was due")
)

// ListerWatcher is client-go's interface of that name. Its ListWatch, those of
// generated, dynamic and metadata informers, and fakes implement it.
type ListerWatcher interface {
	List(options metav1.ListOptions) (runtime.Object, error)
	Watch(options metav1.ListOptions) (watch.Interface, error)
}

// contextLister and contextWatcher are implemented by a ListerWatcher that takes
// a context.
type contextLister interface {
	ListWithContext(ctx context.Context, options metav1.ListOptions) (runtime.Object, error)
}

type contextWatcher interface {
	WatchWithContext(ctx context.Context, options metav1.ListOptions) (watch.Interface, error)
}

// noWatchList is client-go's form of Traits.NoWatchList; its fakes implement it.
type noWatchList interface {
	IsWatchListSemanticsUnSupported() bool
}

const (
	// drainEvents is the most events in a batch of those that wait already.
	drainEvents = 128
	// grace is how long to wait for a call or watch that was told to end. It only
	// runs out if that ignores its context or its Stop.
	grace = time.Second
)

// FromListerWatcher returns a source that asks lw, through ListWithContext and
// WatchWithContext where lw has them. Selectors are passed on in the options
// of each request; the namespace is lw's own, so Options.Namespace is refused.
//
// Objects are those that lw returns, or copies without what Options leave out, and must
// not be modified by lw afterwards. An object that is no T, or not of the type and kind of
// Options.Example, becomes an item with an *ItemError of a *KindError, and the
// stream goes on; an interface T without an Example takes every object that
// has metadata. The number of bytes received is unknown. With Options.Intercept the
// source reads the answers itself where it can; WrapTransport says when.
//
// A call that panics fails with a *PanicError. A fake clientset sends no end of initial
// events: if lw does not say so of itself, as client-go's ListWatch of such a client does,
// a list is sent for them after a tenth of a second.
//
// When ctx ends, List and Watch return at once; if lw took the context, they wait
// for lw to return, but no longer than a second. A call that ignores its context
// is left behind, and a watch that it returns later is stopped. A watch is always
// stopped, and read until it is closed, for a second at most.
func FromListerWatcher[T any](lw ListerWatcher, opts Options) (Source[T], error) {
	var errs []error
	if lw == nil {
		errs = append(errs, errors.New("no ListerWatcher"))
	}
	errs = append(errs, opts.validate())
	want, err := expect[T](opts.Example)
	errs = append(errs, err)
	if opts.Namespace != "" {
		errs = append(errs, fmt.Errorf("namespace %q cannot be asked of a ListerWatcher: make one for that namespace", opts.Namespace))
	}
	if opts.leavesOut() {
		errs = append(errs, want.leaveOut(&opts))
	}
	if err := errors.Join(errs...); err != nil {
		return nil, fmt.Errorf("source of %s: %w", reflect.TypeFor[T](), err)
	}
	s := &lwSource[T]{lw: lw, opts: opts, want: want, name: opts.describe(want.String())}
	s.whole = sync.OnceValue(func() bool { return opts.Narrows != nil && s.collection().whole() })
	s.traits = Traits{ReportsOpen: true, ExactLists: true, Sharing: opts.Sharing, DisableSharing: opts.DisableSharing}
	if want.selection != nil {
		s.traits.CheckIndex = s.opts.IndexCheck(reflect.New(want.typ.Elem()).Interface())
	}
	if want.selection != nil && want.selection.whole != nil {
		s.traits.Reduce = want.selection.reduced
	}
	s.lister = wholeLister[T]{list: s.list}
	if opts.Intercept {
		s.lister.selection = want.selection
	}
	s.interception = interception[T]{opts: &s.opts, name: s.name, want: want}
	return s, nil
}

type lwSource[T any] struct {
	lw           ListerWatcher
	opts         Options
	want         expected
	name         string
	interception interception[T]
	// traits are those that do not change, and whole returns Traits.Whole.
	traits Traits
	whole  func() bool
	lister wholeLister[T]
}

func (s *lwSource[T]) String() string { return s.name }

// Traits implements Source. Only what is read through an interceptor is shared.
func (s *lwSource[T]) Traits() Traits {
	fake, ok := s.lw.(noWatchList)
	t := s.traits
	t.NoWatchList = ok && fake.IsWatchListSemanticsUnSupported() || s.lister.selection != nil && s.lister.labels != nil
	t.Whole = s.whole()
	t.Shared, t.Resource = s.interception.known()
	t.Secrets = s.want.mayBe(t.Resource.Resource)
	return t
}

// collection returns the options that decide what the collection covers.
func (s *lwSource[T]) collection() *Options {
	opts := s.opts
	if opts.Narrows != nil {
		lo := metav1.ListOptions{LabelSelector: opts.LabelSelector, FieldSelector: opts.FieldSelector}
		opts.Namespace = opts.Narrows(&lo)
		opts.LabelSelector, opts.FieldSelector = lo.LabelSelector, lo.FieldSelector
	}
	return &opts
}

// List implements Source. It yields one page, or through an interceptor as many as the
// decoder does.
func (s *lwSource[T]) List(ctx context.Context, req ListRequest[T], yield func(Page[T]) error) error {
	return s.lister.List(ctx, req, yield)
}

// list calls lw, and again if a refusal passed the interceptor, which kept it from the client.
func (s *lwSource[T]) list(ctx context.Context, req ListRequest[T], yield func(Page[T]) error) error {
	lo := listOptions(&s.opts, req)
	if lo.Limit == 0 && lo.ResourceVersionMatch == metav1.ResourceVersionMatchNotOlderThan {
		// Without a limit, no match means the same, and closures that look at
		// their options know it.
		lo.ResourceVersionMatch = ""
	}
	cl, honours := s.lw.(contextLister)
	call := func(ctx context.Context) (runtime.Object, error) {
		if honours {
			return cl.ListWithContext(ctx, lo)
		}
		return s.lw.List(lo)
	}
	return repeated(ctx, req.Once, func() (after time.Duration, err error) {
		if err := ctx.Err(); err != nil {
			return 0, err
		}
		c := s.interception.call(honours, false, req.metadata, lo)
		p := begin(ctx, c, honours, call, func(runtime.Object) {})
		defer p.leave()
		err = s.listed(ctx, p, &req, yield)
		return c.RetryAfter(), err
	})
}

// listed yields what a call of lw lists.
func (s *lwSource[T]) listed(ctx context.Context, p *pending[runtime.Object], req *ListRequest[T], yield func(Page[T]) error) error {
	res, a, err := p.wait(ctx, nil)
	switch {
	case err != nil:
		return failed(ctx, err)
	case a != nil:
		return s.listIntercepted(ctx, p, a, req, yield)
	case res.err != nil:
		return failed(ctx, res.err)
	}
	s.interception.left(p.intercepted, req.OnPath)
	page, err := guard(func() (Page[T], error) { return s.page(res.value) })
	if err != nil {
		return failed(ctx, err)
	}
	return yield(page)
}

func (s *lwSource[T]) page(list runtime.Object) (Page[T], error) {
	var page Page[T]
	if status, ok := list.(*metav1.Status); ok {
		return page, statusError(status)
	}
	lm, err := meta.ListAccessor(list)
	if err != nil {
		return page, fmt.Errorf("%T is no list: %w", list, err)
	}
	page.ResourceVersion = lm.GetResourceVersion()
	page.Continue = lm.GetContinue()
	if n := lm.GetRemainingItemCount(); n != nil {
		page.Remaining = *n
	}
	page.Items = make([]Item[T], 0, meta.LenList(list))
	// Each item has its own allocation, so that one object that is kept does not
	// keep the whole list alive.
	err = meta.EachListItemWithAlloc(list, func(obj runtime.Object) error {
		page.Items = append(page.Items, objectOf[T](obj, &s.want))
		return nil
	})
	if err != nil {
		return page, fmt.Errorf("the items of %T: %w", list, err)
	}
	return page, nil
}

func (s *lwSource[T]) Watch(ctx context.Context, req WatchRequest[T], yield func([]Event[T]) error) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	lo := watchOptions(&s.opts, req)
	lo.Watch = false // lw's to set, as every client does
	cw, honours := s.lw.(contextWatcher)
	call := func(ctx context.Context) (w watch.Interface, err error) {
		if honours {
			w, err = cw.WatchWithContext(ctx, lo)
		} else {
			w, err = s.lw.Watch(lo)
		}
		if err == nil && !isNil(w) {
			w.ResultChan() // a panic of it is one of the call
		}
		return w, err
	}
	began := time.Now()
	p := begin(ctx, s.interception.call(honours, true, false, lo), honours, call, func(w watch.Interface) { _ = stopWatch(w) })
	defer p.leave()
	res, a, err := p.wait(ctx, req.OnOpen)
	switch {
	case err != nil && ctx.Err() != nil:
		return &url.Error{Op: "Watch", URL: s.name, Err: err} // lw has not returned
	case err != nil:
		return err
	case a != nil:
		return s.watchIntercepted(ctx, p, a, &req, yield)
	case res.err != nil:
		return failed(ctx, res.err)
	}
	s.interception.left(p.intercepted, req.OnPath)
	return s.relay(ctx, res.value, &req, time.Since(began), yield)
}

// relay yields what comes from w, which lw returned after took.
//
// If a connection is closed, client-go's clients try again, and at last return a watch
// that is empty and closed, after ten waits of a second. That is no watch that the server has
// ended, but if it took long, a reflector cannot know.
func (s *lwSource[T]) relay(ctx context.Context, w watch.Interface, req *WatchRequest[T], took time.Duration, yield func([]Event[T]) error) (err error) {
	defer func() {
		if stop := stopWatch(w); stop != nil {
			err = stop
		}
	}()
	if req.SendInitialEvents && isFake(w) {
		if open, err := s.beginFake(ctx, w, req, yield); !open || err != nil {
			return err
		}
	}
	var batch []Event[T]
	opened, empty := time.Now(), took > openPatience && took < req.Timeout/2
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case e, ok := <-w.ResultChan():
			switch {
			case ok:
				empty = false
			case empty && ctx.Err() == nil && time.Since(opened) < openPatience:
				return fmt.Errorf("no watch was opened within %v: %w", took, io.ErrUnexpectedEOF)
			default:
				return ctx.Err()
			}
			batch = append(batch, eventOf[T](e, &s.want))
		}
		open := true
		for open && len(batch) < drainEvents {
			var e watch.Event
			select {
			case e, open = <-w.ResultChan():
				if open {
					batch = append(batch, eventOf[T](e, &s.want))
				}
				continue
			default:
			}
			break
		}
		// Received events are delivered even if ctx has ended meanwhile.
		if err := yield(batch); err != nil {
			return err
		}
		batch = reuse(batch)
		if !open {
			return nil
		}
	}
}

// stopWatch stops w and reads it until it is closed, at most for grace: its sender
// may be waiting for a reader. The error is a *PanicError.
func stopWatch(w watch.Interface) error {
	events, stopped, late := w.ResultChan(), stop(w), time.After(grace)
	for events != nil || stopped != nil {
		select {
		case _, ok := <-events:
			if !ok {
				events = nil
			}
		case err := <-stopped:
			if err != nil {
				return err
			}
			stopped = nil
		case <-late:
			// It breaks watch.Interface's promise to close.
			return nil
		}
	}
	return nil
}

// stop stops w on a goroutine, and returns where the result is sent, a *PanicError at most. The
// Stop of client-go's watches waits for the first byte of an answer with gzip in Go 1.26, which
// may never come.
func stop(w watch.Interface) <-chan error {
	stopped := make(chan error, 1)
	go func() {
		_, err := guard(func() (struct{}, error) { w.Stop(); return struct{}{}, nil })
		stopped <- err
	}()
	return stopped
}

// objectOf returns the item of an object that lw returned, whose methods may panic.
func objectOf[T any](obj runtime.Object, want *expected) (it Item[T]) {
	defer func() {
		if v := recover(); v != nil {
			it = brokenItem[T](StageDecode, encoding.Identity{}, &PanicError{Value: v, Stack: debug.Stack()})
		}
	}()
	t, ok := obj.(T)
	err := want.check(obj)
	switch {
	case err != nil:
	case isNil(obj):
		err = errNilItem
	case !ok:
		err = &KindError{WantType: reflect.TypeFor[T](), GotType: reflect.TypeOf(obj)}
	case want.selection == nil:
		return ItemOf(t)
	default:
		// It is lw's, which may hold it: client-go's fakes do.
		if t, err = copied[T](obj, want); err == nil {
			return ItemOf(t)
		}
	}
	return brokenItem[T](StageDecode, identityOf(obj), err)
}

// identityOf returns as much as there is of the identity of an object, which may be nil.
func identityOf(obj runtime.Object) (id encoding.Identity) {
	if m, err := meta.Accessor(obj); err == nil && !isNil(obj) {
		id.Key, _ = metaKey(m)
		id.UID, id.Version = m.GetUID(), m.GetResourceVersion()
	}
	return id
}

// eventOf converts an event that lw's watch sent, of an object whose methods may panic.
func eventOf[T any](in watch.Event, want *expected) (e Event[T]) {
	defer func() {
		if v := recover(); v != nil {
			e = Event[T]{Type: Unknown}
			if in.Type == watch.Error {
				e.Type = Error
			}
			e.Err = &PanicError{Value: v, Stack: debug.Stack()}
		}
	}()
	e.Type = eventType(string(in.Type))
	status, _ := in.Object.(*metav1.Status)
	switch {
	case e.Type == Unknown:
		e.Item = identified[T](identityOf(in.Object))
		e.Err = unknownType(string(in.Type))
	case in.Object == nil || isNil(in.Object):
		e.noObject(nil)
	case e.Type == Error && status == nil:
		e.Err = otherError(in.Object)
	case e.Type == Error || status != nil:
		e.Type = Error
		e.Err = apierrors.FromObject(in.Object)
	case e.Type == Bookmark:
		m, err := meta.Accessor(in.Object)
		if err == nil {
			err = want.check(in.Object)
		}
		if err != nil {
			m = &metav1.ObjectMeta{}
		}
		e.bookmark(m, err)
	default:
		e.Item = objectOf[T](in.Object, want)
	}
	return e
}

// fakePatience is how long a fake may take to send the end of its initial events, in
// case the test that drives it does.
const fakePatience = 100 * time.Millisecond

// isFake reports whether w is a watch of client-go's fake clientsets, or one that a test
// drives. By itself it never sends the end of initial events: a reflector would wait for
// it, and client-go's waits for ever.
func isFake(w watch.Interface) bool {
	switch w.(type) {
	case *watch.FakeWatcher, *watch.RaceFreeFakeWatcher:
		return true
	}
	return false
}

// beginFake yields the initial events of a fake. If their end does not come, nor any bookmark,
// which a fake clientset never sends, it lists, and yields the list as the initial events. It does not open another watch: the fake may
// have one only, and sends on no other what was deleted in between. It returns false if w
// was closed.
func (s *lwSource[T]) beginFake(ctx context.Context, w watch.Interface, req *WatchRequest[T], yield func([]Event[T]) error) (open bool, err error) {
	timer := time.NewTimer(fakePatience)
	defer timer.Stop()
	for {
		select {
		case e, ok := <-w.ResultChan():
			if !ok {
				return false, ctx.Err()
			}
			event := eventOf[T](e, &s.want)
			if event.Type == Bookmark {
				timer.Stop()
			}
			if err := yield([]Event[T]{event}); err != nil || event.InitialEventsEnd {
				return true, err
			}
		case <-timer.C:
			list := ListRequest[T]{ResourceVersion: req.ResourceVersion, NotOlderThan: req.ResourceVersion != "", Held: req.Held, OnPath: req.OnPath}
			return true, s.List(ctx, list, func(page Page[T]) error { return yield(initialEvents(page)) })
		case <-ctx.Done():
			return false, ctx.Err()
		}
	}
}

// initialEvents returns a whole list as initial events and their end.
func initialEvents[T any](page Page[T]) []Event[T] {
	events := make([]Event[T], 0, len(page.Items)+1)
	for _, item := range page.Items {
		events = append(events, Event[T]{Type: Added, Item: item})
	}
	end := Event[T]{Type: Bookmark, InitialEventsEnd: true}
	end.ResourceVersion = page.ResourceVersion
	return append(events, end)
}
