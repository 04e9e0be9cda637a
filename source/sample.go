package source

import (
	"context"
	"errors"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// ErrNoSample: the source cannot be asked for a sample.
var ErrNoSample = errors.New("the source has no samples")

// SampleRequest asks for a part of a collection as it was at one version.
type SampleRequest struct {
	// ResourceVersion is the version asked for, and no other
	// (resourceVersionMatch=Exact). A server that no longer has it answers
	// with 410.
	ResourceVersion string
	// Continue is the token of the previous page, whose version it keeps;
	// ResourceVersion is then empty.
	Continue string
	// Limit is the most objects to ask for; 0 asks for all.
	Limit int64
	// FieldSelector is added to the source's own. A closure that sets a selector
	// may overwrite it, and then more objects come than were asked for.
	FieldSelector string
}

// sampleOptions are the parameters of the request for a sample.
func sampleOptions(o *Options, req SampleRequest) metav1.ListOptions {
	lo := metav1.ListOptions{
		LabelSelector: o.LabelSelector,
		FieldSelector: o.FieldSelector,
		Limit:         req.Limit,
		Continue:      req.Continue,
	}
	switch {
	case req.FieldSelector == "":
	case lo.FieldSelector == "":
		lo.FieldSelector = req.FieldSelector
	default:
		lo.FieldSelector += "," + req.FieldSelector
	}
	if req.Continue == "" {
		lo.ResourceVersion = req.ResourceVersion
		lo.ResourceVersionMatch = metav1.ResourceVersionMatchExact
	}
	if o.Modify != nil {
		o.Modify(&lo)
	}
	return lo
}

// sample is subject to the client's rate limit. It costs the server a read of one
// page from its storage, or from its cache if that keeps past states.
func (s *restSource[T]) sample(ctx context.Context, req SampleRequest, yield func(Page[T]) error) error {
	lo := sampleOptions(&s.opts, req)
	body, err := s.request(&lo, false).Stream(ctx)
	if err != nil {
		return failed(ctx, err)
	}
	defer body.Close()
	// It needs another decoder, since each serves one caller at a time.
	y := yielding[Page[T]]{ctx: ctx, yield: yield}
	err = s.dec.another().DecodeList(body, nil, y.send)
	if err == nil || y.stopped {
		return err
	}
	return failed(ctx, err)
}

// sample calls the closures while a watch may be open. It uses no Interceptor.
func (s *lwSource[T]) sample(ctx context.Context, req SampleRequest, yield func(Page[T]) error) error {
	lo := sampleOptions(&s.opts, req)
	call := func() (runtime.Object, error) { return s.lw.List(lo) }
	cl, honours := s.lw.(contextLister)
	if honours {
		call = func() (runtime.Object, error) { return cl.ListWithContext(ctx, lo) }
	}
	list, err := await(ctx, honours, call, func(runtime.Object) {}, nil)
	if err != nil {
		return failed(ctx, err)
	}
	page, err := s.page(list)
	if err != nil {
		return failed(ctx, err)
	}
	if len(s.opts.Drop) > 0 {
		s.drop(&page)
	}
	return yield(page)
}

// drop removes dropped fields from what the closures returned. Without a request so far,
// it removes the objects: their version is unknown.
func (s *lwSource[T]) drop(page *Page[T]) {
	requested := s.interception.resource()
	codec, err := newCodec[T](requested.GroupVersion(), &s.opts)
	if requested.Empty() || err != nil {
		*page = identities[T](*page)
		return
	}
	r := codec.reader(nil)
	for i := range page.Items {
		if it := &page.Items[i]; it.Err == nil {
			if it.Object, err = r.dropped(it.Object); err != nil {
				*it = withoutObject[T](it)
			}
		}
	}
}

func (r *rekeyed[T]) sample(ctx context.Context, req SampleRequest, yield func(Page[T]) error) error {
	return Sample(ctx, r.src, req, func(page Page[T]) error {
		for i := range page.Items {
			it := &page.Items[i]
			if it.Err == nil && isNil(it.Object) {
				return ErrNoSample // a key cannot be read from nothing
			}
			r.rekey(it)
		}
		return yield(page)
	})
}

func (m *mapped[W, T]) sample(ctx context.Context, req SampleRequest, yield func(Page[T]) error) error {
	return Sample(ctx, m.src, req, func(page Page[W]) error { return yield(identities[T](page)) })
}

// identities returns page without its objects.
func identities[T, W any](page Page[W]) Page[T] {
	out := Page[T]{
		ResourceVersion: page.ResourceVersion, Continue: page.Continue, Remaining: page.Remaining,
		More: page.More, Bytes: page.Bytes, Items: make([]Item[T], len(page.Items)),
	}
	for i := range page.Items {
		out.Items[i] = withoutObject[T](&page.Items[i])
	}
	return out
}
