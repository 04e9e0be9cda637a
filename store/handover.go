package store

import "slices"

// How versions pass from the writer to readers
//
// Store.latest points to the version that readers see. The version's state decides
// who may access it. The phase of a state is one of:
//
//	open    the writer may make it busy and change it in place, a reader may
//	        take or borrow it
//	busy    the writer is changing it in place, for the time of one operation
//	wanted  busy, and readers wait for it
//	taken   a reader holds it: it never changes again
//
//	open ──reader──▶ taken
//	open, lent n times ──reader──▶ open, lent n+1 times ──reader──▶ open, lent n times
//	open, lent to nobody ──writer──▶ busy ──writer──▶ open
//	open, lent ──writer──▶ taken
//	busy ──reader──▶ wanted ──writer──▶ taken, and readers are woken
//
// A writer that finds the version taken or lent derives a new one, copies what it
// changes, and publishes the new version by one store to latest; until then readers
// have the old one. So the writer never waits, and a reader waits at most for one
// operation in place. User functions are called before the version becomes busy.
//
// Memory order: the writer's changes happen before its store to state (open, taken)
// or to latest, which happens before the reader's load of it. A read of a lent
// version happens before the compare-and-swap that gives the version back, which
// happens before the writer's compare-and-swap from open to busy.
const (
	open uint32 = iota
	busy
	wanted
	taken

	// phase is the mask of the bits that hold the phase. Of an open version the next
	// 14 bits count how often it is lent now, and the rest how many leases there were
	// since it was last written.
	phase     = 1<<2 - 1
	oneLent   = 1 << 2
	lent      = 1<<16 - oneLent
	oneLease  = 1 << 16
	allLeases = maxLeases << 16
)

const (
	// A reader checks this often whether a busy version has been released before it
	// asks to be woken: an operation in place mostly takes less than a microsecond.
	spins = 64

	// After this many leased reads without a write between, the version is taken for
	// good: then reads change nothing and do not contend, at the price of a copy of
	// each block that is written after it. The copy takes as long as 50 to 100 leases.
	maxLeases = 64
)

// current returns the latest version, taken.
func (s *Store[T]) current() *Snapshot[T] {
	v := s.latest.Load()
	if v.state.Load() != taken {
		v.take()
	}
	return v
}

// take makes a version immutable. It waits if the writer is changing it.
func (v *Snapshot[T]) take() {
	for i := 0; ; i++ {
		switch st := v.state.Load(); st & phase {
		case taken:
			return
		case open:
			if v.state.CompareAndSwap(st, taken) {
				return
			}
		case busy:
			if i < spins {
				continue
			}
			if v.ready.Load() == nil {
				c := make(chan struct{})
				v.ready.CompareAndSwap(nil, &c)
			}
			v.state.CompareAndSwap(busy, wanted)
		case wanted:
			<-*v.ready.Load()
		}
	}
}

// lease returns the latest version for one short read, and whether it must be
// released. Unlike take, it does not make the next write copy.
func (s *Store[T]) lease() (*Snapshot[T], bool) {
	v := s.latest.Load()
	st := v.state.Load()
	if st == taken {
		return v, false
	}
	if st&phase == open && st&lent != lent && st < allLeases-oneLease &&
		v.state.CompareAndSwap(st, st+oneLease+oneLent) {
		return v, true
	}
	v.take()
	return v, false
}

// borrow is lease for reads that are followed by a write of what was read, as a
// decoder's are. The version is not taken, however many such reads there are, even
// from several goroutines: otherwise each of these writes would copy a block.
func (s *Store[T]) borrow() (*Snapshot[T], bool) {
	v := s.latest.Load()
	for {
		st := v.state.Load()
		if st&phase != open || st&lent == lent {
			v.take()
			return v, false
		}
		if v.state.CompareAndSwap(st, st+oneLent) {
			return v, true
		}
	}
}

