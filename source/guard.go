package source

import "runtime/debug"

// guard calls fn, which runs user code, and turns its panic into a *PanicError:
// one object must not take down the stream.
func guard[R any](fn func() (R, error)) (res R, err error) {
	defer func() {
		if v := recover(); v != nil {
			var zero R
			res, err = zero, &PanicError{Value: v, Stack: debug.Stack()}
		}
	}()
	return fn()
}
