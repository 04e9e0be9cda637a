package kinglet

import (
	"iter"

	"github.com/kinglet-go/kinglet/internal/overlay"
	"github.com/kinglet-go/kinglet/internal/ownwrites"
	"github.com/kinglet-go/kinglet/store"
)

// Snapshot is one immutable version of an informer's objects: one version of the store,
// merged with the program's own writes ([Informer.Wrote]) that the store did not show
// yet. Objects, indexes, counts and order agree. It is a Reader, and safe for
// concurrent use.
//
// Without such writes, a read costs as much as one of the store. With some, the first
// read of anything but single keys looks at each of them once, and every read costs a
// few nanoseconds more per entry.
//
// The zero Snapshot is not usable: see [Informer.Snapshot].
type Snapshot[T any] struct {
	base *store.Snapshot[T]
	// own is nil if there is nothing to merge.
	own *overlay.View[T]
}

var _ Reader[any] = Snapshot[any]{}

// Get returns the object under key. It does not allocate.
func (s Snapshot[T]) Get(key Key) (T, bool) {
	if s.own != nil {
		return s.own.Get(key)
	}
	return s.base.Get(key)
}

// Len returns the number of objects.
func (s Snapshot[T]) Len() int {
	if s.own != nil {
		return s.own.Len()
	}
	return s.base.Len()
}

// All iterates over all objects in key order.
func (s Snapshot[T]) All() iter.Seq[T] { return s.visit }

func (s Snapshot[T]) visit(yield func(T) bool) {
	if s.own != nil {
		s.own.Span(store.Span{})(yield)
		return
	}
	s.base.Visit(yield)
}

// Keys iterates over all keys in order.
func (s Snapshot[T]) Keys() iter.Seq[Key] { return s.visitKeys }

func (s Snapshot[T]) visitKeys(yield func(Key) bool) {
	if s.own != nil {
		s.own.SpanKeys(store.Span{})(yield)
		return
	}
	s.base.Keys()(yield)
}

// KeysFrom iterates over the keys that are not less than k, in order.
func (s Snapshot[T]) KeysFrom(k Key) iter.Seq[Key] {
	return func(yield func(Key) bool) {
		if s.own != nil {
			s.own.SpanKeys(store.Span{From: &k})(yield)
			return
		}
		s.base.KeysFrom(k)(yield)
	}
}

// Prefix iterates in key order over the objects of one cluster and namespace
// whose name starts with p.Name; over a whole cluster if both Namespace and
// Name are empty.
func (s Snapshot[T]) Prefix(p Key) iter.Seq[T] {
	return func(yield func(T) bool) { s.visitPrefix(p, yield) }
}

func (s Snapshot[T]) visitPrefix(p Key, yield func(T) bool) {
	if s.own != nil {
		s.own.Span(store.PrefixSpan(p))(yield)
		return
	}
	s.base.Prefix(p)(yield)
}

// ByIndex iterates over the objects that the named index holds under value, in
// no particular order. The error wraps ErrNoIndex if there is no such index.
func (s Snapshot[T]) ByIndex(index, value string) (iter.Seq[T], error) {
	if s.own != nil {
		return s.own.ByIndex(index, value)
	}
	return s.base.ByIndex(index, value)
}

// ByIndexes iterates over the objects that each of several indexes holds under its
// value, with their keys, in no particular order. It looks up each object of the
// shortest match in each index. Without matches it yields nothing. The error wraps
// ErrNoIndex if there is no such index.
func (s Snapshot[T]) ByIndexes(matches ...IndexMatch) (iter.Seq2[Key, T], error) {
	if s.own != nil {
		return s.own.ByIndexes(matches...)
	}
	return s.base.ByIndexes(matches...)
}

// IndexKeys iterates over the keys of the objects that ByIndex would yield. The
// error wraps ErrNoIndex if there is no such index.
func (s Snapshot[T]) IndexKeys(index, value string) (iter.Seq[Key], error) {
	if s.own == nil {
		return s.base.IndexKeys(index, value)
	}
	keyed, err := s.own.ByIndexKeyed(index, value)
	if err != nil {
		return nil, err
	}
	return func(yield func(Key) bool) {
		for key := range keyed {
			if !yield(key) {
				return
			}
		}
	}, nil
}

