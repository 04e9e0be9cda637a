package source

import (
	"context"
	"errors"
	"fmt"
	"sync"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/kinglet-go/kinglet/internal/wire/formats"
)

// Preferred asks one source as long as that can read the answers, and from then
// on another one of the same collection. Make one with Prefer.
type Preferred[T any] struct {
	first, second Source[T]

	mu    sync.Mutex
	stats PreferStats // guarded by mu
}

// PreferOptions are the options of Prefer. The zero value is for two sources
// that both work.
type PreferOptions struct {
	// Missing is the reason why first is nil: the error of its constructor, for
	// example. The second source is then asked from the beginning, and Stats has
	// this reason.
	Missing error
}

// PreferStats are a Preferred's figures so far.
type PreferStats struct {
	// First and Second count the lists and watches that each was asked for. A
	// request that the first began and the second answered counts for both.
	First, Second int64
	// Reason is a *FallbackError that says why the first is no longer asked, or
	// nil.
	Reason error
}

// FallbackError says why a Preferred no longer asks its first source. List or
// Watch return it if the first had already yielded something of that request;
// the next request goes to the second.
type FallbackError struct {
	// Source is the first source's String, or the second's if there is no
	// first.
	Source string
	Err    error
}

func (e *FallbackError) Error() string {
	return fmt.Sprintf("%s: read the ordinary way from now on: %v", e.Source, e.Err)
}

// Unwrap returns the reason.
func (e *FallbackError) Unwrap() error { return e.Err }

// Prefer returns a source that asks first until it meets something that first
// cannot read and another client may, and asks second from then on, for good.
// Both have to be sources of the same collection of one server, with the same
// selectors, so that a resource version or a continue token of one means the
// same to the other: FromREST and FromListerWatcher of the same client. Objects
// of either may be held while the other is asked.
//
// What makes it fall back:
//
//   - an object, a list or a bookmark of another kind (*KindError): the
//     client's decoder may convert it, or know the Go type by another name. If
//     not, it reports the same item again, and only speed is lost.
//   - an answer in an encoding that first does not read (ErrEncoding), or an
//     object in one that its type does not support.
//   - 406 Not Acceptable and 415 Unsupported Media Type: the server does not
//     speak what first asks for.
//
// All other errors are returned: asking another source would not help.
//
// Nothing is yielded twice. If first had yielded nothing of the request, the same
// call asks second; otherwise the call fails with a *FallbackError, and a
// reflector asks again. An idle Preferred costs nothing beyond its sources, a busy
// one a check of each item's Err.
func Prefer[T any](first, second Source[T], opts PreferOptions) (*Preferred[T], error) {
	var errs []error
	if second == nil {
		errs = append(errs, errors.New("no second source"))
	}
	if first == nil && opts.Missing == nil {
		errs = append(errs, errors.New("no first source, and Missing does not say why"))
	}
	if first != nil && opts.Missing != nil {
		errs = append(errs, fmt.Errorf("there is a first source, and it is missing: %w", opts.Missing))
	}
	if err := errors.Join(errs...); err != nil {
		return nil, fmt.Errorf("prefer: %w", err)
	}
	p := &Preferred[T]{first: first, second: second}
	if first == nil {
		p.first = second
		p.stats.Reason = &FallbackError{Source: second.String(), Err: opts.Missing}
	}
	return p, nil
}

// Stats returns the figures so far. It is safe for concurrent use.
func (p *Preferred[T]) Stats() PreferStats {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.stats
}

// String implements Source.
func (p *Preferred[T]) String() string { return p.first.String() }

// Traits implements Source. Both sources ask the same server, so NoWatchList of
// either is enough. The sharing is the first source's.
func (p *Preferred[T]) Traits() Traits[T] {
	first, second := p.first.Traits(), p.second.Traits()
	t := first
	if p.Stats().Reason != nil {
		t.Sample, t.ReadAnswer = second.Sample, second.ReadAnswer
	}
	if t.Resource.Empty() {
		t.Resource = second.Resource
	}
	if t.Requested == nil {
		t.Requested = second.Requested
	}
	if t.Shared == nil {
		t.Shared = second.Shared
	}
	t.NoWatchList = first.NoWatchList || second.NoWatchList
	return t
}

