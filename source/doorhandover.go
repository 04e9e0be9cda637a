package source

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

var errCallOver = errors.New("the call that the request was made for is over")

// handover is a 200 on its way to the call. The client reads its other side, the
// emptySide, which keeps it waiting until the call is done with the body: so
// the client's timeouts, its cancelling and its metrics last as long as they
// would without a door, and its closing of the one ends the other.
type handover struct {
	gv schema.GroupVersion
	// encoding is that of the client's answer.
	encoding encoding.Encoding
	// body is the server's, for the call to read.
	body io.Reader
	// ctx is the request's.
	ctx   context.Context
	watch bool

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

func newHandover(ctx context.Context, watch bool, p *passage, resp *http.Response) *handover {
	return &handover{
		gv: p.gv, encoding: p.encoding, watch: watch, ctx: ctx,
		body: resp.Body, closeBody: sync.OnceValue(resp.Body.Close),
		done: make(chan struct{}), closed: make(chan struct{}),
	}
}

// end closes the server's side and tells the client how it ended: reply and
// then the end, or err. Only the first time counts.
func (a *handover) end(reply []byte, err error) {
	_ = a.closeBody() // what was to be read was read
	a.once.Do(func() {
		a.reply, a.err = bytes.NewReader(reply), err
		close(a.done)
	})
}

// abort makes the call's read fail.
func (a *handover) abort() { _ = a.closeBody() }

// clientClosed reports whether the client closed its side.
func (a *handover) clientClosed() bool {
	select {
	case <-a.closed:
		return true
	default:
		return false
	}
}

// emptySide is a handover's other side, for the client.
type emptySide handover

// Read implements io.Reader. It blocks until the call is done.
func (e *emptySide) Read(p []byte) (int, error) {
	err := errCallOver
	select {
	case <-e.done:
		if e.err == nil {
			return e.reply.Read(p)
		}
		err = e.err
	case <-e.closed:
	case <-e.ctx.Done():
		err = e.ctx.Err()
	}
	if e.watch {
		// Of another end client-go would make an event.
		err = io.EOF
	}
	return 0, err
}

// Close implements io.Closer.
func (e *emptySide) Close() error {
	e.closedOnce.Do(func() { close(e.closed) })
	return e.closeBody()
}
