package own

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/kinglet-go/kinglet/source"
	"github.com/kinglet-go/kinglet/store"
)

const (
	// confirmWithin is how long a write that the watch does not confirm is kept. After
	// that the watch is broken, or the object is not of the collection after all.
	confirmWithin = 2 * time.Minute
	// waitAtMost is how long a read waits for a write.
	waitAtMost = 10 * time.Second
	// maxWrites bounds the keys with unconfirmed writes: 16,384 entries take about
	// 4 MB in addition to the objects. Beyond it the oldest ends as if its time were
	// over.
	maxWrites = 1 << 14
	// maxLeft is how many objects that left the collection are remembered, to recognise
	// the late answer to a delete: 256 are 22 KiB.
	maxLeft = 256
)

// The reasons why a write is refused or ends, and why a wait for a version does.
var (
	ErrNotRunning    = errors.New("not running: Run has not been called")
	ErrNotConfirmed  = errors.New("not seen by watch or list within " + confirmWithin.String())
	ErrNotShown      = fmt.Errorf("the watch has not shown it within %v: %w", waitAtMost, context.DeadlineExceeded)
	ErrTooManyWrites = fmt.Errorf("more than %d keys with writes that neither watch nor list has shown", maxWrites)
	ErrNotComparable = errors.New("resource versions that cannot be compared")
	ErrEpoch         = errors.New("the server has begun to number anew: it was restored or restarted")
)

// Options of a Writes. All are required.
type Options[T any] struct {
	Store *store.Store[T]
	Rules Rules[T]
	// Stopped is the error of calls after End.
	Stopped error
	// Unconfirmed returns the error to report for a write that ended unseen, for the
	// reason why.
	Unconfirmed func(u Unconfirmed, why error) error
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
	over atomic.Pointer[overlay[T]]
	// generation counts changes of the set of indexes.
	generation atomic.Uint64

	mu sync.Mutex
	// The fields below are guarded by mu.

	// scopes are those of the informer's sources, in the order in which they entered.
	scopes []*scopeState
	phase  phase
	waits  []*waiting
	// gone are keys to unpin with the next step.
	gone []store.Key
	// last is when the program last wrote to the resource, also to what the informer
	// does not cover; zero if it never has.
	last time.Time
	// timer is for the oldest entry; nil if there is no entry or Run is not running.
	timer *time.Timer
	// firing counts timers whose function may be running.
	firing sync.WaitGroup
	// left is a ring of the last objects that left the collection, since the first call of
	// Noticed.
	left    []leaving
	leftAt  int
	noticed bool
	counts  Status
}

// leaving is an object that left the collection at a version.
type leaving struct {
	uid     types.UID
	version string
	// key and at, the time, are set if the UID is not known.
	key store.Key
	at  time.Time
}

// New returns a Writes without writes and without a scope; see Enter.
func New[T any](opts Options[T]) *Writes[T] { return &Writes[T]{opts: opts} }

// Status counts the outcomes of writes.
type Status struct {
	// Entries is how many keys have writes that the store does not show yet. Oldest is
	// when the oldest of them was recorded, zero without any.
	Entries int
	Oldest  time.Time
	// Confirmed counts writes that were in reads until the watch reached them. Late
	// counts those that were recorded after the watch, or a later write, had passed them.
	Confirmed, Late uint64
	// Expired counts writes that were not confirmed within two minutes, or that exceeded
	// the bound. Dropped counts those that ended with a new epoch of the server's
	// versions. Each was reported. Writes of objects that the collection may never have had
	// are not counted: they are kept for up to two minutes in case it is about to have them.
	Expired, Dropped uint64
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
	w.disarmLocked()
	w.endWaitsLocked(w.opts.Stopped, func(*waiting) bool { return true })
	w.mu.Unlock()
	w.firing.Wait()
}

// Status returns the counts.
func (w *Writes[T]) Status() Status {
	w.mu.Lock()
	defer w.mu.Unlock()
	s, over := w.counts, w.over.Load()
	if s.Entries = over.len(); s.Entries > 0 {
		s.Oldest = over.oldest()
	}
	return s
}

// Noticed records that the program wrote to the resource at a time, or, if that is zero, that
// it is about to, and returns why no write can be added now: ErrNotRunning or Options.Stopped.
func (w *Writes[T]) Noticed(at time.Time) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.noticed = true
	if at.After(w.last) {
		w.last = at
	}
	switch w.phase {
	case notBegun:
		return ErrNotRunning
	case ended:
		return w.opts.Stopped
	}
	return nil
}

// Recent reports whether the program has written to the resource lately. A scope that
// begins then has to be listed from the latest state: an older one may lack writes that
// no scope has recorded, or that another scope has seen confirmed.
func (w *Writes[T]) Recent() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return !w.last.IsZero() && time.Since(w.last) < confirmWithin
}