// IndexCount returns how many objects ByIndex would yield, without visiting
// them.
func (s Snapshot[T]) IndexCount(index, value string) (int, error) {
	if s.own != nil {
		return s.own.IndexCount(index, value)
	}
	return s.base.IndexCount(index, value)
}

// IndexValues iterates over the values that have at least one object, in no
// particular order. The error wraps ErrNoIndex if there is no such index.
func (s Snapshot[T]) IndexValues(index string) (iter.Seq[string], error) {
	if s.own != nil {
		return s.own.IndexValues(index)
	}
	return s.base.IndexValues(index)
}

// Indexes returns the names of the indexes, sorted.
func (s Snapshot[T]) Indexes() []string { return s.base.Indexes() }

// ResourceVersion returns the version of the given scope (its ID) that the store's
// part of the snapshot equals; empty before the first list. The program's own writes
// in the snapshot are newer.
func (s Snapshot[T]) ResourceVersion(scope string) string { return s.base.ResourceVersion(scope) }

// Check checks the invariants of the store, for tests: see store.Snapshot.Check.
func (s Snapshot[T]) Check() error { return s.base.Check() }

// latest reads an informer's latest state: each call reads the state at that time.
type latest[T any] struct {
	store *store.Store[T]
	own   *ownwrites.Writes[T]
}

var _ Reader[any] = (*latest[any])(nil)

func (l *latest[T]) snapshot() Snapshot[T] {
	base, merged := l.own.Snapshot()
	return Snapshot[T]{base: base, own: merged}
}

// Get implements Reader.
func (l *latest[T]) Get(key Key) (T, bool) {
	if !l.own.Any() {
		return l.store.Get(key)
	}
	return l.own.Get(key)
}

// Len implements Reader.
func (l *latest[T]) Len() int {
	if !l.own.Any() {
		return l.store.Len()
	}
	return l.snapshot().Len()
}

// All implements Reader.
func (l *latest[T]) All() iter.Seq[T] {
	return func(yield func(T) bool) { l.snapshot().visit(yield) }
}

// Keys implements Reader.
func (l *latest[T]) Keys() iter.Seq[Key] {
	return func(yield func(Key) bool) { l.snapshot().visitKeys(yield) }
}

// Prefix implements Reader.
func (l *latest[T]) Prefix(p Key) iter.Seq[T] {
	return func(yield func(T) bool) { l.snapshot().visitPrefix(p, yield) }
}

// ByIndex implements Reader.
func (l *latest[T]) ByIndex(index, value string) (iter.Seq[T], error) {
	if err := l.store.CheckIndex(index); err != nil {
		return nil, err
	}
	return func(yield func(T) bool) {
		s := l.snapshot()
		if s.own == nil {
			// An index that has been removed since yields nothing.
			_ = s.base.VisitIndex(index, value, yield)
		} else if objs, err := s.own.ByIndex(index, value); err == nil {
			objs(yield)
		}
	}, nil
}

// IndexCount implements Reader.
func (l *latest[T]) IndexCount(index, value string) (int, error) {
	if !l.own.Any() {
		return l.store.IndexCount(index, value)
	}
	return l.snapshot().IndexCount(index, value)
}

// IndexValues implements Reader.
func (l *latest[T]) IndexValues(index string) (iter.Seq[string], error) {
	if err := l.store.CheckIndex(index); err != nil {
		return nil, err
	}
	return func(yield func(string) bool) {
		if values, err := l.snapshot().IndexValues(index); err == nil {
			values(yield)
		}
	}, nil
}

// Indexes implements Reader.
func (l *latest[T]) Indexes() []string { return l.store.Indexes() }

// ResourceVersion implements Reader.
func (l *latest[T]) ResourceVersion(scope string) string { return l.store.ResourceVersion(scope) }
