package sink

import (
	"sync/atomic"
	"weak"

	"k8s.io/apimachinery/pkg/types"

	"github.com/kinglet-go/kinglet/internal/engine/deliver"
	"github.com/kinglet-go/kinglet/internal/engine/mutation"
	"github.com/kinglet-go/kinglet/internal/engine/own"
	"github.com/kinglet-go/kinglet/internal/errtype"
	"github.com/kinglet-go/kinglet/reflector"
	"github.com/kinglet-go/kinglet/source"
	"github.com/kinglet-go/kinglet/store"
)

// keepBatch is the largest batch whose memory an idle sink keeps: 16 events take
// 4 KiB. The memory of a larger one (60 KiB for the 256 events that a source sends at
// once) is kept only until the next garbage collection.
const keepBatch = 16

// Options of a Sink. All are required, except Detector, Version and RemoveUndecodable.
type Options[T any] struct {
	Store *store.Store[T]
	Hub   *deliver.Hub[T]
	Own   *own.Writes[T]
	// Detector receives every object before it is stored; nil if off.
	Detector *mutation.Detector[T]
	// UID distinguishes an object from a later one under the same key.
	UID func(T) types.UID
	// Version returns an object's resource version, or empty; nil if objects have
	// none. With it a version that arrives again counts as a duplicate.
	Version func(T) string
	// RemoveUndecodable removes an object when a later version of it cannot be
	// stored. Otherwise the last good version stays.
	RemoveUndecodable bool
	// Report is called with each error, under no lock.
	Report func(error)
	// Synced is called once, when the first list is published. It calls Hub.Synced once
	// every sink of the hub has published one.
	Synced func()
	// Stepped is called under the hub's lock after each step that may have changed the store:
	// with the changes, or after a list, whose changes are not always known. May be nil.
	Stepped func(changes []store.Change[T], list bool)
	// Arrived is shared by all sinks of the hub.
	Arrived *Arrived
	// Epoch is increased when the server begins to number anew.
	Epoch *atomic.Uint64
	// Live reports, under the hub's lock, whether handlers have begun.
	Live func() bool
	// Several reports whether the hub has had several sinks, each with a scope of its
	// own. Then it gets no version from them, since it has one for all scopes.
	Several func() bool
}

// Sink is an informer's sink of one scope, the one of Options.Own. Its methods are called
// from the reflector's goroutine, except Held and DecodeAfresh, which are safe for
// concurrent use.
type Sink[T any] struct {
	// Quarantine may be read at any time.
	Quarantine Quarantine

	opts Options[T]
	// listed: the first list has been published.
	listed bool
	// failures are the errors of the step under way.
	failures []error
	// afresh are the keys whose objects are decoded without their memos until the next
	// list; may be nil.
	afresh atomic.Pointer[map[store.Key]struct{}]
	// staging: a list is arriving, and there is more than one sink. own is how many objects
	// of its scope were held when it began, and more what it has added to Arrived.
	staging   bool
	own, more int
	// duplicates counts events that changed nothing.
	duplicates atomic.Uint64

	// small is the workspace of batches of up to keepBatch events, large that of
	// others.
	small workspace[T]
	large weak.Pointer[workspace[T]]
}

// workspace is memory that is reused from batch to batch.
type workspace[T any] struct {
	ops     []store.Op[T]
	changes []store.Change[T]
}

var (
	_ reflector.Sink[any] = (*Sink[any])(nil)
	_ reflector.Sized     = (*Sink[any])(nil)
	_ reflector.Comparing = (*Sink[any])(nil)
)

// New returns a sink that has received nothing.
func New[T any](opts Options[T]) *Sink[T] { return &Sink[T]{opts: opts} }

// Held implements reflector.Sink: it returns the object under key and its memo.
func (s *Sink[T]) Held(key store.Key) (T, store.Memo, bool) {
	obj, memo, ok := s.opts.Store.Held(key)
	if afresh := s.afresh.Load(); afresh != nil {
		if _, is := (*afresh)[key]; is {
			memo = nil
		}
	}
	return obj, memo, ok
}

// DecodeAfresh makes Held return no memos for keys, so that their objects are decoded
// from scratch until the next list has been published.
func (s *Sink[T]) DecodeAfresh(keys map[store.Key]struct{}) { s.afresh.Store(&keys) }

