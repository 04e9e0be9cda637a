package store

import (
	"fmt"
	"slices"
)

// maxDraft bounds how many operations of a batch readers cannot see yet. The
// operations of a draft share the copies that it makes, so it is not published
// after each of them.
const maxDraft = 64

// plan is what put computes for one index before it changes anything.
type plan struct {
	values  []string
	changed bool
}

// Put adds an object, or replaces the one under its key and drops that one's
// memo. Nothing changes if the error is a *KeyError; if it is an *IndexError,
// the object is stored: see Errors. Put allocates nothing if the key was there,
// no index value changed and no snapshot is held; but once there are Reported batches, a
// key is remembered until the next of them that names it.
func (s *Store[T]) Put(obj T) (err error) {
	key, err := s.KeyOf(obj)
	if err != nil {
		return err
	}
	s.mu.Lock()
	defer s.unlock(&err)
	at := s.locate(key)
	s.putLocked(key, at.found())
	s.put(at, key, &Op[T]{Object: obj}, &Batch[T]{})
	return nil
}

// Write makes one operation, in the scope of everything: it puts op.Object
// under op.Key, or deletes what is under it. Deleting an absent key changes
// only the resource version. Nothing changes if the error is a *KeyError: the
// object's key is not the one that op names. If it is an *IndexError, the
// object is stored: see Errors. Write allocates as little as Put.
func (s *Store[T]) Write(op Op[T]) (err error) {
	if err := op.checkKey(s); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.unlock(&err)
	at := s.locate(op.Key)
	switch {
	case !op.Delete:
		s.putLocked(op.Key, at.found())
		s.put(at, op.Key, &op, &Batch[T]{})
	case at.found():
		s.removedLocked(op.Key, at.object())
		s.erase(at, op.Key, &Batch[T]{}, op.ResourceVersion)
	case op.ResourceVersion != "":
		s.begin().setVersion(&Batch[T]{}, op.ResourceVersion)
	}
	return nil
}

// Delete removes a key and returns the object that was there.
func (s *Store[T]) Delete(key Key) (T, bool) {
	s.mu.Lock()
	defer s.unlock(nil)
	at := s.locate(key)
	old := at.object()
	if at.found() {
		s.removedLocked(key, old)
		s.erase(at, key, &Batch[T]{}, "")
	}
	return old, at.found()
}

// Apply makes the operations of a batch, in their order, and appends to changes
// what each changed; deleting an absent key changes nothing. If the batch is
// Reported, the changes are relative to what their receivers know. Readers may
// see the batch in parts, unless b.AtOnce is set: every operation as a whole,
// and no later one without the earlier. They see all of it once Apply has
// returned.
//
// Two kinds of operations change nothing: a put whose object has no key, or not
// the key that the operation names; and an operation outside the batch's scope.
// The error joins a *KeyError for each, and the errors of other user functions;
// all other operations are made. A Deleted change has FinalStateUnknown set if
// its operation did not bring the object.
func (s *Store[T]) Apply(b Batch[T], changes []Change[T]) (_ []Change[T], err error) {
	s.mu.Lock()
	defer s.unlock(&err)
	changes = slices.Grow(changes, len(b.Ops))
	s.byHand.from = s.byHand.from || b.Reported
	if b.AtOnce && len(b.Ops) > 0 {
		s.beginDraft()
	}
	for i := range b.Ops {
		op := &b.Ops[i]
		if !s.admit(&b.Scope, op) {
			continue
		}
		at := s.locate(op.Key)
		old, known, byHand, unknown := s.reportLocked(at, op.Key, b.Reported)
		if op.Delete && !known {
			continue
		}
		c := Change[T]{Type: Added, Key: op.Key, Old: old, New: op.Object, ByHand: unknown,
			ResourceVersion: op.ResourceVersion, Reason: b.Reason}
		if c.ResourceVersion == "" {
			c.ResourceVersion = b.ResourceVersion
		}
		switch {
		case op.Delete:
			var none T
			c.Type, c.New, c.Last, c.FinalStateUnknown = Deleted, none, old, !op.HasObject
			if op.HasObject {
				c.Old = op.Object
			}
			if at.found() {
				if !b.Reported {
					s.removedLocked(op.Key, old)
				}
				s.erase(at, op.Key, &b, op.ResourceVersion)
			}
		default:
			if known {
				if at.found() && !byHand && op.IfChanged && s.opts.Equal != nil && s.equal(op.Key, old, op.Object) {
					continue
				}
				c.Type = Updated
			}
			if !b.Reported {
				s.putLocked(op.Key, at.found())
			}
			s.put(at, op.Key, op, &b)
		}
		changes = append(changes, c)
		if s.draft != nil && !b.AtOnce {
			if s.drafted++; s.drafted >= maxDraft {
				s.publish()
			}
		}
	}
	if b.ResourceVersion != "" {
		s.begin().setVersion(&b, b.ResourceVersion)
		s.end()
	}
	return changes, nil
}

