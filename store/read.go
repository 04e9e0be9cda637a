package store

import "iter"

// Snapshot returns the store as it is now. It is O(1) and allocates nothing:
// until the next write it is the same snapshot each time, and the next write
// pays for a copy of what it changes.
func (s *Store[T]) Snapshot() *Snapshot[T] { return s.current() }

// Get returns the object under key. It does not allocate, and costs the next
// write nothing unless many reads follow each other.
func (s *Store[T]) Get(key Key) (T, bool) {
	v, lent := s.lease()
	obj, ok := v.Get(key)
	v.giveBack(lent)
	return obj, ok
}

// GetString is Get(ParseKey(key)). Where keys are remembered it is faster: the
// string is hashed as it is.
func (s *Store[T]) GetString(key string) (obj T, ok bool) {
	if !s.opts.RememberKeys {
		return s.Get(ParseKey(key))
	}
	v, lent := s.lease()
	e, _ := v.findHinted(s.hints.ofText(key))
	if e == nil {
		e, _ = v.findUnhinted(ParseKey(key))
	}
	if e != nil {
		obj, ok = e.obj, true
	}
	v.giveBack(lent)
	return obj, ok
}

// Held returns the object under key and the memo that was put beside it.
// Decoders use them to recognise what has not changed; both may be out of date
// by the time they are used. It is safe for concurrent use, as cheap as Get,
// and costs the next write nothing however many reads there are.
func (s *Store[T]) Held(key Key) (T, Memo, bool) {
	v, lent := s.borrow()
	var obj T
	var memo Memo
	e, slot := v.find(key)
	if e != nil {
		obj, memo = e.obj, v.blocks.memo(slot)
	}
	v.giveBack(lent)
	return obj, memo, e != nil
}

// Len returns the number of objects.
func (s *Store[T]) Len() int {
	v, lent := s.lease()
	n := v.n
	v.giveBack(lent)
	return n
}

// ResourceVersion returns the version of the given scope (its ID) that the
// store equals; empty before the first list.
func (s *Store[T]) ResourceVersion(scope string) string {
	v, lent := s.lease()
	rv := v.ResourceVersion(scope)
	v.giveBack(lent)
	return rv
}

// ReportedVersion returns the version to which Reported batches have brought a scope:
// ResourceVersion, without what other writes have set.
func (s *Store[T]) ReportedVersion(scope string) string {
	v, lent := s.lease()
	rv := v.ReportedVersion(scope)
	v.giveBack(lent)
	return rv
}

// Loops borrow the version at which they begin, so that only writes during a loop copy
// what they change. After a loop that ends by a panic, the next write copies, as after a
// Snapshot.

// All iterates over all objects in key order, as they are when the loop
// begins.
func (s *Store[T]) All() iter.Seq[T] { return s.Visit }

// Visit calls visit with what All iterates over, until it returns false.
func (s *Store[T]) Visit(visit func(T) bool) {
	v, lent := s.borrow()
	v.Visit(visit)
	v.giveBack(lent)
}

// AppendAll appends to list what All iterates over, in less time.
func (s *Store[T]) AppendAll(list []T) []T {
	v, lent := s.borrow()
	list = v.appendAll(list)
	v.giveBack(lent)
	return list
}

// Keys iterates over all keys in order, as they are when the loop begins.
func (s *Store[T]) Keys() iter.Seq[Key] {
	return func(yield func(Key) bool) {
		v, lent := s.borrow()
		v.Keys()(yield)
		v.giveBack(lent)
	}
}

// Prefix iterates as Snapshot.Prefix does, over what is there when the loop
// begins.
func (s *Store[T]) Prefix(p Key) iter.Seq[T] {
	return func(yield func(T) bool) {
		v, lent := s.borrow()
		v.Prefix(p)(yield)
		v.giveBack(lent)
	}
}

// ByIndex iterates as Snapshot.ByIndex does, over what is there when the loop
// begins; over nothing, if the index has been removed meanwhile.
func (s *Store[T]) ByIndex(index, value string) (iter.Seq[T], error) {
	if err := s.CheckIndex(index); err != nil {
		return nil, err
	}
	return func(yield func(T) bool) {
		v, lent := s.borrow()
		// An index that has been removed since has nothing.
		if root, err := v.index(index); err == nil {
			v.walkValue(root, value, yield)
		}
		v.giveBack(lent)
	}, nil
}

// AppendIndex appends to list what ByIndex iterates over, in less time. The error wraps
// ErrNoIndex if there is no such index.
func (s *Store[T]) AppendIndex(list []T, index, value string) ([]T, error) {
	v, lent := s.borrow()
	root, err := v.index(index)
	if err == nil {
		list = v.appendValue(root, value, list)
	}
	v.giveBack(lent)
	return list, err
}

// CheckIndex returns an error that wraps ErrNoIndex if there is no such index.
func (s *Store[T]) CheckIndex(name string) error {
	v, lent := s.lease()
	_, err := v.index(name)
	v.giveBack(lent)
	return err
}

// IndexCount returns how many objects ByIndex would yield, without visiting
// them.
func (s *Store[T]) IndexCount(index, value string) (int, error) {
	v, lent := s.lease()
	n, err := v.IndexCount(index, value)
	v.giveBack(lent)
	return n, err
}

// IndexValues iterates over the values that have at least one object when the
// loop begins, in no particular order.
func (s *Store[T]) IndexValues(index string) (iter.Seq[string], error) {
	if err := s.CheckIndex(index); err != nil {
		return nil, err
	}
	return func(yield func(string) bool) {
		v, lent := s.borrow()
		if values, err := v.IndexValues(index); err == nil {
			values(yield)
		}
		v.giveBack(lent)
	}, nil
}

// Indexes returns the names of the indexes, sorted.
func (s *Store[T]) Indexes() []string {
	v, lent := s.lease()
	names := v.Indexes()
	v.giveBack(lent)
	return names
}
