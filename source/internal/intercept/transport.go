package intercept

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"sync"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kinglet-go/kinglet/internal/roundtrip"
	"github.com/kinglet-go/kinglet/source/internal/connection"
	"github.com/kinglet-go/kinglet/source/internal/encoding"
)

// Transport returns a round tripper that intercepts the requests of Calls. If named,
// an Accept header, is not empty, it asks for the types that it names and no others.
// Any other request costs one context lookup.
func Transport(next http.RoundTripper, named string) http.RoundTripper {
	return &transport{next: connection.Wrap(next), named: named}
}

type transport struct {
	next  http.RoundTripper
	named string
}

// WrappedRoundTripper returns the transport below, for apimachinery.
func (t *transport) WrappedRoundTripper() http.RoundTripper { return t.next }

func (t *transport) RoundTrip(req *http.Request) (*http.Response, error) {
	c := callOf(req.Context())
	if c == nil {
		return t.next.RoundTrip(req)
	}
	if c.again(req) {
		return nil, errFailed
	}
	a := c.admit(req, t.named)
	if a == nil {
		resp, err := roundtrip.Do(t.next, req)
		if err != nil {
			err = c.fail(req, err)
		} else if resp.StatusCode != http.StatusOK {
			c.refused(resp)
		}
		return resp, err
	}
	ctx := req.Context()
	var stream *connection.Stream
	if c.watch {
		ctx, stream = connection.Watch(ctx, c.route, c.delay, c.asked.SendInitialEvents != nil && *c.asked.SendInitialEvents)
	}
	ours := req.WithContext(ctx)
	ours.Header = req.Header.Clone()
	ours.Header.Set("Accept", a.accept)
	// A wrapper above that asked for compression would undo it on the empty
	// body. Without this header the HTTP transport asks for it, and undoes it.
	ours.Header.Del("Accept-Encoding")
	resp, err := roundtrip.Do(t.next, ours)
	if err != nil {
		c.decline(fmt.Errorf("the request failed: %w", err))
		return resp, c.fail(req, err)
	}
	resp.Request = req
	switch compressed := resp.Header.Get("Content-Encoding"); {
	case resp.StatusCode != http.StatusOK:
		c.decline(fmt.Errorf("the answer was %s", resp.Status))
		c.refused(resp)
		return resp, nil
	case encoding.OfMediaType(resp.Header.Get("Content-Type")) == nil:
		c.decline(fmt.Errorf("the answer is of type %q", resp.Header.Get("Content-Type")))
		return resp, nil
	case compressed != "" && compressed != "identity":
		c.decline(fmt.Errorf("the answer is encoded as %q", compressed))
		if stream != nil {
			stream.Decline()
		}
		return resp, nil
	}
	if c.watch {
		resp.Body = stream.Over(resp.Body)
	}
	r := &Response{
		GV: a.gv, Encoding: a.encoding, watch: c.watch, ctx: req.Context(),
		Body: resp.Body, closeBody: sync.OnceValue(resp.Body.Close),
		done: make(chan struct{}), closed: make(chan struct{}),
	}
	if !c.deliver(r) {
		r.Finish(nil, ErrOver)
		return nil, ErrOver
	}
	empty := *resp
	empty.Header = resp.Header.Clone()
	empty.Header.Set("Content-Type", a.encoding.MediaType())
	empty.Header.Del("Content-Length")
	empty.ContentLength = -1
	empty.Trailer = nil
	empty.Body = (*clientBody)(r)
	return &empty, nil
}

// ErrOver reports that the call for which a request was made has returned.
var ErrOver = errors.New("the call that the request was made for is over")

// Response is a 200 for the source to read. Meanwhile the client reads its
// clientBody, which blocks until the source is done. So the client's timeouts,
// cancellation and metrics last as long as they would without an interceptor, and
// closing the clientBody closes Body.
type Response struct {
	// GV is the group and version of the request.
	GV schema.GroupVersion
	// Encoding is one that the client reads.
	Encoding encoding.Encoding
	// Body is the server's. A watch's may be a *connection.Stream.
	Body io.Reader

	// ctx is the request's.
	ctx       context.Context
	watch     bool
	closeBody func() error

	// done is closed once reply and err are set.
	done  chan struct{}
	once  sync.Once
	reply *bytes.Reader
	err   error

	// closed is closed when the client has closed its side.
	closed     chan struct{}
	closedOnce sync.Once
}

// Finish closes the server's side and ends the client's: with reply, or with
// err. Only the first call counts.
func (r *Response) Finish(reply []byte, err error) {
	_ = r.closeBody() // what was to be read was read
	r.once.Do(func() {
		r.reply, r.err = bytes.NewReader(reply), err
		close(r.done)
	})
}

// Abort makes reading Body fail.
func (r *Response) Abort() { _ = r.closeBody() }

// ClientClosed reports whether the client has closed its side.
func (r *Response) ClientClosed() bool {
	select {
	case <-r.closed:
		return true
	default:
		return false
	}
}

// clientBody is the body of a Response that the client gets.
type clientBody Response

// Read implements io.Reader. It blocks until the Response is finished.
func (b *clientBody) Read(p []byte) (int, error) {
	err := ErrOver
	select {
	case <-b.done:
		if b.err == nil {
			return b.reply.Read(p)
		}
		err = b.err
	case <-b.closed:
	case <-b.ctx.Done():
		err = b.ctx.Err()
	}
	if b.watch {
		// client-go would make an event of any other end.
		err = io.EOF
	}
	return 0, err
}

func (b *clientBody) Close() error {
	b.closedOnce.Do(func() { close(b.closed) })
	return b.closeBody()
}
