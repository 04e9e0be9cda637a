package store

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
)

// Store keeps the latest state of objects by key, in key order and in any
// number of indexes, and hands out snapshots of it.
//
// All methods are safe for concurrent use. Writes are made one at a time; they wait
// for each other, and never for a reader. A read waits for at most one operation of a
// write (one object put or deleted, without the time in user functions), whatever the
// store's size, and for no part of a Replace. An operation takes about 2 µs. A reader
// that must wait for one is woken in 100 µs (p99, with a writer that never pauses, on
// two cores), and in tens of milliseconds at worst, if the system preempts the writer
// in the middle; bench's row store/snapshot-wait measures it. Every read that begins
// after a write has returned sees what the write changed.
type Store[T any] struct {
	opts      Options[T]
	identical func(a, b T) bool // nil if T has no identity
	hints     hints
	latest    atomic.Pointer[Snapshot[T]]

	mu sync.Mutex
	// Everything below is guarded by mu. Only the writer looks at it.

	// indexers stand in the order of the version's indexes.
	indexers []*indexer[T]
	filings  filings
	// slots is how many slots were ever used; free are those not in use now.
	slots  uint32
	free   freeSlots
	byHand byHand[T]
	// gone and goneSlots are the slots deleted since the last publication; see
	// forget.
	gone      []gone
	goneSlots slotBits
	// At most one of draft and inPlace is set; see handover.go.
	draft   *Snapshot[T]
	inPlace *Snapshot[T]
	// bulk is not nil while a Replace makes its operations.
	bulk *bulk[T]
	// drafted counts the operations in the draft.
	drafted int
	// planned is scratch space of put, one plan for each indexer.
	planned []plan
	// errs are the errors that the write under way will return.
	errs []error
}

var _ Reader[any] = (*Store[any])(nil)

type gone struct{ tag, slot uint32 }

// New returns an empty store. It starts nothing. The error lists everything
// that is wrong with the options.
func New[T any](opts Options[T]) (*Store[T], error) {
	if err := opts.validate(); err != nil {
		return nil, err
	}
	s := &Store[T]{opts: opts, identical: identity[T]()}
	s.hints.init(opts.RememberKeys)
	v := &Snapshot[T]{store: s, epoch: 1}
	for name, fn := range opts.Indexers {
		s.indexers = append(s.indexers, &indexer[T]{name: name, fn: fn})
	}
	s.opts.Indexers = nil
	slices.SortFunc(s.indexers, func(a, b *indexer[T]) int { return strings.Compare(a.name, b.name) })
	for i, x := range s.indexers {
		x.col = i
		v.indexes = append(v.indexes, indexRoot[T]{name: x.name, fn: x.fn})
	}
	s.filings.cols = len(s.indexers)
	s.planned = make([]plan, len(s.indexers))
	s.latest.Store(v)
	return s, nil
}

// unlock ends a write: it publishes what is not yet published, and sets err to the
// errors of the write; err is nil for a write that calls no user function. It is
// deferred, so that the store survives a user function that ends the goroutine.
func (s *Store[T]) unlock(err *error) {
	s.endBulk(nil)
	s.end()
	s.publish()
	if len(s.errs) > 0 {
		*err = joined(s.errs)
		s.errs = nil
	}
	s.mu.Unlock()
}

// AddIndex adds an index and fills it with what the store holds, which takes time
// proportional to the store's size; reads go on meanwhile, writes wait. The error
// wraps ErrIndexExists if the name is in use. If fn fails for some of the objects,
// the index is added without them, and the error joins an *IndexError for each: see
// Errors.
func (s *Store[T]) AddIndex(name string, fn IndexFunc[T]) (err error) {
	if fn == nil {
		return fmt.Errorf("store: the function of index %q is nil", name)
	}
	s.mu.Lock()
	defer s.unlock(&err)
	at, exists := s.view().indexNo(name)
	if exists {
		return fmt.Errorf("%w: %q", ErrIndexExists, name)
	}
	w := s.beginDraft()
	w.ownIndexes()
	w.indexes = slices.Insert(w.indexes, at, indexRoot[T]{name: name, fn: fn})
	x := &indexer[T]{name: name, fn: fn, col: s.filings.widen(s.slots)}
	s.indexers = slices.Insert(s.indexers, at, x)
	s.planned = make([]plan, len(s.indexers))
	for slot := range s.slots {
		e := w.blocks.at(slot)
		if e == nil {
			continue
		}
		if values := s.valuesOf(x, w.keyOf(slot), e.obj); len(values) > 0 {
			x.file(&w.indexes[at], s.hints.seeds[0], s.filings.at(slot, x.col), slot, values, w.epoch)
		}
	}
	return nil
}

// IndexFuncs returns the functions of the indexes by name.
func (s *Store[T]) IndexFuncs() map[string]IndexFunc[T] {
	s.mu.Lock()
	defer s.mu.Unlock()
	fns := make(map[string]IndexFunc[T], len(s.indexers))
	for _, x := range s.indexers {
		fns[x.name] = x.fn
	}
	return fns
}

// RemoveIndex removes an index. Snapshots taken before still have it. The
// error wraps ErrNoIndex if there is none of that name.
func (s *Store[T]) RemoveIndex(name string) error {
	s.mu.Lock()
	defer s.unlock(nil)
	at, exists := s.view().indexNo(name)
	if !exists {
		return fmt.Errorf("%w: %q", ErrNoIndex, name)
	}
	w := s.beginDraft()
	w.ownIndexes()
	w.indexes = slices.Delete(w.indexes, at, at+1)
	col := s.indexers[at].col
	s.indexers = slices.Delete(s.indexers, at, at+1)
	s.planned = make([]plan, len(s.indexers))
	s.filings.narrow(col)
	for _, x := range s.indexers {
		if x.col > col {
			x.col--
		}
	}
	return nil
}

// SetResourceVersion sets the version of a scope, with nothing else changed. An empty
// one forgets the scope.
func (s *Store[T]) SetResourceVersion(scope, rv string) {
	s.mu.Lock()
	defer s.unlock(nil)
	s.begin().setVersion(&Batch[T]{Scope: Scope{ID: scope}}, rv)
	s.end()
}