// release gives back a lent version. If it was taken meanwhile, there is nothing to
// give back.
func (v *Snapshot[T]) release() {
	for {
		st := v.state.Load()
		if st&phase != open || v.state.CompareAndSwap(st, st-oneLent) {
			return
		}
	}
}

// giveBack releases the version if it is lent.
func (v *Snapshot[T]) giveBack(lent bool) {
	if lent {
		v.release()
	}
}

// view returns the version that the writer is at, for reading.
func (s *Store[T]) view() *Snapshot[T] {
	if s.draft != nil {
		return s.draft
	}
	return s.latest.Load()
}

// begin returns the version to change: the latest, made busy, or a draft. No user
// code may run until end.
func (s *Store[T]) begin() *Snapshot[T] {
	if s.draft != nil {
		return s.draft
	}
	v := s.latest.Load()
	if st := v.state.Load(); st&(phase|lent) == open && v.state.CompareAndSwap(st, busy) {
		s.inPlace = v
		return v
	}
	return s.beginDraft()
}

// beginDraft derives a version that no reader sees before publish.
func (s *Store[T]) beginDraft() *Snapshot[T] {
	v := s.latest.Load()
	v.state.Store(taken) // only the writer makes it busy, so it is not busy now
	s.draft = &Snapshot[T]{
		store:        s,
		epoch:        v.epoch + 1,
		blocks:       v.blocks,
		root:         v.root,
		n:            v.n,
		odd:          v.odd,
		indexes:      v.indexes,
		indexOwner:   v.indexOwner,
		versions:     v.versions,
		versionOwner: v.versionOwner,
	}
	return s.draft
}

// end releases a busy version. A draft stays until publish.
func (s *Store[T]) end() {
	v := s.inPlace
	if v == nil {
		return
	}
	s.inPlace = nil
	if !v.state.CompareAndSwap(busy, open) {
		v.state.Store(taken)
		close(*v.ready.Load())
	}
	s.forget()
}

// publish makes the draft, if there is one, visible to readers.
func (s *Store[T]) publish() {
	if s.draft != nil {
		s.latest.Store(s.draft)
		s.draft, s.drafted = nil, 0
	}
	s.forget()
}

// forget frees what deleted objects had besides the version: their hints, because a
// version without them is published by now, and their slots. So no slot is used twice
// within one version.
func (s *Store[T]) forget() {
	for _, g := range s.gone {
		s.hints.remove(g.tag, g.slot)
		s.free.push(g.slot)
	}
	if cap(s.gone) > maxDraft {
		s.gone = nil
	}
	s.gone = s.gone[:0]
	if s.goneSlots != nil {
		s.hints.removeAll(s.goneSlots)
		s.goneSlots.each(s.free.push)
		s.goneSlots = nil
	}
}

// ownIndexes returns the version's indexes for changing them in place.
func (v *Snapshot[T]) ownIndexes() []indexRoot[T] {
	if v.indexOwner != v.epoch {
		v.indexes = slices.Clone(v.indexes)
		v.indexOwner = v.epoch
	}
	return v.indexes
}

// setVersion sets the resource version of a batch's scope. An empty one forgets the scope.
func (v *Snapshot[T]) setVersion(b *Batch[T], version string) {
	next := scopeVersion{id: b.Scope.ID, version: version}
	i, ok := v.versionNo(next.id)
	switch {
	case b.Reported:
		next.reported = version
	case ok:
		next.reported = v.versions[i].reported
	}
	if ok && v.versions[i] == next {
		return
	}
	if v.versionOwner != v.epoch {
		v.versions = slices.Clone(v.versions)
		v.versionOwner = v.epoch
	}
	switch {
	case version == "":
		if ok {
			v.versions = slices.Delete(v.versions, i, i+1)
		}
		return
	case !ok:
		v.versions = slices.Insert(v.versions, i, next)
	}
	v.versions[i] = next
}
