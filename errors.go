package kinglet

import (
	"errors"
	"fmt"
	"strings"

	"github.com/kinglet-go/kinglet/reflector"
	"github.com/kinglet-go/kinglet/source"
	"github.com/kinglet-go/kinglet/store"
)

// Errors that informers return and report. All of them work with errors.As.
type (
	// ItemError says that one object could not be taken in.
	ItemError = source.ItemError
	// IndexError says that an index function failed for one object.
	IndexError = store.IndexError
	// LimitError says that there is more than Options.MaxObjects or
	// Options.MaxListBytes allow.
	LimitError = reflector.LimitError
	// KeyError says that an object has no usable key.
	KeyError = store.KeyError
)

var (
	// ErrAlreadyRun is returned by a second Run.
	ErrAlreadyRun = errors.New("already run: an informer or set runs once")
	// ErrStopped is wrapped when something is asked of what has stopped.
	ErrStopped = errors.New("stopped")
)

// NotSyncedError says which informer has not synced and what is known of why.
type NotSyncedError struct {
	// Name is the informer's.
	Name  string
	Phase Phase
	// LastError is what failed last: forbidden, not found, unreachable; nil
	// where nothing has failed, and the list is merely under way.
	LastError error
	// Err is why the wait ended: the context's error or cause, or ErrStopped.
	Err error
}

func (e *NotSyncedError) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s: not synced (%s)", e.Name, strings.ToLower(e.Phase.String()))
	if e.LastError != nil {
		fmt.Fprintf(&b, ": last error: %v", e.LastError)
	}
	if e.Err != nil {
		fmt.Fprintf(&b, ": %v", e.Err)
	}
	return b.String()
}

// Unwrap returns why the wait ended and what failed last.
func (e *NotSyncedError) Unwrap() []error {
	return notNil(e.Err, e.LastError)
}

// SetNotSyncedError lists the informers of a Set that have not synced.
type SetNotSyncedError struct {
	NotSynced []*NotSyncedError
	// Total is how many informers were waited for.
	Total int
}

func (e *SetNotSyncedError) Error() string {
	lines := make([]string, 0, len(e.NotSynced)+1)
	lines = append(lines, fmt.Sprintf("%d of %d informers not synced", len(e.NotSynced), e.Total))
	for _, n := range e.NotSynced {
		lines = append(lines, n.Error())
	}
	return strings.Join(lines, "; ")
}

// Unwrap returns one error for each informer.
func (e *SetNotSyncedError) Unwrap() []error {
	errs := make([]error, len(e.NotSynced))
	for i, n := range e.NotSynced {
		errs[i] = n
	}
	return errs
}

func notNil(errs ...error) []error {
	kept := errs[:0]
	for _, err := range errs {
		if err != nil {
			kept = append(kept, err)
		}
	}
	return kept
}
