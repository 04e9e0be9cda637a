package kinglet

import (
	"sync/atomic"
	"weak"

	"k8s.io/apimachinery/pkg/types"

	"github.com/kinglet-go/kinglet/internal/deliver"
	"github.com/kinglet-go/kinglet/internal/mutant"
	"github.com/kinglet-go/kinglet/internal/mutation"
	"github.com/kinglet-go/kinglet/reflector"
	"github.com/kinglet-go/kinglet/source"
	"github.com/kinglet-go/kinglet/store"
)

// keepBatch is the largest batch whose memory an idle mirror keeps: 16 events
// take 4 KiB. What a larger one needed, which is 60 KiB for the 256 events that
// a source sends at once, is kept until the next garbage collection only.
const keepBatch = 16

// mirror is an informer's sink: it writes what the reflector says to the store
// and hands what changed to the handlers, in that order and as one step.
// Its methods are called from the reflector's goroutine, except Held.
//
// Each step changes store, version and quarantine under the hub's lock, so that
// they belong together for whoever holds it (deliver.Hub.View).
type mirror[T any] struct {
	store *store.Store[T]
	// own is told which version the store has come to.
	own        *ownWrites[T]
	quarantine *quarantine
	uid        func(T) types.UID
	report     func(error)
	remove     bool // what cannot be taken in is removed, not kept
	hub        *deliver.Hub[T]
	detector   *mutation.Detector[T] // nil if off
	// firstList is called once, when the first list has been published.
	firstList func()
	listed    bool
	// failures are what went wrong in the step under way.
	failures []error
	// doubted are keys of which the next list is to be decoded afresh; may be
	// nil.
	doubted atomic.Pointer[map[store.Key]struct{}]

	// small is where batches of up to keepBatch events are put together, large
	// where others are.
	small workspace[T]
	large weak.Pointer[workspace[T]]
}

// workspace is memory that is used from batch to batch.
type workspace[T any] struct {
	ops     []store.Op[T]
	changes []store.Change[T]
}

var (
	_ reflector.Sink[any] = (*mirror[any])(nil)
	_ reflector.Sized     = (*mirror[any])(nil)
)

// Held answers decoders: the object under key and the memo beside it.
func (m *mirror[T]) Held(key store.Key) (T, store.Memo, bool) {
	obj, memo, ok := m.store.Held(key)
	if doubted := m.doubted.Load(); doubted != nil {
		if _, is := (*doubted)[key]; is {
			memo = nil
		}
	}
	return obj, memo, ok
}

// version is the source's version that the store has come to, empty before the
// first list.
func (m *mirror[T]) version() string { return m.own.version() }

// Len is how many objects there are, for limits.
func (m *mirror[T]) Len() int { return m.store.Len() }

// Apply takes a batch of live events.
func (m *mirror[T]) Apply(scope store.Scope, events []source.Event[T], version string) {
	if mutant.Enabled {
		events = m.mutate(scope, events, version)
	}
	if m.detector != nil {
		for i := range events {
			if ev := &events[i]; ev.Err == nil && ev.Type != source.Deleted {
				m.detector.Entering(ev.Key, ev.Object)
			}
		}
	}
	w := m.workspace(len(events))
	m.hub.Commit(func() ([]store.Change[T], string) {
		m.operations(w, events)
		batch := store.Batch[T]{Scope: scope, Ops: w.ops, Reason: store.Live, ResourceVersion: version, Reported: true}
		if mutant.On(mutant.EndEarly) {
			m.endEarly(version)
		}
		changes, err := m.store.Apply(batch, w.changes)
		m.failed(err)
		w.changes = m.legal(changes)
		m.own.reached(version, w.changes)
		return w.changes, version
	})
	m.detector.Settled()
	m.reportFailures()
	w.empty()
}

// operations appends to w.ops what events amount to, and quarantines what cannot
// be stored. It is called under the hub's lock.
func (m *mirror[T]) operations(w *workspace[T], events []source.Event[T]) {
	healthy := m.quarantine.empty()
	for i := range events {
		ev := &events[i]
		switch {
		case otherKind(ev.Err) && !(ev.Type == source.Deleted && mutant.On(mutant.DeleteByStranger)):
			w.ops = m.refuseOther(w.ops, ev)
			healthy = healthy && m.quarantine.empty()
			continue
		case ev.Type == source.Deleted && ev.Key != (store.Key{}):
			// What a delete carries matters less than that it is one: an
			// object that does not decode any more is deleted all the same.
			another := m.another(w.ops, ev)
			if another && !m.quarantine.has(ev.Key) && !mutant.On(mutant.DeleteByStranger) {
				continue // old news: what is held was created after it
			}
			last := ev.Err == nil && !another
			w.ops = append(w.ops, store.Op[T]{
				Key: ev.Key, Delete: true, HasObject: last, Object: ev.Object,
				ResourceVersion: ev.ResourceVersion,
			})
		case ev.Err != nil:
			w.ops = m.refuse(w.ops, &ev.Item)
			healthy = false
			continue
		default:
			w.ops = append(w.ops, store.Op[T]{
				Key: ev.Key, Object: ev.Object, Memo: ev.Memo, ResourceVersion: ev.ResourceVersion,
				IfChanged: replayed(ev),
			})
		}
		if !healthy {
			m.quarantine.clear(ev.Key)
		}
	}
}

