package source

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/kinglet-go/kinglet/source/internal/intercept"
)

// watchIntercepted is Watch for a source with an interceptor. The events are decoded here,
// on the caller's goroutine; the closure's watch stays open meanwhile, silent.
func (s *lwSource[T]) watchIntercepted(ctx context.Context, lw contextWatcher, lo metav1.ListOptions, req *WatchRequest[T], yield func([]Event[T]) error) error {
	call := s.interception.call(true, lo)
	defer call.End()
	within, cancel := call.InContext(ctx)
	defer cancel()
	if err := ctx.Err(); err != nil {
		return err
	}
	began := time.Now()
	p := begin(func() (watch.Interface, error) { return lw.WatchWithContext(within, lo) }, stopWatch)
	defer p.leave()
	res, a, err := opened(ctx, p, call, newOpening(req.OnOpen))
	switch {
	case err != nil:
		cancel()
		p.settle()
		return failed(ctx, err)
	case res != nil:
		res.err = call.Refusal(res.err)
		if res.err == nil && res.value != nil {
			s.interception.left(call.Reason(), req.OnPath)
		}
		return s.relay(ctx, res.value, res.err, req, time.Since(began), yield)
	case a == nil:
		p.settle()
		return ctx.Err()
	}
	w, err := s.silentWatch(ctx, p, func() { a.Finish(nil, nil); cancel() })
	if err != nil {
		return failed(ctx, err)
	}
	s.interception.interceptor.read()
	return s.readWatch(ctx, a, w, req, yield)
}

// opened waits until p returns, or its request was answered or failed, or ctx ends; it
// returns nothing then. It reports the first two to o.
func opened(ctx context.Context, p *pending[watch.Interface], call *intercept.Call, o *opening) (*result[watch.Interface], *intercept.Response, error) {
	defer o.leave()
	for {
		select {
		case res := <-p.results:
			if res.err == nil && res.value != nil {
				o.end()
			}
			return &res, nil, nil
		case a := <-call.Responses:
			o.end()
			return nil, a, nil
		case err := <-call.Failures:
			return nil, nil, err
		case <-o.expired():
			o.end()
		case <-ctx.Done():
			return nil, nil, nil
		}
	}
}

// silentWatch waits, at most for grace, until the closure returns its watch after
// its request was answered: a closure that first waits for an event would wait
// for ever. If there is no watch it calls giveUp.
func (s *lwSource[T]) silentWatch(ctx context.Context, p *pending[watch.Interface], giveUp func()) (watch.Interface, error) {
	timer := time.NewTimer(grace)
	defer timer.Stop()
	select {
	case res := <-p.results:
		err := res.err
		if err == nil && res.value == nil {
			err = errNothing
		}
		if err == nil {
			return res.value, nil
		}
		giveUp()
		if errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
			return nil, err
		}
		return nil, s.interception.close(fmt.Errorf("%w: it fails on an empty answer: %w", ErrPostProcessed, err))
	case <-timer.C:
		giveUp()
		p.settle()
		return nil, s.interception.close(fmt.Errorf("%w: it did not return its watch within %v", ErrPostProcessed, grace))
	case <-ctx.Done():
		giveUp()
		p.settle()
		return nil, ctx.Err()
	}
}

// readWatch decodes a until it ends, or w does.
func (s *lwSource[T]) readWatch(ctx context.Context, a *intercept.Response, w watch.Interface, req *WatchRequest[T], yield func([]Event[T]) error) error {
	m := monitor(w, a.Abort)
	var other *KindError
	y := yielding[[]Event[T]]{ctx: ctx, yield: yield}
	dec, _, err := s.interception.decoder(a.GV)
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
	m.w.Stop()
	timer := time.NewTimer(grace)
	defer timer.Stop()
	select {
	case <-m.gone:
		return
	case <-timer.C:
		// It breaks watch.Interface's promise to close.
	}
	close(m.quit)
	<-m.gone
}
