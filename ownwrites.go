package kinglet

import (
	"sync"
	"sync/atomic"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/kinglet-go/kinglet/internal/mutant"
	"github.com/kinglet-go/kinglet/internal/overlay"
	"github.com/kinglet-go/kinglet/source"
	"github.com/kinglet-go/kinglet/store"
)

const (
	// scopeID is the one scope that an informer has.
	scopeID = ""
	// ownFor is how long a write is shown that the watch does not confirm. A
	// watch that is behind by more is broken, or the object is not of the
	// collection after all.
	ownFor = 2 * time.Minute
	// maxOwn bounds the keys with a write that is not confirmed: 16,384 entries
	// take some 4 MB beside the objects. Beyond it the oldest ends as if its time
	// were over.
	maxOwn = 1 << 14
	// maxEnded is of how many objects the end is remembered, to recognise the
	// late answer to a delete: 256 UIDs are 13 KiB.
	maxEnded = 256
)

// runState is whether the informer runs.
type runState uint8

const (
	notBegun runState = iota
	running
	ended
)

// ownWrites is what an informer has been told that the program wrote, and how far
// the source has come: the two change together, as one step of the mirror. Reads
// merge the first with the store; neither the store nor the handlers know of it.
type ownWrites[T any] struct {
	name   string
	rules  overlay.Rules[T]
	store  *store.Store[T]
	report func(error)

	// over is nil while there is nothing to merge. It is swapped under mu, and
	// loses an entry only after the store has published what confirms it.
	over atomic.Pointer[overlay.Overlay[T]]
	// generation counts changes of the set of indexes.
	generation atomic.Uint64

	mu sync.Mutex
	// What follows is guarded by mu.

	// at is the source's version that the store has come to. The store's own may
	// be another, where somebody writes to it by hand.
	at string
	// listed: the store has had a list.
	listed bool
	state  runState
	waits  []*versionWait
	// timer is for the oldest entry; nil without one, and unless running.
	timer *alarm
	// firing counts timers that may be at work.
	firing sync.WaitGroup
	// gone are the UIDs of objects whose end was told last, a ring; nil until
	// the program has told of a write.
	gone   []types.UID
	goneAt int
	counts OwnWritesStatus
}

// alarm is the timer of an overlay's oldest entry.
type alarm struct{ *time.Timer }

// OwnWritesStatus says what has become of the writes that an informer was told
// of: see Informer.Wrote.
type OwnWritesStatus struct {
	// Entries is how many keys have writes that reads include and the store does
	// not show yet, and Oldest when the oldest of them was told; zero without any.
	Entries int
	Oldest  time.Time
	// Confirmed counts writes that were shown until the watch came to them, and
	// Late those that were no news when they were told: the watch, or a later
	// write, had been faster.
	Confirmed, Late uint64
	// Expired counts writes that were not confirmed within two minutes, or were
	// one too many, and Dropped those that ended with a new epoch of the server's
	// versions. Each was reported as an *UnconfirmedWriteError. Deletes of objects
	// that the informer has never seen are not among them: it keeps them for two
	// minutes in case it is about to see one, since it may never have had it.
	Expired, Dropped uint64
}

// version is the source's version that the store has come to, empty before the
// first list.
func (o *ownWrites[T]) version() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.at
}

// reached notes that a step of the mirror has brought the store to a version,
// with what has changed. It is called where the store gets there, and before
// handlers are told, so that whoever learns of the version, by a call, a change
// or Synced, finds it noted. Changes that are the program's own are marked.
func (o *ownWrites[T]) reached(version string, changes []store.Change[T]) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.at = version
	o.passedLocked(changes)
	o.wakeLocked()
}

// passedLocked ends what the store shows by now.
func (o *ownWrites[T]) passedLocked(changes []store.Change[T]) {
	o.rememberEndsLocked(changes)
	over := o.over.Load()
	if over == nil {
		return
	}
	left, confirmed := over.Pass(&o.rules, o.at, o.store.Get, changes)
	o.counts.Confirmed += uint64(confirmed)
	o.setLocked(left)
}

// replaced is reached for a list; epoch says that the server numbers anew. It
// returns what is to be reported.
func (o *ownWrites[T]) replaced(version string, changes []store.Change[T], epoch bool) (dropped []error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.at, o.listed = version, true
	if epoch && !mutant.On(mutant.KeepEpoch) {
		_, all := o.over.Load().Expire(time.Now())
		dropped = o.unconfirmedLocked(all, ErrEpoch)
		o.counts.Dropped += uint64(len(dropped))
		o.setLocked(nil)
		clear(o.gone)
		o.endWaitsLocked(ErrEpoch)
		return dropped
	}
	o.passedLocked(changes)
	o.wakeLocked()
	return nil
}

// setLocked publishes an overlay.
func (o *ownWrites[T]) setLocked(over *overlay.Overlay[T]) {
	if over == o.over.Load() {
		return
	}
	o.over.Store(over)
	switch {
	case over == nil && o.timer != nil:
		o.disarmLocked()
	case over != nil && o.timer == nil && o.state == running:
		o.armLocked(over.Oldest())
	}
}

// armLocked has the timer fire when a write is too old.
func (o *ownWrites[T]) armLocked(oldest time.Time) {
	o.firing.Add(1)
	a := &alarm{}
	a.Timer = time.AfterFunc(time.Until(oldest.Add(ownFor)), func() { o.expire(a) })
	o.timer = a
}

