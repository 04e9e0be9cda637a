package intercept

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"sync"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kinglet-go/kinglet/source/internal/encoding"
)

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
	// Body is the server's.
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

func newResponse(ctx context.Context, watch bool, a *admission, resp *http.Response) *Response {
	return &Response{
		GV: a.gv, Encoding: a.encoding, watch: watch, ctx: ctx,
		Body: resp.Body, closeBody: sync.OnceValue(resp.Body.Close),
		done: make(chan struct{}), closed: make(chan struct{}),
	}
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

// Close implements io.Closer.
func (b *clientBody) Close() error {
	b.closedOnce.Do(func() { close(b.closed) })
	return b.closeBody()
}
