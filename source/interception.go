package source

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/kinglet-go/kinglet/internal/errtype"
	"github.com/kinglet-go/kinglet/source/internal/connection"
	"github.com/kinglet-go/kinglet/source/internal/encoding"
	"github.com/kinglet-go/kinglet/source/internal/intercept"
)

// interception is a source's side of Options.Intercept.
type interception[T any] struct {
	opts *Options
	name string
	want expected

	mu sync.Mutex
	// requested is what the last request was for; empty before the first.
	requested schema.GroupVersionResource // guarded by mu
	// dec is for objects of gv, the group and version of the last request. A client
	// usually asks for one only.
	gv    schema.GroupVersion // guarded by mu
	dec   *decoder[T]         // guarded by mu
	route connection.Route
	// shut is why the interceptor is off, or nil. guarded by mu
	shut error
}

// call returns a new Call, or nil if the interceptor is not to be tried. honours
// reports that the ListerWatcher takes a context.
func (g *interception[T]) call(honours, watch, metadata bool, asked metav1.ListOptions) *intercept.Call {
	g.mu.Lock()
	defer g.mu.Unlock()
	if !g.opts.Intercept || g.shut != nil || !honours {
		return nil
	}
	return intercept.NewCall(watch, g.want.typ == partialType, asked, &g.route, g.opts.maxDelay(), func(resource schema.GroupVersionResource, named string) (string, error) {
		return g.accept(resource, named, watch, metadata)
	})
}

// accept returns the Accept header of a request for a resource. named are the types
// that the client's configuration limits it to.
func (g *interception[T]) accept(resource schema.GroupVersionResource, named string, watch, metadata bool) (string, error) {
	dec, err := g.decoder(resource.GroupVersion())
	if err != nil {
		return "", err
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	g.requested = resource
	return dec.codec.accept(named, watch, metadata)
}

func (g *interception[T]) decoder(gv schema.GroupVersion) (*decoder[T], error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.dec != nil && g.gv == gv {
		return g.dec, nil
	}
	dec, err := newDecoder[T](gv, g.opts)
	if err != nil {
		return nil, err
	}
	// The client gives metadata no kind, so neither does the decoder: what it
	// returns may be held, and is not written to afterwards.
	dec.codec.kind.bare = true
	g.gv, g.dec = gv, dec
	return dec, nil
}

// known returns the Sharing in use, before the first call that of the options; and what
// the last request was for, empty before the first.
func (g *interception[T]) known() (*Sharing, schema.GroupVersionResource) {
	g.mu.Lock()
	defer g.mu.Unlock()
	switch {
	case !g.opts.Intercept || g.opts.DisableSharing:
		return nil, g.requested
	case g.dec != nil:
		return g.dec.codec.sharing, g.requested
	}
	return g.opts.Sharing, g.requested
}

// left tells onPath why a call succeeded without interception. c is nil if that was not
// tried.
func (g *interception[T]) left(c *intercept.Call, onPath func(ReadPath)) {
	if !g.opts.Intercept {
		tell(onPath, PathClient, ErrNoInterceptor)
		return
	}
	g.mu.Lock()
	reason := g.shut
	g.mu.Unlock()
	switch {
	case reason != nil:
	case c != nil:
		reason = c.Reason()
	default:
		reason = fmt.Errorf("%w: the ListerWatcher takes none", ErrNotIntercepted)
	}
	tell(onPath, PathClient, &InterceptError{Source: g.name, Err: reason})
}

// close turns the interceptor off for good, and returns the error for it.
func (g *interception[T]) close(reason error) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.shut = reason
	return &InterceptError{Source: g.name, Err: reason}
}

// failing turns the interceptor off, since a closure fails on an empty response, unless
// its context has ended.
func (g *interception[T]) failing(err error) error {
	if errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return err
	}
	return g.close(fmt.Errorf("%w: it fails on an empty answer: %w", ErrPostProcessed, err))
}