// Apply implements reflector.Sink for a batch of live events.
func (s *Sink[T]) Apply(scope store.Scope, events []source.Event[T], version string) {
	for i := range events {
		s.entering(&events[i].Item, events[i].Type == source.Deleted)
	}
	w := s.workspace(len(events))
	s.opts.Hub.Commit(func() ([]store.Change[T], string) {
		s.operations(w, events)
		batch := store.Batch[T]{Scope: scope, Ops: w.ops, Reason: store.Live, ResourceVersion: version, Reported: true}
		changes, err := s.opts.Store.Apply(batch, w.changes)
		s.failed(err)
		if n := s.unchanged(w.ops, changes, err); n > 0 {
			s.duplicates.Add(n)
		}
		w.changes = s.legal(changes)
		s.opts.Own.Reached(scope.ID, version, w.changes)
		s.stepped(w.changes, false)
		return w.changes, s.hubVersion(version)
	})
	s.opts.Detector.Settled()
	s.reportFailures()
	w.empty()
}

func (s *Sink[T]) stepped(changes []store.Change[T], list bool) {
	if s.opts.Stepped != nil {
		s.opts.Stepped(changes, list)
	}
}

// operations appends the operations of events to w.ops, and quarantines versions that
// cannot be stored.
func (s *Sink[T]) operations(w *workspace[T], events []source.Event[T]) {
	healthy := s.Quarantine.empty()
	for i := range events {
		ev := &events[i]
		switch {
		case otherKind(ev.Err):
			w.ops = s.refuseOther(w.ops, ev)
			healthy = healthy && s.Quarantine.empty()
			continue
		case ev.Type == source.Deleted && ev.Key != (store.Key{}):
			// An object that no longer decodes is deleted all the same.
			another := s.another(w.ops, ev)
			if another && !s.Quarantine.has(ev.Key) && s.predecessor(w.ops, ev) {
				continue // the held object was created after this delete
			}
			s.opts.Own.Unpin(func(key store.Key) bool { return key == ev.Key })
			last := ev.Err == nil && !another
			w.ops = append(w.ops, store.Op[T]{
				Key: ev.Key, Delete: true, HasObject: last, Object: ev.Object,
				ResourceVersion: ev.ResourceVersion,
			})
		case ev.Err != nil:
			w.ops = s.refuse(w.ops, &ev.Item)
			healthy = false
			continue
		default:
			w.ops = append(w.ops, store.Op[T]{
				Key: ev.Key, Keyed: true, Object: ev.Object, Memo: ev.Memo, ResourceVersion: ev.ResourceVersion,
				// A source without versions, such as a fake, begins every watch from nothing,
				// and sends everything that exists as Added. An event of another type is
				// delivered, whether the object is equal or not.
				IfChanged: ev.Type == source.Added && ev.ResourceVersion == "",
			})
		}
		if !healthy {
			s.Quarantine.clear(ev.Key)
		}
	}
}

// Substitute stores another form of an object, unless the store no longer holds that, or the
// Epoch is another. Handlers
// receive it as an update. stored is called then, under the hub's lock. Substitute may be
// called from any goroutine. The errors are those of indexes.
func (s *Sink[T]) Substitute(scope store.Scope, key store.Key, held, obj T, epoch uint64, stored func()) (done bool, err error) {
	s.opts.Detector.Entering(key, obj)
	s.opts.Hub.Commit(func() (changes []store.Change[T], _ string) {
		if now, ok := s.opts.Store.Get(key); !ok || any(now) != any(held) || s.opts.Epoch.Load() != epoch {
			return nil, ""
		}
		// The collection stays where it is.
		op := store.Op[T]{Key: key, Object: obj, ResourceVersion: s.opts.Store.ReportedVersion(scope.ID)}
		changes, err = s.opts.Store.Apply(store.Batch[T]{Scope: scope, Ops: []store.Op[T]{op}, Reason: store.Live, Reported: true}, nil)
		if done = len(changes) > 0; done {
			stored()
		}
		return changes, ""
	})
	s.opts.Detector.Settled()
	return done, err
}

// Duplicates implements reflector.Comparing.
func (s *Sink[T]) Duplicates() uint64 { return s.duplicates.Load() }

// unchanged counts the operations that changed nothing: those without a change, except
// refused ones, and puts of the version that was already held.
func (s *Sink[T]) unchanged(ops []store.Op[T], changes []store.Change[T], err error) (n uint64) {
	if s.opts.Version != nil {
		for i := range changes {
			c := &changes[i]
			if c.Type == store.Updated && c.ResourceVersion != "" && s.opts.Version(c.Old) == c.ResourceVersion {
				n++
			}
		}
	}
	if len(ops) == len(changes) {
		return n
	}
	refused := 0
	for _, err := range store.Errors(err) {
		if _, is := errtype.As[*store.KeyError](err); is {
			refused++
		}
	}
	return n + uint64(max(0, len(ops)-len(changes)-refused))
}