// List implements Source.
func (p *Preferred[T]) List(ctx context.Context, req ListRequest[T], yield func(Page[T]) error) error {
	if p.asksFirst() {
		a := attempt[Page[T]]{yield: yield, unreadable: unreadablePage[T]}
		again, err := p.settle(ctx, a.outcome(p.first.List(ctx, req, a.take)))
		if !again {
			return err
		}
	}
	req.OnPath = p.asksSecond(req.OnPath)
	return p.second.List(ctx, req, yield)
}

// Watch implements Source.
func (p *Preferred[T]) Watch(ctx context.Context, req WatchRequest[T], yield func([]Event[T]) error) error {
	again, err := p.watchFirst(ctx, &req, yield)
	if !again {
		return err
	}
	req.OnPath = p.asksSecond(req.OnPath)
	return p.second.Watch(ctx, req, yield)
}

func (p *Preferred[T]) watchFirst(ctx context.Context, req *WatchRequest[T], yield func([]Event[T]) error) (again bool, err error) {
	if !p.asksFirst() {
		return true, nil
	}
	a := attempt[[]Event[T]]{yield: yield, unreadable: unreadableBatch[T]}
	return p.settle(ctx, a.outcome(p.first.Watch(ctx, *req, a.take)))
}

// asksFirst reports whether to ask the first source, and counts that request.
func (p *Preferred[T]) asksFirst() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.stats.Reason != nil {
		return false
	}
	p.stats.First++
	return true
}

// asksSecond counts a request to the second source, and returns the OnPath for
// it. That adds the reason why the first source was left to a PathClient.
func (p *Preferred[T]) asksSecond(onPath func(ReadPath)) func(ReadPath) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.stats.Second++
	reason := p.stats.Reason
	if onPath == nil {
		return nil
	}
	return func(path ReadPath) {
		switch {
		case path.Path != PathClient:
		case path.Lost():
			path.Why = fmt.Errorf("%w; %w", reason, path.Why)
		default:
			path.Why = reason
		}
		onPath(path)
	}
}

// settle evaluates an attempt: if again, the second source is asked for the same,
// otherwise err is returned.
func (p *Preferred[T]) settle(ctx context.Context, o outcome) (again bool, err error) {
	if o.unreadable == nil {
		return false, o.err
	}
	reason := &FallbackError{Source: p.first.String(), Err: o.unreadable}
	p.mu.Lock()
	p.stats.Reason = reason
	p.mu.Unlock()
	switch {
	case ctx.Err() != nil:
		return false, ctx.Err()
	case o.yielded:
		return false, reason
	}
	return true, nil
}

// attempt is one request to the first source. V is what it yields.
type attempt[V any] struct {
	yield func(V) error
	// unreadable returns why the first source cannot read what is in a V.
	unreadable func(V) error

	reason           error
	yielded, refused bool
}

// outcome is the result of an attempt.
type outcome struct {
	err error
	// unreadable is why the first source is no longer asked, or nil.
	unreadable error
	// yielded: something of the request was passed on.
	yielded bool
}

// take passes v on, unless something in it cannot be read. Then it drops all of
// v: the second source requests it again.
func (a *attempt[V]) take(v V) error {
	if a.reason = a.unreadable(v); a.reason != nil {
		return a.reason
	}
	a.yielded = true
	err := a.yield(v)
	a.refused = err != nil
	return err
}

// outcome returns the outcome of an attempt whose call returned err.
func (a *attempt[V]) outcome(err error) outcome {
	o := outcome{err: err, unreadable: a.reason, yielded: a.yielded}
	if o.unreadable == nil && err != nil && !a.refused && unreadable(err) {
		o.unreadable = err
	}
	return o
}

// unreadable reports whether another client may succeed where err occurred.
func unreadable(err error) bool {
	return otherKind(err) != nil ||
		errors.Is(err, ErrEncoding) || errors.Is(err, formats.ErrNone) ||
		apierrors.IsNotAcceptable(err) || apierrors.IsUnsupportedMediaType(err)
}

func unreadablePage[T any](page Page[T]) error {
	for i := range page.Items {
		if err := page.Items[i].Err; err != nil && unreadable(err) {
			return err
		}
	}
	return nil
}

func unreadableBatch[T any](events []Event[T]) error {
	for i := range events {
		// An Error event is for the reflector.
		if e := &events[i]; e.Err != nil && e.Type != Error && unreadable(e.Err) {
			return e.Err
		}
	}
	return nil
}
