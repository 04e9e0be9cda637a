package source

import (
	"context"
	"errors"
	"time"

	"github.com/kinglet-go/kinglet/internal/errtype"
	"github.com/kinglet-go/kinglet/source/internal/intercept"
)

var errGoexit = errors.New("the call ended its goroutine")

// pending is a call of a ListerWatcher that has yet to return. It has a goroutine of its
// own, since not every call honours a context.
type pending[R any] struct {
	results chan result[R]
	// intercepted is nil if the call's request is the client's alone.
	intercepted *intercept.Call
	// honours reports that the call takes a context, which cancel ends.
	honours bool
	cancel  context.CancelFunc
	left    chan struct{}
	late    func(R)
}

type result[R any] struct {
	value R
	err   error
}

// begin calls call on a goroutine of its own, with a context that ends with leave. A
// result that nobody waits for is given to late. A panic is a *PanicError, and a call
// that ends its goroutine, or returns nil and no error, fails too.
func begin[R any](ctx context.Context, c *intercept.Call, honours bool, call func(context.Context) (R, error), late func(R)) *pending[R] {
	p := &pending[R]{results: make(chan result[R]), intercepted: c, honours: honours, left: make(chan struct{}), late: late}
	ctx, p.cancel = context.WithCancel(ctx)
	if c != nil {
		ctx = c.InContext(ctx)
	}
	go func() {
		// t.FailNow, for one, ends the goroutine.
		res := result[R]{err: errGoexit}
		defer func() {
			select {
			case p.results <- res:
			case <-p.left:
				p.drop(res)
			}
		}()
		res.value, res.err = guard(func() (R, error) { return call(ctx) })
		res.err = errtype.Sound(res.err)
		if res.err == nil && isNil(res.value) {
			res.err = errNothing
		}
	}()
	return p
}

// wait waits until the call returns, or a response to its request can be read. If
// neither happens before ctx ends, or the call fails for want of a response, it returns an
// error, and the call is over. onOpen, which may be nil, is called when a watch is open, or has
// taken openPatience.
func (p *pending[R]) wait(ctx context.Context, onOpen func()) (res *result[R], a *intercept.Response, err error) {
	var late <-chan time.Time
	if onOpen != nil {
		late = time.After(openPatience)
	}
	open := func() {
		if call := onOpen; call != nil {
			onOpen = nil
			call() // may end the goroutine, which sync.OnceFunc makes a panic
		}
	}
	var responses chan *intercept.Response
	if p.intercepted != nil {
		responses = p.intercepted.Responses
	}
	for {
		select {
		case res := <-p.results:
			if res.err == nil {
				open()
			}
			if p.intercepted != nil {
				if err := p.intercepted.Failure(res.err); err != nil {
					return nil, nil, err
				}
				res.err = p.intercepted.Refusal(res.err)
			}
			return &res, nil, nil
		case a := <-responses:
			open()
			return nil, a, nil
		case <-late:
			open()
		case <-ctx.Done():
			p.abandon()
			return nil, nil, ctx.Err()
		}
	}
}

// abandon ends the call's context, and waits for the call, at most for grace.
func (p *pending[R]) abandon() {
	p.cancel()
	if !p.honours {
		return
	}
	select {
	case res := <-p.results:
		p.drop(res)
	case <-time.After(grace):
	}
}

func (p *pending[R]) drop(res result[R]) {
	if res.err == nil {
		p.late(res.value)
	}
}

// leave ends the call's context, and the wait for its result.
func (p *pending[R]) leave() {
	if p.intercepted != nil {
		p.intercepted.End()
	}
	p.cancel()
	close(p.left)
}

// openPatience is how long a list waits for the watch that follows it to be open. A fake
// takes microseconds, but more on a machine that is busy with other tests.
const openPatience = time.Second