func (o *ownWrites[T]) disarmLocked() {
	if o.timer.Stop() {
		o.firing.Done()
	}
	o.timer = nil
}

// expire ends what is too old. It runs on the timer's goroutine.
func (o *ownWrites[T]) expire(by *alarm) {
	defer o.firing.Done()
	for _, err := range o.expired(by) {
		o.report(err)
	}
}

func (o *ownWrites[T]) expired(by *alarm) []error {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.timer != by {
		return nil // it was stopped too late to be kept from firing
	}
	o.timer = nil
	left, old := o.over.Load().Expire(time.Now().Add(-ownFor))
	o.counts.Expired += uint64(len(old))
	o.setLocked(left)
	if left != nil && o.timer == nil {
		o.armLocked(left.Oldest())
	}
	return o.unconfirmedLocked(old, ErrNotConfirmed)
}

// unconfirmedLocked makes errors of what ended without having been seen.
func (o *ownWrites[T]) unconfirmedLocked(all []overlay.Unconfirmed, why error) (errs []error) {
	for _, u := range all {
		errs = append(errs, &UnconfirmedWriteError{
			Name: o.name, Key: u.Key, UID: u.UID, ResourceVersion: u.Version, Told: u.Since, Err: why,
		})
	}
	return errs
}

// rememberEndsLocked remembers which objects have ended.
func (o *ownWrites[T]) rememberEndsLocked(changes []store.Change[T]) {
	if o.gone == nil {
		return
	}
	for i := range changes {
		if c := &changes[i]; c.Type == store.Deleted {
			o.gone[o.goneAt%maxEnded] = o.rules.UID(c.Old)
			o.goneAt++
		}
	}
}

// begin notes that Run has begun.
func (o *ownWrites[T]) begin() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.state = running
}

// end notes that Run is over, and returns when no timer is at work. What reads
// include stays as it is, since nothing will ever be newer.
func (o *ownWrites[T]) end() {
	o.mu.Lock()
	o.state = ended
	if o.timer != nil {
		o.disarmLocked()
	}
	o.endWaitsLocked(ErrStopped)
	o.mu.Unlock()
	o.firing.Wait()
}

// pin keeps what was written of a key of which a version came that could not be
// taken in: when the version has passed, the store will not show it.
func (o *ownWrites[T]) pin(key store.Key) {
	if o.over.Load() == nil {
		return
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	o.setLocked(o.over.Load().Pin(key))
}

// status returns the counts.
func (o *ownWrites[T]) status() OwnWritesStatus {
	o.mu.Lock()
	defer o.mu.Unlock()
	s, over := o.counts, o.over.Load()
	s.Entries, s.Oldest = over.Len(), over.Oldest()
	return s
}

// runningLocked returns why the informer cannot be told of a write.
func (o *ownWrites[T]) runningLocked() error {
	switch o.state {
	case notBegun:
		return ErrNotRunning
	case ended:
		return ErrStopped
	}
	if o.gone == nil {
		o.gone = make([]types.UID, maxEnded)
	}
	return nil
}

// wrote takes in a write.
func (o *ownWrites[T]) wrote(w overlay.Write[T], coverage source.Coverage) error {
	errs, err := o.add(func(over *overlay.Overlay[T], held T, ok bool) (*overlay.Overlay[T], error) {
		switch coverage {
		case source.NotCovered:
			var none T
			w.Object, w.Absent, w.Values = none, true, nil
		case source.CoverageUnknown:
			if !ok && !over.Has(w.Key) {
				return over, ErrNotCovered
			}
		}
		return over.Wrote(&o.rules, w, o.at, held, ok), nil
	}, w.Key)
	for _, e := range errs {
		o.report(e)
	}
	return err
}

// removed takes in a delete.
func (o *ownWrites[T]) removed(m overlay.Removal) error {
	errs, err := o.add(func(over *overlay.Overlay[T], held T, ok bool) (*overlay.Overlay[T], error) {
		return over.Removed(&o.rules, m, o.at, held, ok, o.hasEndedLocked)
	}, m.Key)
	for _, e := range errs {
		o.report(e)
	}
	return err
}

// hasEndedLocked reports whether the end of an object was told lately.
func (o *ownWrites[T]) hasEndedLocked(uid types.UID) bool {
	for _, is := range o.gone {
		if is == uid {
			return true
		}
	}
	return false
}

// add adds to the overlay, and returns what is to be reported.
func (o *ownWrites[T]) add(change func(over *overlay.Overlay[T], held T, ok bool) (*overlay.Overlay[T], error), key store.Key) ([]error, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if err := o.runningLocked(); err != nil {
		return nil, err
	}
	held, ok := o.store.Get(key)
	over := o.over.Load()
	next, err := change(over, held, ok)
	if err != nil {
		return nil, err
	}
	if next == over {
		o.counts.Late++
		return nil, nil
	}
	var surplus []error
	if next.Len() > maxOwn {
		left, old := next.Expire(next.Oldest())
		o.counts.Expired += uint64(len(old))
		next, surplus = left, o.unconfirmedLocked(old, ErrTooManyWrites)
	}
	o.setLocked(next)
	return surplus, nil
}
