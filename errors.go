package kinglet

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/kinglet-go/kinglet/internal/engine/deliver"
	"github.com/kinglet-go/kinglet/internal/engine/own"
	"github.com/kinglet-go/kinglet/reflector"
	"github.com/kinglet-go/kinglet/source"
	"github.com/kinglet-go/kinglet/store"
)

// Errors that informers return and report. All of them work with errors.As.
type (
	// ItemError reports that one object could not be stored.
	ItemError = source.ItemError
	// IndexError reports that an index function failed for one object.
	IndexError = store.IndexError
	// LimitError reports more than Options.MaxObjects or Options.MaxListBytes allow.
	LimitError = reflector.LimitError
	// KeyError reports that an object has no usable key.
	KeyError = store.KeyError
)

var (
	// ErrAlreadyRun is returned by a second Run.
	ErrAlreadyRun = errors.New("already run: an informer or set runs once")
	// ErrStopped is wrapped by errors of calls after the end of an informer or set.
	ErrStopped = deliver.ErrStopped
	// ErrNotCovered means that an object that was written is in another namespace than
	// the informer's, or that it is unknown whether the informer's selectors cover it:
	// see Informer.Wrote.
	ErrNotCovered = source.ErrNotCovered
	// ErrNotRunning means that a write was recorded before Run.
	ErrNotRunning = own.ErrNotRunning
	// ErrNoVersion means that an object has no resource version, so no server answered
	// with it.
	ErrNoVersion = errors.New("the object has no resource version: record what the server answered, not what it was sent")
	// ErrUnknownKey means that a delete names no UID, and nothing is known under its
	// key.
	ErrUnknownKey = own.ErrUnknown
	// ErrNotConfirmed means that the watch has not shown a write for two minutes.
	ErrNotConfirmed = own.ErrNotConfirmed
	// ErrNotShown means that a read waited ten seconds for a write.
	ErrNotShown = own.ErrNotShown
	// ErrTooManyWrites means that there are too many writes that the watch has not
	// shown.
	ErrTooManyWrites = own.ErrTooManyWrites
	// ErrNotComparable means that a resource version cannot be compared with the
	// informer's, because one of them is not a decimal number (KEP-5504).
	ErrNotComparable = own.ErrNotComparable
	// ErrEpoch means that the server was restored from a backup, or restarted in
	// memory, and numbers its versions anew. A write or version from before may never
	// be seen.
	ErrEpoch = own.ErrEpoch
)

// NotSyncedError names an informer that has not synced, and the reason as far as it is
// known.
type NotSyncedError struct {
	// Name is the informer's.
	Name  string
	Phase reflector.Phase
	// LastError is the last failure: forbidden, not found, unreachable; nil if nothing
	// has failed, and the list is merely under way.
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
	return slices.DeleteFunc([]error{e.Err, e.LastError}, func(err error) bool { return err == nil })
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

// UnconfirmedWriteError reports that reads no longer include a write of the program,
// although neither the watch nor a list has shown it. From then on, reads may be older
// than the write.
type UnconfirmedWriteError struct {
	// Name is the informer's.
	Name string
	Key  Key
	UID  types.UID
	// ResourceVersion is that of the write; empty for a delete.
	ResourceVersion string
	// Since is when it was recorded.
	Since time.Time
	// Err is why: ErrEpoch, ErrNotConfirmed or ErrTooManyWrites.
	Err error
}

func (e *UnconfirmedWriteError) Error() string {
	what := "write of " + e.Key.String() + " at version " + e.ResourceVersion
	if e.ResourceVersion == "" {
		what = fmt.Sprintf("delete of %s (UID %s)", e.Key, e.UID)
	}
	return fmt.Sprintf("%s: reads no longer include the program's %s: %v", e.Name, what, e.Err)
}

// Unwrap returns why the write ended.
func (e *UnconfirmedWriteError) Unwrap() error { return e.Err }

// WriteNotSeenError reports that a read waited for a write of the program that the watch
// did not show: see [Informer.AwaitOwnWrites].
type WriteNotSeenError struct {
	// Name is the informer's.
	Name string
	Key  Key
	// ResourceVersion is that of the write; empty for a delete.
	ResourceVersion string
	// Since is when it was recorded.
	Since time.Time
	// Err is why the wait ended.
	Err error
}

func (e *WriteNotSeenError) Error() string {
	what := "write of " + e.Key.String() + " at version " + e.ResourceVersion
	if e.ResourceVersion == "" {
		what = "delete of " + e.Key.String()
	}
	return fmt.Sprintf("%s: the watch has not shown this program's %s: %v (a write in the type and version in which it is read is in reads at once)", e.Name, what, e.Err)
}

// Unwrap returns why the wait ended.
func (e *WriteNotSeenError) Unwrap() error { return e.Err }

// VersionNotReachedError reports that an informer has not reached a version.
type VersionNotReachedError struct {
	// Name is the informer's.
	Name string
	// Scope is that of a source that has not reached the version; empty for an informer
	// of one source.
	Scope string
	// Want is the version that was waited for, and At the version of the store.
	Want, At string
	// Err is why the wait ended: the context's error or cause, ErrStopped,
	// ErrEpoch, ErrNotComparable or ErrNoScope.
	Err error
}

func (e *VersionNotReachedError) Error() string {
	name := e.Name
	if e.Scope != "" {
		name += ", scope " + e.Scope
	}
	return fmt.Sprintf("%s: at version %q, not yet at %q: %v", name, e.At, e.Want, e.Err)
}

// Unwrap returns why the wait ended.
func (e *VersionNotReachedError) Unwrap() error { return e.Err }