// Wrote adds a write. The error is source.ErrNotCovered if its key is in no scope, or if
// coverage is unknown and nothing is known under the key; reads then wait for the watch.
// It is ErrNotComparable if they would have to wait for a version without order.
func (w *Writes[T]) Wrote(write Write[T], coverage source.Coverage) error {
	write.generation = w.generation.Load()
	if !write.Unread {
		write.values = valuesIn(w.opts.Store.Snapshot(), write.Object, func(index string, err error) {
			w.opts.Report(&store.IndexError{Index: index, Key: write.Key, Err: err})
		})
	}
	var unknown error
	err := w.add(write.Key, func(over *overlay[T], h held[T]) (*overlay[T], error) {
		var none T
		switch {
		case coverage == source.NotCovered:
			write.Object, write.Absent, write.Unread, write.values = none, true, false, nil
		case coverage == source.CoverageUnknown && (write.Unread || !h.ok && over.at(write.Key) == nil):
			write.Object, write.Unread, unknown = none, true, source.ErrNotCovered
		}
		if write.Unread && !comparableWith(h.at, write.Version) {
			return over, errors.Join(unknown, ErrNotComparable)
		}
		return over.wrote(&w.opts.Rules, &write, h), nil
	})
	return cmp.Or(err, unknown)
}

// Removed adds a delete. The error is source.ErrNotCovered if its key is in no scope,
// ErrUnknown if it has no UID and nothing is known under its key, and ErrUnseen if
// Removal.NeedsVersion says so.
func (w *Writes[T]) Removed(m Removal) error {
	return w.add(m.Key, func(over *overlay[T], h held[T]) (*overlay[T], error) {
		return over.removed(&w.opts.Rules, &m, h, w.leftLocked)
	})
}

// leftLocked returns the version at which an object left the collection recently. One of which
// the UID is not known did if it was under the removal's key then, and after the request was
// sent, unless the server can be asked; held is whether there is another.
func (w *Writes[T]) leftLocked(m *Removal, uid types.UID, held bool) (version string, ok bool) {
	i := slices.IndexFunc(w.left, func(l leaving) bool {
		if l.uid != "" || l.key != m.Key {
			return l.uid == uid && uid != ""
		}
		return !m.NeedsVersion && !m.Gone && (m.Sent.IsZero() && !held || !m.Sent.IsZero() && l.at.After(m.Sent))
	})
	if i < 0 {
		return "", false
	}
	return w.left[i].version, true
}

// change returns over after a write or a delete under a key of which the store holds h.
type change[T any] func(over *overlay[T], h held[T]) (*overlay[T], error)

// add changes the overlay, and reports the writes that end because of the change.
func (w *Writes[T]) add(key store.Key, change change[T]) error {
	surplus, err := w.addReporting(key, change)
	w.report(surplus)
	return err
}

func (w *Writes[T]) addReporting(key store.Key, change change[T]) (surplus []error, err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	s := w.scopeOfLocked(key)
	if s == nil {
		return nil, source.ErrNotCovered
	}
	obj, ok := w.opts.Store.Get(key)
	over := w.over.Load()
	next, err := change(over, held[T]{s.ID, s.at, obj, ok, s.whole()})
	if err != nil {
		return nil, err
	}
	if next == over {
		w.counts.Late++
		return nil, nil
	}
	if next != nil && len(next.entries) > maxWrites {
		left, old := next.expire(next.oldest())
		w.counts.Expired += uint64(len(old))
		next, surplus = left, w.unconfirmed(old, ErrTooManyWrites)
	}
	w.setLocked(next)
	return surplus, nil
}

// setLocked publishes an overlay.
func (w *Writes[T]) setLocked(over *overlay[T]) {
	if over == w.over.Load() {
		return
	}
	w.over.Store(over)
	switch {
	case over == nil:
		w.disarmLocked()
	case w.timer == nil && w.phase == running:
		w.armLocked(over.oldest())
	}
	w.wakeLocked()
}

// armLocked sets the timer to fire when the oldest entry is too old.
func (w *Writes[T]) armLocked(oldest time.Time) {
	w.firing.Add(1)
	var timer *time.Timer
	timer = time.AfterFunc(time.Until(oldest.Add(confirmWithin)), func() {
		defer w.firing.Done()
		w.report(w.expire(func() bool { return w.timer == timer }))
	})
	w.timer = timer
}

func (w *Writes[T]) disarmLocked() {
	if w.timer != nil && w.timer.Stop() {
		w.firing.Done()
	}
	w.timer = nil
}

// expire ends entries that are too old, unless its timer was stopped too late. It runs
// on the timer's goroutine.
func (w *Writes[T]) expire(current func() bool) []error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if !current() {
		return nil
	}
	w.timer = nil
	left, old := w.over.Load().expire(time.Now().Add(-confirmWithin))
	w.counts.Expired += uint64(len(old))
	w.setLocked(left)
	return w.unconfirmed(old, ErrNotConfirmed)
}

