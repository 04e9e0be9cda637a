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

	// ErrStarted is returned when a hub is started a second time.
	ErrStarted = errors.New("started already")

	// ErrNotStarted is returned when a hub is waited for that was never
	// started.
	ErrNotStarted = errors.New("not started")

	// ErrRemoved is the cause with which the context of a handler ends that
	// was removed.
	ErrRemoved = errors.New("handler removed")
)

// HandlerPanicError says that a handler panicked. By default it is what the
// process then panics with; with HandlerOptions.RecoverPanics it is reported,
// and delivery goes on after the changes of that call.
type HandlerPanicError struct {
	// Handler is the name of the registration.
	Handler string
	// Key is that of the change that was being handled, or of the first one
	// where the call was about several.
	Key store.Key
	// Keys are those of all changes of the call, in order.
	Keys []store.Key
	// Value is what the handler panicked with.
	Value any
	// Stack is where it did.
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

// Unwrap returns what the handler panicked with, if that was an error.
func (e *HandlerPanicError) Unwrap() error {
	err, _ := e.Value.(error)
	return err
}

// HandlerExitError says that a handler ended the goroutine it was called on
// (runtime.Goexit, which is also how testing's FailNow works). The
// registration has ended.
type HandlerExitError struct {
	Handler string
	// Key is that of the first change of the call.
	Key store.Key
}

func (e *HandlerExitError) Error() string {
	return fmt.Sprintf("handler %q ended its own goroutine on %s; it gets no more changes", e.Handler, e.Key)
}

// OverflowError says that a handler that asked for every version with
// OverflowStop fell further behind than its bound. The registration has ended.
type OverflowError struct {
	Handler string
	// Bound is the number of changes that were pending.
	Bound int
	// Key is that of the change for which there was no room.
	Key store.Key
}

func (e *OverflowError) Error() string {
	return fmt.Sprintf("handler %q has %d changes pending, its bound, and another came for %s; it gets no more changes",
		e.Handler, e.Bound, e.Key)
}

// StuckHandlerError says that a handler has not ended although its context
// has. Hub.Wait goes on waiting for it.
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
