package ownwrites

import (
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/kinglet-go/kinglet/internal/overlay"
	"github.com/kinglet-go/kinglet/source"
	"github.com/kinglet-go/kinglet/store"
)

const (
	// confirmWithin is how long reads include a write that the watch does not confirm.
	// After that the watch is broken, or the object is not of the collection after all.
	confirmWithin = 2 * time.Minute
	// maxWrites bounds the keys with unconfirmed writes: 16,384 entries take about
	// 4 MB in addition to the objects. Beyond it the oldest ends as if its time were
	// over.
	maxWrites = 1 << 14
	// maxEnded is how many ended objects are remembered, to recognise the late
	// answer to a delete: 256 UIDs are 13 KiB.
	maxEnded = 256
)

// The reasons why a write is refused or ends, and why a wait for a version does.
var (
	ErrNotRunning    = errors.New("not running: Run has not been called")
	ErrNotConfirmed  = errors.New("not seen by watch or list within " + confirmWithin.String())
	ErrTooManyWrites = fmt.Errorf("more than %d keys with writes that neither watch nor list has shown", maxWrites)
	ErrNotComparable = errors.New("resource versions that cannot be compared")
	ErrEpoch         = errors.New("the server has begun to number anew: it was restored or restarted")
)

// Options of a Writes. All are required.
type Options[T any] struct {
	Store *store.Store[T]
	Rules overlay.Rules[T]
	// Stopped is the error of calls after End.
	Stopped error
	// Unconfirmed returns the error to report for a write that ended unseen, for the
	// reason why.
	Unconfirmed func(u overlay.Unconfirmed, why error) error
	// Report is called with the results of Unconfirmed and with each
	// *store.IndexError of a written object, under no lock.
	Report func(error)
}

// phase is the phase of the informer's Run.
type phase uint8

const (
	notBegun phase = iota
	running
	ended
)

// Writes holds the program's writes that the source has not shown yet. All methods are
// safe for concurrent use.
type Writes[T any] struct {
	opts Options[T]

	// over is nil while there is nothing to merge. It is swapped under mu, and
	// loses an entry only after the store has published the change that confirms it.
	over atomic.Pointer[overlay.Overlay[T]]
	// generation counts changes of the set of indexes.
	generation atomic.Uint64

	mu sync.Mutex
	// The fields below are guarded by mu.

	// scopes are those of the informer's sources, in the order in which they entered.
	scopes []*scopeState
	phase  phase
	waits  []*versionWait
	// timer is for the oldest entry; nil if there is no entry or Run is not running.
	timer *expiry
	// firing counts timers whose function may be running.
	firing sync.WaitGroup
	// gone is a ring of the UIDs of the last deleted objects; nil until the program
	// has written.
	gone   []types.UID
	goneAt int
	counts Status
}

// New returns a Writes without writes and without a scope; see Enter.
func New[T any](opts Options[T]) *Writes[T] { return &Writes[T]{opts: opts} }

// Status counts the outcomes of writes.
type Status struct {
	// Entries is how many keys have writes that reads include and the store does
	// not show yet. Oldest is when the oldest of them was recorded, zero without
	// any.
	Entries int
	Oldest  time.Time
	// Confirmed counts writes that were in reads until the watch reached them. Late
	// counts those that were recorded after the watch, or a later write, had passed them.
	Confirmed, Late uint64
	// Expired counts writes that were not confirmed within two minutes, or that exceeded
	// the bound. Dropped counts those that ended with a new epoch of the server's
	// versions or with their scope. Each was reported. Deletes of objects that the
	// informer has never seen are not counted: it keeps them for up to two minutes in
	// case it is about to see the object.
	Expired, Dropped uint64
}

// Reached records the version that a scope has reached in a step of its sink, and the
// changes of the step; it marks the program's own as OwnEcho. It is called after the
// write to the store and before the changes are queued, so that a handler, or a caller
// that waits for the version, reads no older one.
func (w *Writes[T]) Reached(scope, version string, changes []store.Change[T]) {
	w.mu.Lock()
	defer w.mu.Unlock()
	s := w.scopeLocked(scope)
	s.at = version
	w.passedLocked(s, changes)
	w.wakeLocked()
}

// Replaced is Reached for a list. If the server has begun a new epoch, all writes in
// the scope end, and all waits that include it. The caller reports the errors.
func (w *Writes[T]) Replaced(scope, version string, changes []store.Change[T], epoch bool) (dropped []error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	s := w.scopeLocked(scope)
	s.at, s.listed = version, true
	if epoch {
		dropped = w.dropLocked(scope, ErrEpoch, func(store.Key) (string, bool) { return "", false })
		clear(w.gone)
		w.endWaitsLocked(ErrEpoch, func(wait *versionWait) bool { return wait.includes(s) })
		return dropped
	}
	w.passedLocked(s, changes)
	w.wakeLocked()
	return nil
}

// passedLocked ends the entries in a scope that the store now shows.
func (w *Writes[T]) passedLocked(s *scopeState, changes []store.Change[T]) {
	w.rememberEndsLocked(changes)
	over := w.over.Load()
	if over == nil {
		return
	}
	left, confirmed := over.Pass(&w.opts.Rules, s.ID, s.at, w.opts.Store.Get, changes)
	w.counts.Confirmed += uint64(confirmed)
	w.setLocked(left)
}

