package deliver

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/kinglet-go/kinglet/store"
)

var (
	// ErrStopped is returned when a handler is added to a hub whose context
	// has ended.
	ErrStopped = errors.New("stopped")

	// ErrRemoved is the cause of the end of a removed handler's context.
	ErrRemoved = errors.New("handler removed")
)

// HandlerPanicError: a handler panicked. By default the process then panics with this
// error; with HandlerOptions.RecoverPanics it is reported, and delivery continues
// after the changes of that call.
type HandlerPanicError struct {
	// Handler is the name of the registration.
	Handler string
	// Key is that of the change that was being handled, or of the first one of
	// several.
	Key store.Key
	// Keys are those of all changes of the call, in order.
	Keys []store.Key
	// Value is what the handler panicked with.
	Value any
	// Stack is the stack of the panic.
	Stack []byte
}

func (e *HandlerPanicError) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "handler %q panicked on %s", e.Handler, e.Key)
	if n := len(e.Keys) - 1; n > 0 {
		fmt.Fprintf(&b, " or one of the %d changes after it in the same call", n)
	}
	fmt.Fprintf(&b, ": %v\n\n%s", e.Value, e.Stack)
	return b.String()
}

// Unwrap returns the value of the panic, if that was an error.
func (e *HandlerPanicError) Unwrap() error {
	err, _ := e.Value.(error)
	return err
}

// HandlerExitError: a handler ended the goroutine that it was called on
// (runtime.Goexit, which is also how testing's FailNow works). The registration has
// ended.
type HandlerExitError struct {
	Handler string
	// Key is that of the first change of the call.
	Key store.Key
}

func (e *HandlerExitError) Error() string {
	return fmt.Sprintf("handler %q ended its own goroutine on %s; it gets no more changes", e.Handler, e.Key)
}

// OverflowError: a handler with EveryVersion and OverflowStop fell further behind
// than its bound. The registration has ended.
type OverflowError struct {
	Handler string
	// Bound is the number of changes that were pending.
	Bound int
	// Key is that of the change that did not fit.
	Key store.Key
}

func (e *OverflowError) Error() string {
	return fmt.Sprintf("handler %q has %d changes pending, its bound, and another came for %s; it gets no more changes",
		e.Handler, e.Bound, e.Key)
}

// StuckHandlerError: a handler has not returned although its context has ended.
// Hub.Wait keeps waiting for it.
type StuckHandlerError struct {
	Handler string
	// Key is that of the first change of the call that does not return.
	Key store.Key
	// After is how long ago the hub's context ended.
	After time.Duration
}

func (e *StuckHandlerError) Error() string {
	return fmt.Sprintf("handler %q has not returned from %s, %v after the end of its context", e.Handler, e.Key, e.After)
}