// listKind returns the kind of an empty list that the client accepts as a list of
// these objects. first is the kind of the first object that came, if any came. An
// unstructured client accepts any kind.
func (k *kind[T]) listKind(gv schema.GroupVersion, first schema.GroupVersionKind) schema.GroupVersionKind {
	switch {
	case k.form == metadataOnly:
		first = partialKind
	case k.form == typed:
		first = gv.WithKind(k.want.Kind)
	case first.Kind == "":
		first = gv.WithKind("")
	}
	first.Kind += "List"
	return first
}

// otherKind returns the *KindError in err, unless that is about a Status or an
// object without a kind. It means that the closure asks for another type, and
// converts it to T.
func otherKind(err error) *KindError {
	k, ok := errtype.As[*KindError](err)
	if !ok || k.Got == encoding.StatusKind || k.Got.Kind == "" {
		return nil
	}
	return k
}

// listIntercepted reads a list. It is decoded here, on the caller's goroutine, while the
// closure waits in its client for the body to end. The last page waits for the closure
// to return, since the closure may add objects from elsewhere, or fail.
func (s *lwSource[T]) listIntercepted(ctx context.Context, p *pending[runtime.Object], a *intercept.Response, req *ListRequest[T], yield func(Page[T]) error) error {
	last, err := s.readList(ctx, a, req, yield)
	if err != nil {
		p.abandon()
		return err
	}
	res, _, err := p.wait(ctx, nil)
	if err == nil {
		err = s.complete(&last, res.value, res.err)
	}
	if err != nil {
		return failed(ctx, err)
	}
	return yield(last)
}

// readList decodes a. It yields all pages but the last, which it returns.
func (s *lwSource[T]) readList(ctx context.Context, a *intercept.Response, req *ListRequest[T], yield func(Page[T]) error) (last Page[T], err error) {
	defer func() {
		if err != nil {
			a.Finish(nil, err)
		}
	}()
	dec, err := s.interception.decoder(a.GV)
	if err != nil {
		return last, err
	}
	var first schema.GroupVersionKind
	var other *KindError
	y := yielding[Page[T]]{ctx: ctx, yield: yield}
	err = dec.list(req.metadata, a.Body, req.Held, req.OnPath, func(page Page[T]) error {
		for i := range page.Items {
			it := &page.Items[i]
			if it.Err != nil {
				if other = otherKind(it.Err); other != nil {
					return other
				}
			} else if first.Empty() {
				first = objectKind(it.Object)
			}
		}
		if page.More {
			return y.send(page)
		}
		last = page
		return nil
	})
	if other == nil && err != nil && !y.stopped {
		other = otherKind(err)
	}
	switch {
	case other != nil:
		return last, s.interception.close(fmt.Errorf("%w: %w", ErrPostProcessed, other))
	case err != nil && y.stopped:
		return last, err
	case err != nil && a.ClientClosed():
		return last, failed(ctx, fmt.Errorf("the client closed the answer: %w", err))
	case err != nil:
		return last, failed(ctx, err)
	}
	lm := metav1.ListMeta{ResourceVersion: last.ResourceVersion, Continue: last.Continue}
	if last.Remaining != 0 {
		lm.RemainingItemCount = &last.Remaining
	}
	reply, err := a.Encoding.EmptyList(dec.codec.kind.listKind(a.GV, first), lm)
	if err != nil {
		return last, err
	}
	a.Finish(reply, nil)
	return last, nil
}

// complete adds the objects that the closure returned for an empty list to the
// last page.
func (s *lwSource[T]) complete(last *Page[T], list runtime.Object, err error) error {
	var page Page[T]
	if err == nil {
		page, err = s.page(list)
	}
	if err != nil {
		return s.interception.failing(err)
	}
	if page.ResourceVersion != last.ResourceVersion {
		return s.interception.close(fmt.Errorf("%w: it returned resource version %q for a list of %q",
			ErrPostProcessed, page.ResourceVersion, last.ResourceVersion))
	}
	last.Items = append(last.Items, page.Items...)
	last.Continue, last.Remaining = page.Continue, page.Remaining
	return nil
}

