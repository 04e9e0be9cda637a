package source

import (
	"context"
	"errors"
	"time"
)

var errGoexit = errors.New("the call ended its goroutine")

// await calls call on a goroutine of its own and waits for it until ctx ends,
// and then for grace if call honours ctx. A later result is given to late. While it
// waits, o may run out; nil never does.
func await[R any](ctx context.Context, honours bool, call func() (R, error), late func(R), o *opening) (R, error) {
	var zero R
	if err := ctx.Err(); err != nil {
		return zero, err
	}
	p := begin(call, late)
	defer p.leave()
	for {
		select {
		case res := <-p.results:
			return res.value, res.err
		case <-o.expired():
			o.end()
			continue
		case <-ctx.Done():
		}
		if honours {
			p.settle()
		}
		return zero, ctx.Err()
	}
}

// pending is a call that has yet to return.
type pending[R any] struct {
	results chan result[R]
	left    chan struct{}
	late    func(R)
}

type result[R any] struct {
	value R
	err   error
}

// begin calls call on a goroutine of its own. A result that comes after leave is
// given to late. A panic is a *PanicError, and a call that ends its goroutine fails too.
func begin[R any](call func() (R, error), late func(R)) *pending[R] {
	p := &pending[R]{results: make(chan result[R]), left: make(chan struct{}), late: late}
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
		res.value, res.err = guard(call)
	}()
	return p
}

// leave ends the wait for results.
func (p *pending[R]) leave() { close(p.left) }

// settle waits, at most for grace, until a call that was told to end returns.
func (p *pending[R]) settle() {
	timer := time.NewTimer(grace)
	defer timer.Stop()
	select {
	case res := <-p.results:
		p.drop(res)
	case <-timer.C:
	}
}

func (p *pending[R]) drop(res result[R]) {
	if res.err == nil {
		p.late(res.value)
	}
}