// workspace returns an empty workspace for a number of events.
func (s *Sink[T]) workspace(events int) *workspace[T] {
	if events <= keepBatch {
		return &s.small
	}
	w := s.large.Value()
	if w == nil {
		w = &workspace[T]{ops: make([]store.Op[T], 0, events), changes: make([]store.Change[T], 0, events)}
		s.large = weak.Make(w)
	}
	return w
}

// empty forgets the batch's objects.
func (w *workspace[T]) empty() {
	clear(w.ops)
	clear(w.changes)
	w.ops, w.changes = w.ops[:0], w.changes[:0]
}

// Replace implements reflector.Sink for a list: the whole state of the scope at one
// version.
func (s *Sink[T]) Replace(scope store.Scope, pages [][]source.Item[T], version string, epoch bool) {
	for _, page := range pages {
		for i := range page {
			s.entering(&page[i], false)
		}
	}
	s.opts.Hub.Commit(func() (changes []store.Change[T], _ string) {
		kept := s.refuseAll(scope, pages)
		ops := func(yield func(store.Op[T]) bool) {
			for p, page := range pages {
				for i := range page {
					it := &page[i]
					if it.Err == nil && !yield(store.Op[T]{Key: it.Key, Keyed: true, Object: it.Object, Memo: it.Memo}) {
						return
					}
				}
				pages[p] = nil
			}
			for i := range kept {
				if !yield(kept[i]) {
					return
				}
			}
		}
		batch := store.Batch[T]{Scope: scope, Reason: store.Relist, ResourceVersion: version, Reported: true}
		if !s.listed {
			batch.Reason = store.Initial
		}
		if !s.listed && !s.opts.Live() {
			// Handlers read the first list from a snapshot: see deliver.
			s.failed(s.publish(batch, ops, nil))
		} else {
			s.failed(s.publish(batch, ops, func(c store.Change[T]) { changes = append(changes, c) }))
			changes = s.legal(changes)
		}
		if epoch {
			s.opts.Epoch.Add(1)
		}
		s.failures = append(s.failures, s.opts.Own.Replaced(scope.ID, version, changes, epoch)...)
		s.stepped(nil, true)
		return changes, s.hubVersion(version)
	})
	s.afresh.Store(nil)
	s.opts.Detector.Settled()
	s.reportFailures()
	if !s.listed {
		s.listed = true
		s.opts.Synced()
	}
}

// failed records the errors of a write to the store.
func (s *Sink[T]) failed(err error) {
	for _, err := range store.Errors(err) {
		s.Quarantine.notStored(err)
		s.failures = append(s.failures, err)
	}
}

// reportFailures reports the errors of a step. It is called without the hub's lock.
func (s *Sink[T]) reportFailures() {
	for _, err := range s.failures {
		s.opts.Report(err)
	}
	s.failures = nil
}

// Bookmark implements reflector.Sink: it moves the version forward.
func (s *Sink[T]) Bookmark(scope store.Scope, version string) {
	s.opts.Hub.Commit(func() ([]store.Change[T], string) {
		_, _ = s.opts.Store.Apply(store.Batch[T]{Scope: scope, ResourceVersion: version, Reported: true}, nil) // nothing can fail
		s.opts.Own.Reached(scope.ID, version, nil)
		return nil, s.hubVersion(version)
	})
}

// hubVersion returns the version to pass to the hub: that of the scope, or empty if the
// sink is one of several.
func (s *Sink[T]) hubVersion(version string) string {
	if s.opts.Several() {
		return ""
	}
	return version
}

// Leave removes the objects and the state of the scope, which no source follows any
// longer. Handlers receive each object as a Deleted with FinalStateUnknown, since the
// server still has it. No other method may be called after Leave.
func (s *Sink[T]) Leave(scope store.Scope) {
	s.opts.Hub.Commit(func() (changes []store.Change[T], _ string) {
		s.Quarantine.reset(scope)
		batch := store.Batch[T]{Scope: scope, Reason: store.Relist, Reported: true}
		none := func(func(store.Op[T]) bool) {}
		s.failed(s.opts.Store.ReplaceSeq(batch, none, func(c store.Change[T]) { changes = append(changes, c) }))
		s.opts.Store.SetResourceVersion(scope.ID, "")
		s.failures = append(s.failures, s.opts.Own.Leave(scope.ID)...)
		s.stepped(nil, true)
		return changes, ""
	})
	s.opts.Detector.Settled()
	s.reportFailures()
}
