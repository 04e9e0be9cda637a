package cache

import (
	"errors"

	"github.com/kinglet-go/kinglet"
	"github.com/kinglet-go/kinglet/store"
)

// Programs compare the texts of client-go's errors where nothing else tells them
// apart, so errors of this package have the same texts; the row "errors" of
// package conformance compares the two. The wrapped errors are for errors.Is.

var (
	errStarted        = errors.New("informer has already started")
	errIndexerStopped = &wordedError{"indexer was not added because it has stopped already", kinglet.ErrStopped}
	errNoShutdownChan = errors.New("handle does not support ShutdownChan()")
	errNoIndexer      = errors.New("no indexer has been provided to the mutation cache")
)

// wordedError has the words of client-go's error, and a cause of kinglet's.
type wordedError struct {
	text  string
	cause error
}

func (e *wordedError) Error() string { return e.text }

// Unwrap returns the cause.
func (e *wordedError) Unwrap() error { return e.cause }

// handlerRefused returns the error for a handler that was not added. client-go
// prints the handler with its contents; here it is only named, since printing
// what other goroutines write to is a race.
func handlerRefused(name string, cause error) error {
	return &wordedError{"handler " + name + " was not added to shared informer because it has stopped already", cause}
}

func noIndex(name string) error {
	return &wordedError{"Index with name " + name + " does not exist", store.ErrNoIndex}
}
