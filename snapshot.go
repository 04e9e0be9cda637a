package kinglet

import (
	"iter"

	"github.com/kinglet-go/kinglet/internal/engine/own"
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
type Snapshot[T any] struct{ view own.View[T] }

var _ Reader[any] = Snapshot[any]{}

// Get returns the object under key. It does not allocate.
func (s Snapshot[T]) Get(key Key) (T, bool) { return s.view.Get(key) }

// Len returns the number of objects.
func (s Snapshot[T]) Len() int { return s.view.Len() }

// All iterates over all objects in key order.
func (s Snapshot[T]) All() iter.Seq[T] { return s.view.Visit }

// Keys iterates over all keys in order.
func (s Snapshot[T]) Keys() iter.Seq[Key] { return s.view.SpanKeys(store.Span{}) }

// Prefix iterates in key order over the objects of one namespace whose name starts with
// p.Name; over everything if both Namespace and Name are empty.
func (s Snapshot[T]) Prefix(p Key) iter.Seq[T] {
	return func(yield func(T) bool) { s.view.VisitPrefix(p, yield) }
}

// ByIndex iterates over the objects that the named index holds under value, in
// no particular order. The error wraps ErrNoIndex if there is no such index.
func (s Snapshot[T]) ByIndex(index, value string) (iter.Seq[T], error) {
	return s.view.ByIndex(index, value)
}

// ByIndexes iterates over the objects that each of several indexes holds under its
// value, with their keys, in no particular order. It looks up each object of the
// shortest match in each index. Without matches it yields nothing. The error wraps
// ErrNoIndex if there is no such index.
func (s Snapshot[T]) ByIndexes(matches ...IndexMatch) (iter.Seq2[Key, T], error) {
	return s.view.ByIndexes(matches...)
}

// IndexKeys iterates over the keys of the objects that ByIndex would yield. The
// error wraps ErrNoIndex if there is no such index.
func (s Snapshot[T]) IndexKeys(index, value string) (iter.Seq[Key], error) {
	return s.view.IndexKeys(index, value)
}

// IndexCount returns how many objects ByIndex would yield, without visiting
// them.
func (s Snapshot[T]) IndexCount(index, value string) (int, error) {
	return s.view.IndexCount(index, value)
}

// IndexValues iterates over the values that have at least one object, in no
// particular order. The error wraps ErrNoIndex if there is no such index.
func (s Snapshot[T]) IndexValues(index string) (iter.Seq[string], error) {
	return s.view.IndexValues(index)
}

// Indexes returns the names of the indexes, sorted.
func (s Snapshot[T]) Indexes() []string { return s.view.Base.Indexes() }

// ResourceVersion returns the version of the given scope (its ID) that the store's
// part of the snapshot equals; empty before the first list. The program's own writes
// in the snapshot are newer.
func (s Snapshot[T]) ResourceVersion(scope string) string { return s.view.Base.ReportedVersion(scope) }

// Check checks the invariants of the store, for tests: see store.Snapshot.Check.
func (s Snapshot[T]) Check() error { return s.view.Base.Check() }

// latest reads an informer's latest state: each call, and each loop, reads the state at
// that time.
type latest[T any] struct {
	store *store.Store[T]
	own   *own.Writes[T]
}

var _ Reader[any] = (*latest[any])(nil)

func (l *latest[T]) Get(key Key) (T, bool) {
	if !l.own.Any() {
		return l.store.Get(key)
	}
	return l.own.Get(key)
}

func (l *latest[T]) Len() int {
	if !l.own.Any() {
		return l.store.Len()
	}
	return l.own.View().Len()
}

func (l *latest[T]) All() iter.Seq[T] {
	return func(yield func(T) bool) {
		if !l.own.Any() {
			l.store.Visit(yield)
			return
		}
		l.own.View().Visit(yield)
	}
}

func (l *latest[T]) Keys() iter.Seq[Key] {
	return func(yield func(Key) bool) { l.own.View().SpanKeys(store.Span{})(yield) }
}

func (l *latest[T]) Prefix(p Key) iter.Seq[T] {
	return func(yield func(T) bool) {
		if !l.own.Any() {
			l.store.Prefix(p)(yield)
			return
		}
		l.own.View().VisitPrefix(p, yield)
	}
}

func (l *latest[T]) ByIndex(index, value string) (iter.Seq[T], error) {
	if err := l.store.CheckIndex(index); err != nil {
		return nil, err
	}
	return func(yield func(T) bool) {
		// An index that has been removed since yields nothing.
		_ = l.own.View().VisitIndex(index, value, yield)
	}, nil
}

func (l *latest[T]) IndexCount(index, value string) (int, error) {
	if !l.own.Any() {
		return l.store.IndexCount(index, value)
	}
	return l.own.View().IndexCount(index, value)
}

func (l *latest[T]) IndexValues(index string) (iter.Seq[string], error) {
	if err := l.store.CheckIndex(index); err != nil {
		return nil, err
	}
	return func(yield func(string) bool) {
		if values, err := l.own.View().IndexValues(index); err == nil {
			values(yield)
		}
	}, nil
}

func (l *latest[T]) Indexes() []string { return l.store.Indexes() }

func (l *latest[T]) ResourceVersion(scope string) string { return l.store.ReportedVersion(scope) }