// replayed reports whether an event may be of the state that a watch begins
// with, again: without versions, as fakes are, every watch begins from nothing,
// and has everything that exists as Added. What somebody says was modified is
// told, equal or not.
func replayed[T any](ev *source.Event[T]) bool {
	return ev.Type == source.Added && ev.ResourceVersion == ""
}

// workspace returns an empty one for so many events.
func (m *mirror[T]) workspace(events int) *workspace[T] {
	if events <= keepBatch {
		return &m.small
	}
	w := m.large.Value()
	if w == nil {
		w = &workspace[T]{ops: make([]store.Op[T], 0, events), changes: make([]store.Change[T], 0, events)}
		m.large = weak.Make(w)
	}
	return w
}

// empty lets go of the batch's objects.
func (w *workspace[T]) empty() {
	clear(w.ops)
	clear(w.changes)
	w.ops, w.changes = w.ops[:0], w.changes[:0]
}

// Replace takes a list: the whole state of the scope at one version.
func (m *mirror[T]) Replace(scope store.Scope, pages [][]source.Item[T], version string, epoch bool) {
	if m.detector != nil {
		for _, page := range pages {
			for i := range page {
				if it := &page[i]; it.Err == nil {
					m.detector.Entering(it.Key, it.Object)
				}
			}
		}
	}
	m.hub.Commit(func() (changes []store.Change[T], _ string) {
		kept := m.refuseAll(scope, pages)
		ops := func(yield func(store.Op[T]) bool) {
			for p, page := range pages {
				for i := range page {
					it := &page[i]
					if it.Err == nil && !yield(store.Op[T]{Key: it.Key, Object: it.Object, Memo: it.Memo}) {
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
		if !m.listed {
			// Nobody is told of these one by one: see below.
			batch.Reason = store.Initial
			m.failed(m.store.ReplaceSeq(batch, ops, nil))
		} else {
			m.failed(m.store.ReplaceSeq(batch, ops, func(c store.Change[T]) { changes = append(changes, c) }))
			changes = m.legal(changes)
		}
		m.failures = append(m.failures, m.own.replaced(version, changes, epoch)...)
		return changes, version
	})
	m.doubted.Store(nil)
	m.detector.Settled()
	m.reportFailures()
	if !m.listed {
		// Handlers read the first list from a snapshot; see deliver.
		m.listed = true
		m.hub.Synced()
		m.firstList()
	}
}

// failed notes what a write of the store returned.
func (m *mirror[T]) failed(err error) { m.failures = append(m.failures, store.Errors(err)...) }

// reportFailures reports what went wrong in a step, when the hub's lock is
// released: no user code but key, UID, index and equality functions runs under it.
func (m *mirror[T]) reportFailures() {
	for _, err := range m.failures {
		m.report(err)
	}
	m.failures = nil
}

// Bookmark moves the version forward.
func (m *mirror[T]) Bookmark(scope store.Scope, version string) {
	m.hub.Commit(func() ([]store.Change[T], string) {
		m.store.SetResourceVersion(scope.ID, version)
		m.own.reached(version, nil)
		return nil, version
	})
}

// legal makes what the store saw into what handlers may see: an object that
// took the place of another under the same key is a delete, then an add.
func (m *mirror[T]) legal(changes []store.Change[T]) []store.Change[T] {
	if mutant.On(mutant.ReorderChanges) {
		reorder(changes)
	}
	replaced := 0
	for i := range changes {
		c := &changes[i]
		switch {
		case c.Type == store.Deleted && c.Reason == store.Relist:
			c.FinalStateUnknown = !mutant.On(mutant.ForgetUnknown)
		case m.takesPlace(c):
			replaced++
		}
	}
	if replaced > 0 {
		changes = m.splitReplaced(changes, replaced)
	}
	return changes
}

// takesPlace reports whether c is an object that took the place of another. An
// object without a UID, such as one that was written to the store directly,
// cannot be told from the next one.
func (m *mirror[T]) takesPlace(c *store.Change[T]) bool {
	return c.Type == store.Updated && m.areTwo(c.Old, c.New) && !mutant.On(mutant.UpdateInPlace)
}

// areTwo reports whether a and b are two objects, not two versions of one.
func (m *mirror[T]) areTwo(a, b T) bool {
	was, is := m.uid(a), m.uid(b)
	return was != is && was != "" && is != ""
}

func (m *mirror[T]) splitReplaced(changes []store.Change[T], replaced int) []store.Change[T] {
	out := make([]store.Change[T], 0, len(changes)+replaced)
	for _, c := range changes {
		if !m.takesPlace(&c) {
			out = append(out, c)
			continue
		}
		gone, added := c, c
		gone.Type, added.Type = store.Deleted, store.Added
		gone.FinalStateUnknown = true // the delete itself was never seen
		var none T
		gone.New, added.Old = none, none
		out = append(out, gone, added)
	}
	return out
}