// admit reports whether an operation can be made; if not, it records the error.
func (s *Store[T]) admit(scope *Scope, op *Op[T]) bool {
	if err := op.checkKey(s); err != nil {
		s.errs = append(s.errs, err)
		return false
	}
	if !s.inScope(scope, op.Key) {
		s.errs = append(s.errs, &KeyError{Object: op.Key.String(), Err: fmt.Errorf("not in scope %q", scope.ID)})
		return false
	}
	return true
}

func (op *Op[T]) checkKey(s *Store[T]) error {
	if op.Delete || op.Keyed {
		return nil
	}
	return s.CheckKey(op.Key, op.Object)
}

// CheckKey returns a *KeyError if the store's KeyFunc has another key for an object, or none.
// It takes no lock.
func (s *Store[T]) CheckKey(key Key, obj T) error {
	if s.opts.KeyFunc == nil {
		return nil
	}
	is, err := s.KeyOf(obj)
	if err == nil && is != key {
		err = &KeyError{Object: describe(obj), Err: fmt.Errorf("it is %s, and arrived as %s", is, key)}
	}
	return err
}

// location is where the writer found a key, or did not.
type location[T any] struct {
	fingerprint
	slot  uint32
	entry *entry[T] // nil if the key is absent
}

func (l location[T]) found() bool { return l.entry != nil }

func (l location[T]) object() (obj T) {
	if l.entry != nil {
		obj = l.entry.obj
	}
	return obj
}

// locate finds a key in the version that the writer is at. All of its keys
// have a hint, so a miss is certain.
func (s *Store[T]) locate(key Key) location[T] {
	l := location[T]{fingerprint: s.hints.of(key)}
	l.entry, l.slot = s.view().findHinted(l.fingerprint)
	return l
}

// put writes the object of op, which is one of b, under its key and returns the slot.
func (s *Store[T]) put(at location[T], key Key, op *Op[T], b *Batch[T]) uint32 {
	// First everything that calls user code.
	moves := false
	for i, x := range s.indexers {
		p := &s.planned[i]
		p.values = s.valuesOf(x, key, op.Object)
		filing := uint32(filedNowhere)
		if at.found() {
			filing = *s.filings.at(at.slot, x.col)
		}
		p.changed = !x.filedUnder(filing, at.slot, p.values)
		moves = moves || p.changed
	}
	slot := at.slot
	if !at.found() {
		slot = s.newSlot()
		s.hints.add(at.tag, slot)
	} else if moves {
		s.stopDeferring()
	}

	w := s.begin()
	p := w.blocks.own(slot, w.epoch)
	p.put(slot, at.print, op.Object, op.Memo)
	if !at.found() {
		if s.opts.RememberKeys {
			p.setKey(slot, key)
		}
		if s.bulk != nil {
			s.bulk.added.add(key, slot)
		} else {
			w.insert(key, slot)
		}
		w.n++
	}
	if moves {
		roots := w.ownIndexes()
		for i, x := range s.indexers {
			if s.planned[i].changed {
				x.file(&roots[i], s.hints.seeds[0], s.filings.at(slot, x.col), slot, s.planned[i].values, w.epoch)
			}
		}
	}
	if op.ResourceVersion != "" {
		w.setVersion(b, op.ResourceVersion)
	}
	s.end()
	clear(s.planned) // keep no strings alive
	return slot
}

// newSlot returns a slot that no version published since its last use shows.
func (s *Store[T]) newSlot() uint32 {
	slot, ok := s.free.pop()
	if !ok {
		if s.slots == maxSlots {
			panic("store: 2,147,483,647 objects are the most that a store can hold")
		}
		slot = s.slots
		s.slots++
		s.filings.reach(slot)
		s.free.reach(slot)
	}
	return slot
}

// erase deletes the object under a key that was found.
func (s *Store[T]) erase(at location[T], key Key, b *Batch[T], version string) {
	w := s.begin()
	w.remove(key, at.slot)
	for i, x := range s.indexers {
		filing := s.filings.at(at.slot, x.col)
		if *filing != filedNowhere {
			x.file(&w.ownIndexes()[i], s.hints.seeds[0], filing, at.slot, nil, w.epoch)
		}
	}
	w.blocks.clear(at.slot, w.epoch)
	w.n--
	if version != "" {
		w.setVersion(b, version)
	}
	s.gone = append(s.gone, gone{at.tag, at.slot})
	s.end()
}
