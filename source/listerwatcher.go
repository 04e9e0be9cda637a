package source

import (
	"context"
	"errors"
	"fmt"
	"io"
	"reflect"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
)

var errNothing = errors.New("got nil and no error")

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
// Objects are those that lw returns, unchanged, and must not be modified by
// lw afterwards. An object that is no T, or not of the type and kind of
// Options.Example, becomes an item with an *ItemError of a *KindError, and the
// stream goes on; an interface T without an Example takes every object that
// has metadata. The number of bytes received is unknown. With Options.Interceptor the
// source reads the answers itself where it can; Interceptor says when.
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
	if len(opts.Drop) > 0 && opts.Interceptor == nil {
		errs = append(errs, errors.New("a ListerWatcher's objects are decoded already, so Drop needs an Interceptor; a transform does without"))
	}
	if opts.OwnConnection {
		errs = append(errs, errors.New("OwnConnection: a ListerWatcher brings its connections; use FromConfig"))
	}
	if err := errors.Join(errs...); err != nil {
		return nil, fmt.Errorf("source of %s: %w", reflect.TypeFor[T](), err)
	}
	s := &lwSource[T]{lw: lw, opts: opts, want: want, name: opts.describe(want.String())}
	s.interception = interception[T]{interceptor: opts.Interceptor, opts: &s.opts, name: s.name, want: want}
	return s, nil
}

type lwSource[T any] struct {
	lw           ListerWatcher
	opts         Options
	want         expected
	name         string
	interception interception[T]
}

// String implements Source.
func (s *lwSource[T]) String() string { return s.name }

// Traits implements Source. Only what is read through an interceptor is shared.
func (s *lwSource[T]) Traits() Traits[T] {
	fake, ok := s.lw.(noWatchList)
	return Traits[T]{
		NoWatchList: ok && fake.IsWatchListSemanticsUnSupported(),
		ReportsOpen: true,
		Sharing:     s.opts.Sharing, DisableSharing: s.opts.DisableSharing,
		Shared: s.interception.shared, Requested: s.interception.resource,
		Sample:     s.sample,
		Whole:      s.opts.Narrows != nil && s.collection().whole(),
		ReadAnswer: s.readAnswer,
	}
}

// collection returns the options that decide what the collection covers.
func (s *lwSource[T]) collection() *Options {
	opts := s.opts
	if narrows := s.opts.Narrows; narrows != nil {
		opts.Namespace = narrows(&metav1.ListOptions{})
		modify := opts.Modify
		opts.Modify = func(lo *metav1.ListOptions) {
			if modify != nil {
				modify(lo)
			}
			narrows(lo)
		}
	}
	return &opts
}

// List implements Source. It yields one page, or through an interceptor as many as the
// decoder does.
func (s *lwSource[T]) List(ctx context.Context, req ListRequest[T], yield func(Page[T]) error) error {
	lo := listOptions(&s.opts, req)
	if lo.Limit == 0 && lo.ResourceVersionMatch == metav1.ResourceVersionMatchNotOlderThan {
		// Without a limit, no match means the same, and closures that look at
		// their options know it.
		lo.ResourceVersionMatch = ""
	}
	call := func() (runtime.Object, error) { return s.lw.List(lo) }
	cl, honours := s.lw.(contextLister)
	if s.interception.open(honours) {
		return s.listIntercepted(ctx, cl, lo, &req, yield)
	}
	if honours {
		call = func() (runtime.Object, error) { return cl.ListWithContext(ctx, lo) }
	}
	list, err := await(ctx, honours, call, func(runtime.Object) {}, nil)
	if err != nil {
		return failed(ctx, err)
	}
	s.interception.left(missed(honours), req.OnPath)
	return s.deliver(ctx, list, yield)
}

// deliver yields what lw returned.
func (s *lwSource[T]) deliver(ctx context.Context, list runtime.Object, yield func(Page[T]) error) error {
	page, err := s.page(list)
	if err != nil {
		return failed(ctx, err)
	}
	return yield(page)
}

func (s *lwSource[T]) page(list runtime.Object) (Page[T], error) {
	var page Page[T]
	if list == nil {
		return page, errNothing
	}
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

// Watch implements Source.
func (s *lwSource[T]) Watch(ctx context.Context, req WatchRequest[T], yield func([]Event[T]) error) error {
	lo := watchOptions(&s.opts, req)
	lo.Watch = false // lw's to set, as every client does
	call := func() (watch.Interface, error) { return s.lw.Watch(lo) }
	cw, honours := s.lw.(contextWatcher)
	if s.interception.open(honours) {
		return s.watchIntercepted(ctx, cw, lo, &req, yield)
	}
	if honours {
		call = func() (watch.Interface, error) { return cw.WatchWithContext(ctx, lo) }
	}
	began := time.Now()
	w, err := s.open(ctx, honours, call, &req)
	return s.relay(ctx, w, err, &req, time.Since(began), yield)
}

// open returns what call does, and reports that it has opened a watch.
func (s *lwSource[T]) open(ctx context.Context, honours bool, call func() (watch.Interface, error), req *WatchRequest[T]) (watch.Interface, error) {
	o := newOpening(req.OnOpen)
	defer o.leave()
	w, err := await(ctx, honours, call, stopWatch, o)
	if err == nil && w != nil {
		o.end()
		s.interception.left(missed(honours), req.OnPath)
	}
	return w, err
}

// relay yields what comes from w, which lw returned with err after took.
//
// If a connection is closed, client-go's clients try again, and at last return a watch
// that is empty and closed. That is no watch that the server has ended, but if it took
// long, a reflector cannot know.
func (s *lwSource[T]) relay(ctx context.Context, w watch.Interface, err error, req *WatchRequest[T], took time.Duration, yield func([]Event[T]) error) error {
	if err == nil && w == nil {
		err = errNothing
	}
	if err != nil {
		return failed(ctx, err)
	}
	defer stopWatch(w)
	if req.SendInitialEvents && isFake(w) {
		if open, err := s.beginFake(ctx, w, req, yield); !open || err != nil {
			return err
		}
	}
	var batch []Event[T]
	opened, empty := time.Now(), took > openPatience
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
// may be waiting for a reader.
func stopWatch(w watch.Interface) {
	if w == nil {
		return
	}
	w.Stop()
	timer := time.NewTimer(grace)
	defer timer.Stop()
	for {
		select {
		case _, ok := <-w.ResultChan():
			if !ok {
				return
			}
		case <-timer.C:
			// It breaks watch.Interface's promise to close.
			return
		}
	}
}
