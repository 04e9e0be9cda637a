package controller

import (
	"errors"
	"fmt"
	"strings"
	"time"
)

var (
	// ErrAlreadyRun is returned by a second Run.
	ErrAlreadyRun = errors.New("already run: a controller runs once")
	// ErrStopped is returned when keys or informers are added to a controller
	// whose Run has ended, or is about to.
	ErrStopped = errors.New("the controller has stopped")
	// ErrDraining is the cause of contexts that are cancelled because a run did
	// not end within Options.Drain.
	ErrDraining = errors.New("the controller is stopping, and the time to drain is over")
	// ErrLeadershipLost is returned by Run when Leadership.Lost is closed. It is
	// also the cause of the run contexts that Run cancels then.
	ErrLeadershipLost = errors.New("leadership lost")
	// ErrTimeout is the cause of contexts of runs that took longer than
	// Options.Timeout.
	ErrTimeout = errors.New("the run took longer than its timeout")
)

// Terminal returns an error that is reported and counted, and after which the key does
// not run until it is added again. Terminal returns nil for nil.
func Terminal(err error) error {
	if err == nil {
		return nil
	}
	return &terminalError{err}
}

type terminalError struct{ error }

func (e *terminalError) Unwrap() error { return e.error }

// RetryAfter returns an error that is reported and counted as a failure, and after
// which the key runs again d later, whatever its backoff. It returns nil for nil.
func RetryAfter(d time.Duration, err error) error {
	if err == nil {
		return nil
	}
	return &retryError{err, max(d, 0)}
}

type retryError struct {
	error
	after time.Duration
}

func (e *retryError) Unwrap() error { return e.error }

// RunError is a failed run, as reported to Options.OnError.
type RunError[K comparable] struct {
	Controller string
	Key        K
	// Failures is how often the key has failed since it last succeeded.
	Failures int
	// After is how long the key waits until it runs again. It is 0 after a Terminal
	// error, because the key does not, and after RetryAfter(0, err), because it does at
	// once.
	After time.Duration
	Err   error
}

func (e *RunError[K]) Error() string {
	again := "tried again at once"
	switch {
	case errors.As(e.Err, new(*terminalError)):
		again = "not tried again until it changes"
	case e.After > 0:
		again = fmt.Sprintf("tried again in %v", e.After.Round(time.Millisecond))
	}
	return fmt.Sprintf("controller %s: %v: failure %d, %s: %v", e.Controller, e.Key, e.Failures, again, e.Err)
}

func (e *RunError[K]) Unwrap() error { return e.Err }

// PanicError is the error of a run that panicked, whose error panicked when it was
// unwrapped, or that ended its goroutine.
type PanicError struct {
	// Value is what the run panicked with; nil for runtime.Goexit.
	Value any
	Stack []byte
}

func (e *PanicError) Error() string {
	if e.Value == nil {
		return "the run ended its goroutine"
	}
	return fmt.Sprintf("panic: %v\n%s", e.Value, e.Stack)
}

// MapError reports a panic in the key function or predicate of a Watch, or a key that does
// not equal itself, such as one that contains a NaN. Some or all keys of that change were
// not enqueued. Later changes are not affected.
type MapError struct {
	Controller, Informer string
	// Key is that of the changed object.
	Key fmt.Stringer
	Err *PanicError
}

func (e *MapError) Error() string {
	return fmt.Sprintf("controller %s: watching %s: %v: the key function or predicate failed: %v", e.Controller, e.Informer, e.Key, e.Err)
}

func (e *MapError) Unwrap() error { return e.Err }

// DrainError names the keys whose runs did not end within Options.Drain, and whose
// contexts were cancelled for that. The runs have ended when Run returns it.
type DrainError struct {
	Controller string
	Drain      time.Duration
	Keys       []string
}

func (e *DrainError) Error() string {
	return fmt.Sprintf("controller %s: cancelled after %v, since they had not ended: %s", e.Controller, e.Drain, strings.Join(e.Keys, ", "))
}