// rememberEndsLocked remembers which objects were deleted.
func (w *Writes[T]) rememberEndsLocked(changes []store.Change[T]) {
	if w.gone == nil {
		return
	}
	for i := range changes {
		if c := &changes[i]; c.Type == store.Deleted {
			w.gone[w.goneAt%maxEnded] = w.opts.Rules.UID(c.Old)
			w.goneAt++
		}
	}
}

// Pin keeps the write under a key after a version of its object arrived that cannot be
// stored: when the watch has passed the write, the store will not show it.
func (w *Writes[T]) Pin(key store.Key) {
	if w.over.Load() == nil {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.setLocked(w.over.Load().Pin(key))
}

// setLocked publishes an overlay.
func (w *Writes[T]) setLocked(over *overlay.Overlay[T]) {
	if over == w.over.Load() {
		return
	}
	w.over.Store(over)
	switch {
	case over == nil && w.timer != nil:
		w.disarmLocked()
	case over != nil && w.timer == nil && w.phase == running:
		w.armLocked(over.Oldest())
	}
}

// Begin records that Run has begun.
func (w *Writes[T]) Begin() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.phase = running
}

// End records that Run is over, and returns when no timer's function is running. Reads
// keep including the writes, since the store will not get anything newer.
func (w *Writes[T]) End() {
	w.mu.Lock()
	w.phase = ended
	if w.timer != nil {
		w.disarmLocked()
	}
	w.endWaitsLocked(w.opts.Stopped, func(*versionWait) bool { return true })
	w.mu.Unlock()
	w.firing.Wait()
}

// Status returns the counts.
func (w *Writes[T]) Status() Status {
	w.mu.Lock()
	defer w.mu.Unlock()
	s, over := w.counts, w.over.Load()
	s.Entries, s.Oldest = over.Len(), over.Oldest()
	return s
}

// Running returns why no write can be added: ErrNotRunning or Options.Stopped.
func (w *Writes[T]) Running() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.runningLocked()
}

func (w *Writes[T]) runningLocked() error {
	switch w.phase {
	case notBegun:
		return ErrNotRunning
	case ended:
		return w.opts.Stopped
	}
	if w.gone == nil {
		w.gone = make([]types.UID, maxEnded)
	}
	return nil
}

// Wrote adds a write, and fills in its Values and Generation. The error is
// source.ErrNotCovered if its scope is unknown, or if coverage is unknown and nothing
// is known under the key.
func (w *Writes[T]) Wrote(write overlay.Write[T], coverage source.Coverage) error {
	write.Generation = w.generation.Load()
	write.Values = overlay.Values(w.opts.Store.Snapshot(), write.Object, func(index string, err error) {
		w.opts.Report(&store.IndexError{Index: index, Key: write.Key, Err: err})
	})
	return w.add(write.Scope, write.Key, func(over *overlay.Overlay[T], at string, held T, ok bool) (*overlay.Overlay[T], error) {
		switch coverage {
		case source.NotCovered:
			var none T
			write.Object, write.Absent, write.Values = none, true, nil
		case source.CoverageUnknown:
			if !ok && !over.Has(write.Key) {
				return over, source.ErrNotCovered
			}
		}
		return over.Wrote(&w.opts.Rules, write, at, held, ok), nil
	})
}

// Removed adds a delete. The error is source.ErrNotCovered if its scope is unknown,
// and overlay.ErrUnknown if it has no UID and nothing is known under its key.
func (w *Writes[T]) Removed(m overlay.Removal) error {
	return w.add(m.Scope, m.Key, func(over *overlay.Overlay[T], at string, held T, ok bool) (*overlay.Overlay[T], error) {
		return over.Removed(&w.opts.Rules, m, at, held, ok, w.hasEndedLocked)
	})
}

// hasEndedLocked reports whether the delete of an object was seen recently.
func (w *Writes[T]) hasEndedLocked(uid types.UID) bool { return slices.Contains(w.gone, uid) }

// change returns over after a write or a delete under a key, if the store, with the
// key's scope at version at, holds held.
type change[T any] func(over *overlay.Overlay[T], at string, held T, ok bool) (*overlay.Overlay[T], error)

// add changes the overlay, and reports the writes that end because of the change.
func (w *Writes[T]) add(scope string, key store.Key, change change[T]) error {
	surplus, err := w.addReporting(scope, key, change)
	w.report(surplus)
	return err
}

func (w *Writes[T]) addReporting(scope string, key store.Key, change change[T]) (surplus []error, err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if err := w.runningLocked(); err != nil {
		return nil, err
	}
	s := w.scopeLocked(scope)
	if s == nil {
		return nil, source.ErrNotCovered
	}
	held, ok := w.opts.Store.Get(key)
	over := w.over.Load()
	next, err := change(over, s.at, held, ok)
	if err != nil {
		return nil, err
	}
	if next == over {
		w.counts.Late++
		return nil, nil
	}
	if next.Len() > maxWrites {
		left, old := next.Expire(next.Oldest())
		w.counts.Expired += uint64(len(old))
		next, surplus = left, w.unconfirmed(old, ErrTooManyWrites)
	}
	w.setLocked(next)
	return surplus, nil
}

// unconfirmed returns the errors of writes that ended unseen.
func (w *Writes[T]) unconfirmed(all []overlay.Unconfirmed, why error) (errs []error) {
	for _, u := range all {
		errs = append(errs, w.opts.Unconfirmed(u, why))
	}
	return errs
}

func (w *Writes[T]) report(errs []error) {
	for _, err := range errs {
		w.opts.Report(err)
	}
}