// watchIntercepted reads a watch. The events are decoded here, on the caller's
// goroutine; the closure's watch stays open meanwhile, silent.
func (s *lwSource[T]) watchIntercepted(ctx context.Context, p *pending[watch.Interface], a *intercept.Response, req *WatchRequest[T], yield func([]Event[T]) error) error {
	w, err := s.silentWatch(ctx, p)
	if err != nil {
		a.Finish(nil, nil)
		return failed(ctx, err)
	}
	return s.readWatch(ctx, a, w, req, yield)
}

// silentWatch waits, at most for grace, until the closure returns its watch after its
// request was answered: a closure that first waits for an event would wait for ever.
func (s *lwSource[T]) silentWatch(ctx context.Context, p *pending[watch.Interface]) (watch.Interface, error) {
	within, cancel := context.WithTimeout(ctx, grace)
	defer cancel()
	res, _, err := p.wait(within, nil)
	switch {
	case err != nil && within.Err() != nil && ctx.Err() == nil:
		return nil, s.interception.close(fmt.Errorf("%w: it did not return its watch within %v", ErrPostProcessed, grace))
	case err != nil:
		return nil, err
	}
	if res.err != nil {
		return nil, s.interception.failing(res.err)
	}
	return res.value, nil
}

// readWatch decodes a until it ends, or w does.
func (s *lwSource[T]) readWatch(ctx context.Context, a *intercept.Response, w watch.Interface, req *WatchRequest[T], yield func([]Event[T]) error) error {
	m := monitor(w, a.Abort)
	var other *KindError
	y := yielding[[]Event[T]]{ctx: ctx, yield: yield}
	dec, err := s.interception.decoder(a.GV)
	if err == nil {
		err = dec.watch(a.Body, req.Held, req.OnPath, func(events []Event[T]) error {
			for i := range events {
				it := &events[i].Item
				if it.Err != nil && events[i].Type.HasObject() {
					if other = otherKind(it.Err); other != nil {
						return other
					}
				}
			}
			return y.send(events)
		})
	}
	ended := m.ended.Load() || a.ClientClosed()
	a.Finish(nil, nil)
	m.stop()
	switch {
	case other != nil:
		return s.interception.close(fmt.Errorf("%w: %w", ErrPostProcessed, other))
	case y.stopped:
		return err
	case ctx.Err() != nil:
		return ctx.Err()
	case m.events.Load():
		return s.interception.close(fmt.Errorf("%w: its watch sends events of its own", ErrPostProcessed))
	case ended:
		// The closure ended its watch, as it may.
		return nil
	default:
		return err
	}
}

// monitored is a watch that is expected to end without sending anything.
type monitored struct {
	w watch.Interface
	// events: it sent one. ended: its channel was closed.
	events, ended atomic.Bool
	quit, gone    chan struct{}
}

// monitor calls otherwise whenever w sends something, and when it ends, from a
// goroutine of its own that ends with stop.
func monitor(w watch.Interface, otherwise func()) *monitored {
	m := &monitored{w: w, quit: make(chan struct{}), gone: make(chan struct{})}
	go func() {
		defer close(m.gone)
		for {
			select {
			case _, ok := <-w.ResultChan():
				if ok {
					m.events.Store(true)
				} else {
					m.ended.Store(true)
				}
				otherwise()
				if !ok {
					return
				}
			case <-m.quit:
				return
			}
		}
	}()
	return m
}

// stop stops the watch and waits until it is closed, as stopWatch does.
func (m *monitored) stop() {
	stop(m.w)
	select {
	case <-m.gone:
	case <-time.After(grace): // It breaks watch.Interface's promise to close.
		close(m.quit)
		<-m.gone
	}
}
