package source

import (
	"context"
	"errors"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kinglet-go/kinglet/source/internal/intercept"
)

// listIntercepted is List for a source with an interceptor. The list is decoded
// here, on the caller's goroutine, while the closure waits in its client for the
// body to end. The last page waits for the closure to return, since the closure
// may add objects from elsewhere, or fail.
func (s *lwSource[T]) listIntercepted(ctx context.Context, lw contextLister, lo metav1.ListOptions, req *ListRequest[T], yield func(Page[T]) error) error {
	call := s.interception.call(false, lo)
	call.Once = req.Once
	defer call.End()
	within, cancel := call.InContext(ctx)
	defer cancel()
	if err := ctx.Err(); err != nil {
		return err
	}
	p := begin(func() (runtime.Object, error) { return lw.ListWithContext(within, lo) }, func(runtime.Object) {})
	defer p.leave()
	var last Page[T]
	select {
	case res := <-p.results:
		if res.err != nil {
			return failed(ctx, call.Refusal(res.err))
		}
		s.interception.left(call.Reason(), req.OnPath)
		return s.deliver(ctx, res.value, yield)
	case a := <-call.Responses:
		var err error
		if last, err = s.readList(ctx, a, req, yield); err != nil {
			cancel()
			p.settle()
			return err
		}
	case err := <-call.Failures:
		cancel()
		p.settle()
		return failed(ctx, err)
	case <-ctx.Done():
		p.settle()
		return ctx.Err()
	}
	select {
	case res := <-p.results:
		if err := s.complete(&last, res.value, res.err); err != nil {
			return failed(ctx, err)
		}
	case <-ctx.Done():
		p.settle()
		return ctx.Err()
	}
	s.interception.interceptor.read()
	return yield(last)
}

// readList decodes a. It yields all pages but the last, which it returns.
func (s *lwSource[T]) readList(ctx context.Context, a *intercept.Response, req *ListRequest[T], yield func(Page[T]) error) (last Page[T], err error) {
	defer func() {
		if err != nil {
			a.Finish(nil, err)
		}
	}()
	dec, kind, err := s.interception.decoder(a.GV)
	if err != nil {
		return last, err
	}
	var first schema.GroupVersionKind
	var other *KindError
	y := yielding[Page[T]]{ctx: ctx, yield: yield}
	err = dec.list(a.Body, req.Held, req.OnPath, func(page Page[T]) error {
		for i := range page.Items {
			it := &page.Items[i]
			if it.Err != nil {
				if other = otherKind(it.Err); other != nil {
					return other
				}
			} else if first.Empty() {
				first = kindOf(it.Object)
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
	reply, err := a.Encoding.EmptyList(kind.listKind(a.GV, first), lm)
	if err != nil {
		return last, err
	}
	a.Finish(reply, nil)
	return last, nil
}

// complete adds the objects that the closure returned for an empty list to the
// last page.
func (s *lwSource[T]) complete(last *Page[T], list runtime.Object, err error) error {
	if errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return err
	}
	var page Page[T]
	if err == nil {
		page, err = s.page(list)
	}
	if err != nil {
		return s.interception.close(fmt.Errorf("%w: it fails on an empty answer: %w", ErrPostProcessed, err))
	}
	if page.ResourceVersion != last.ResourceVersion {
		return s.interception.close(fmt.Errorf("%w: it returned resource version %q for a list of %q",
			ErrPostProcessed, page.ResourceVersion, last.ResourceVersion))
	}
	last.Items = append(last.Items, page.Items...)
	last.Continue, last.Remaining = page.Continue, page.Remaining
	return nil
}