// unconfirmed returns the errors of writes that ended unseen.
func (w *Writes[T]) unconfirmed(all []Unconfirmed, why error) (errs []error) {
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

// Any reports whether reads have to merge writes with the store.
func (w *Writes[T]) Any() bool { return w.over.Load() != nil }

// Get returns the object under key. It does not allocate.
func (w *Writes[T]) Get(key store.Key) (T, bool) {
	s := w.resolve(w.over.Load(), key)
	return s.obj, s.shown
}

// resolve returns what a read of a key shows.
func (w *Writes[T]) resolve(over *overlay[T], key store.Key) state[T] {
	e := over.at(key)
	if e == nil {
		obj, ok := w.opts.Store.Get(key)
		return state[T]{obj: obj, shown: ok}
	}
	at := w.opts.Store.ReportedVersion(e.scope)
	obj, ok := w.opts.Store.Get(key)
	if w.opts.Store.ReportedVersion(e.scope) != at {
		// The object may be newer than the version. A removal hides what is older than
		// it, by the version if objects have none.
		v := w.opts.Store.Snapshot()
		at = v.ReportedVersion(e.scope)
		obj, ok = v.Get(key)
	}
	return e.resolve(&w.opts.Rules, at, obj, ok)
}

// View returns the store's latest snapshot merged with the writes. It reads the writes
// before the snapshot, since an entry is removed once the store shows its write.
func (w *Writes[T]) View() View[T] {
	over := w.over.Load()
	if over == nil {
		return View[T]{Base: w.opts.Store.Snapshot()}
	}
	generation := w.generation.Load()
	base := w.opts.Store.Snapshot()
	return View[T]{Base: base, merged: &merged[T]{base: base, over: over, r: &w.opts.Rules, generation: generation}}
}

// IndexesChanged records that an index was added to the store or removed from it.
func (w *Writes[T]) IndexesChanged() { w.generation.Add(1) }

// passedLocked ends the entries in a scope that the store now shows.
func (w *Writes[T]) passedLocked(s *scopeState, changes []store.Change[T]) {
	over := w.over.Load()
	if w.noticed {
		for i := range changes {
			w.leavesLocked(over, &changes[i], s.at)
		}
	}
	if over == nil {
		return
	}
	over, w.gone = over.unpin(w.gone), nil
	left, confirmed := over.pass(&w.opts.Rules, s.ID, s.whole(), s.at, w.opts.Store.Get, changes)
	w.counts.Confirmed += uint64(confirmed)
	w.setLocked(left)
}

// leavesLocked remembers the object that c shows to have left the collection, if any.
func (w *Writes[T]) leavesLocked(over *overlay[T], c *store.Change[T], at string) {
	if c.Type == store.Added || c.Type == store.Updated && c.Reason == store.Live {
		return
	}
	l := leaving{uid: w.opts.Rules.UID(c.Old), version: at}
	if l.uid == "" {
		if e := over.at(c.Key); e != nil {
			if i := slices.IndexFunc(e.removals, func(m removal) bool { return w.opts.Rules.leaves(&m, c) }); i >= 0 {
				l.uid = e.removals[i].uid
			}
		}
	}
	switch {
	case l.uid == "":
		l.key, l.at = c.Key, time.Now()
	case c.Type == store.Updated:
		return
	}
	if len(w.left) < maxLeft {
		w.left = append(w.left, l)
		return
	}
	w.left[w.leftAt%maxLeft] = l
	w.leftAt++
}

// Pin keeps the write to an object after a version of it arrived that cannot be stored: when
// the watch has passed the write, the store will not show it. A write to another object under
// the key ends as any other does. An empty uid is any.
func (w *Writes[T]) Pin(key store.Key, uid types.UID) {
	if w.over.Load() == nil {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if e := w.over.Load().at(key); e != nil && e.written != nil && uid != "" && e.written.uid != "" && e.written.uid != uid {
		w.gone = append(w.gone, key)
		return
	}
	w.gone = slices.DeleteFunc(w.gone, func(k store.Key) bool { return k == key })
	w.setLocked(w.over.Load().pin(key))
}

// Unpin ends what Pin began, with the step that follows, for keys that the collection does not
// have any more.
func (w *Writes[T]) Unpin(gone func(store.Key) bool) {
	if w.over.Load() == nil {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.gone = append(w.gone, w.over.Load().pinned(gone)...)
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
		w.counts.Dropped += uint64(len(dropped))
		w.left, w.leftAt = nil, 0
		w.endWaitsLocked(ErrEpoch, func(wait *waiting) bool { return wait.includes(s) })
		return dropped
	}
	w.passedLocked(s, changes)
	w.wakeLocked()
	return nil
}
