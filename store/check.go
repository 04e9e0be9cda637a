package store

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// maxFindings bounds what Check reports.
const maxFindings = 20

// findings collects what is wrong.
type findings struct{ errs []error }

func (f *findings) add(format string, args ...any) {
	if len(f.errs) < maxFindings {
		f.errs = append(f.errs, fmt.Errorf("store: "+format, args...))
	}
}

// Check verifies that the version is consistent: every object is in one slot
// and under its own key, in order; every index holds exactly what its
// function returns now, and its counts are right. It returns what is wrong,
// at most 20 findings, joined.
//
// It finds objects that were modified after they were stored, and key and
// index functions that are not pure, as well as errors of the store. It calls
// the functions for every object, and takes time and memory proportional to
// the store's size; reads and writes go on meanwhile.
func (v *Snapshot[T]) Check() error {
	var f findings
	seen := v.checkTree(&f)
	for i := range v.indexes {
		v.checkIndex(&f, &v.indexes[i], seen)
	}
	if !slices.IsSortedFunc(v.versions, func(a, b scopeVersion) int { return strings.Compare(a.id, b.id) }) {
		f.add("scopes are not in order")
	}
	return errors.Join(f.errs...)
}

// checkTree returns the slots that the tree names.
func (v *Snapshot[T]) checkTree(f *findings) map[uint32]bool {
	seen := make(map[uint32]bool, v.n)
	var last *Key
	depth := -1
	var down func(n *node, lo, hi *Key, level int)
	down = func(n *node, lo, hi *Key, level int) {
		if n.owner > v.epoch {
			f.add("a node belongs to a later version")
		}
		if base := shared(lo, hi); !v.odd && int(n.base) > base {
			f.add("a node skips %d bytes, its keys need only share %d", n.base, base)
		}
		v.checkFront(f, n)
		if n.in == nil {
			if depth >= 0 && depth != level {
				f.add("leaves at depths %d and %d", depth, level)
			}
			depth = level
			for _, slot := range n.slots[:n.n] {
				last = v.checkSlot(f, seen, slot, lo, hi, last)
			}
			return
		}
		for _, sep := range n.in.seps[:n.n] {
			if lo != nil && sep.Compare(*lo) <= 0 || hi != nil && sep.Compare(*hi) >= 0 {
				f.add("separator %s is outside of its fences", sep)
			}
		}
		for i, kid := range n.in.kids[:n.n+1] {
			kidLo, kidHi := n.fences(i, lo, hi)
			down(kid, kidLo, kidHi, level+1)
		}
	}
	if v.root != nil {
		down(v.root, nil, nil, 0)
	}
	if len(seen) != v.n {
		f.add("%d objects in the tree, %d counted", len(seen), v.n)
	}
	if n := v.blocks.count(); n != v.n {
		f.add("%d slots in use, %d objects counted", n, v.n)
	}
	return seen
}

// checkFront verifies a node's front-coded keys.
func (v *Snapshot[T]) checkFront(f *findings, n *node) {
	if off := n.offset(int(n.n)); off != len(n.text) {
		f.add("a node has %d bytes of text, its entries %d", len(n.text), off)
		return
	}
	if v.odd {
		return // not used
	}
	off := 0
	for i := range int(n.n) {
		k := v.keyAt(n, i)
		lcp := int(n.base)
		if i > 0 {
			before := v.keyAt(n, i-1)
			lcp = common(&before, &k)
		}
		rest := k.appendTo(nil)
		text := string(n.text[off : off+n.size(i)])
		off += len(text)
		switch {
		case int(n.lcps[i]) != lcp:
			f.add("%s has %d bytes in common with the key before, not %d", k, lcp, n.lcps[i])
		case !strings.HasPrefix(string(rest[min(lcp, len(rest)):]), text):
			f.add("the text of %s is wrong", k)
		case (lcp+len(text) < len(rest)) != (n.lens[i]&cut != 0):
			f.add("the text of %s is cut, or is not, and should", k)
		case n.lens[i]&cut != 0 && len(text) < textMin:
			f.add("the text of %s is cut to %d bytes", k, len(text))
		}
	}
}

func (v *Snapshot[T]) checkSlot(f *findings, seen map[uint32]bool, slot uint32, lo, hi, last *Key) *Key {
	e := v.blocks.at(slot)
	if e == nil {
		f.add("slot %d is in the tree and holds nothing", slot)
		return last
	}
	if seen[slot] {
		f.add("slot %d is in the tree twice", slot)
	}
	seen[slot] = true
	if v.blocks.block(slot).owner > v.epoch {
		f.add("a block belongs to a later version")
	}
	k := v.keyOf(slot)
	if fn := v.store.opts.KeyFunc; fn != nil {
		now, err := fn(e.obj)
		if err != nil {
			f.add("slot %d: no key: %w", slot, err)
			return last
		}
		if now != k {
			f.add("%s was modified: its key is %s now", k, now)
		}
	}
	if last != nil && last.Compare(k) >= 0 {
		f.add("%s stands behind %s", k, last)
	}
	if lo != nil && k.Compare(*lo) < 0 || hi != nil && k.Compare(*hi) >= 0 {
		f.add("%s is outside of its leaf's fences", k)
	}
	if e.print != v.store.hints.of(k).print {
		f.add("slot %d has not the fingerprint of %s", slot, k)
	}
	if found, at := v.find(k); found == nil {
		f.add("%s is in the tree and cannot be found by key", k)
	} else if at != slot {
		f.add("%s finds another object by key", k)
	}
	return &k
}

// checkIndex compares an index with the values that its function returns.
func (v *Snapshot[T]) checkIndex(f *findings, r *indexRoot[T], slots map[uint32]bool) {
	type pair struct {
		slot  uint32
		value string
	}
	due := make(map[pair]bool, len(slots))
	for slot := range slots {
		values, err := callIndex(r.fn, v.blocks.at(slot).obj)
		if err != nil {
			continue
		}
		for _, value := range values {
			due[pair{slot, value}] = true
		}
	}
	r.root.each(func(e *indexed) bool {
		if found := r.root.find(v.store.hints.hashValue(e.value), e.value); found != e {
			f.add("index %q: value %q is not where its hash says", r.name, e.value)
		}
		n, last := 0, -1
		e.eachSlot(func(slot uint32) {
			n++
			if int(slot) <= last {
				f.add("index %q, value %q: slot %d stands behind %d", r.name, e.value, slot, last)
			}
			last = int(slot)
			if !due[pair{slot, e.value}] {
				f.add("index %q has slot %d under %q, its function has not", r.name, slot, e.value)
			}
			delete(due, pair{slot, e.value})
		})
		if n != int(e.n) || n == 0 || e.set != nil && e.set.n != n {
			f.add("index %q, value %q: %d objects, %d counted", r.name, e.value, n, e.n)
		}
		return true
	})
	for p := range due {
		f.add("index %q lacks %s under %q", r.name, v.keyOf(p.slot), p.value)
	}
}

func (e *indexed) eachSlot(visit func(uint32)) {
	e.walk(func(slots []uint32) bool {
		for _, slot := range slots {
			visit(slot)
		}
		return true
	})
}

// Check verifies the latest version as Snapshot.Check does, and the writer's
// own records. Writes wait meanwhile.
func (s *Store[T]) Check() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	v := s.current()
	var f findings
	free, wrong := s.free.check()
	if free != int(s.free.n) || free+v.n != int(s.slots) || wrong > 0 {
		f.add("%d slots: %d free (counted %d), %d objects; %d blocks with free slots are listed wrongly", s.slots, free, s.free.n, v.n, wrong)
	}
	v.eachSlot(func(slot uint32) bool {
		if s.free.has(slot) {
			f.add("slot %d is in use and free", slot)
		}
		return true
	})
	s.checkHints(&f, v.n)
	for i, x := range s.indexers {
		s.checkFilings(&f, v, x, &v.indexes[i])
	}
	return errors.Join(v.Check(), errors.Join(f.errs...))
}

func (s *Store[T]) checkHints(f *findings, want int) {
	live := 0
	d := s.hints.dir.Load()
	segs := make(map[*hintSeg]bool)
	for i, seg := range d.segs {
		segs[seg] = true
		if tag := uint32(i) << (d.shift & 31); &s.hints.groupsOf(tag)[0] != &seg.groups[0] {
			f.add("readers of tag %x are led to another segment than the writer", tag)
		}
	}
	for seg := range segs {
		here, spent := 0, 0
		for i := range seg.groups {
			bytes := seg.groups[i].bytes.Load()
			for at := range hintPlaces {
				switch b := bytes >> (8 * at) & 0xff; {
				case b&hintTaken != 0:
					here++
					spent++
					if e := seg.groups[i].entries[at].Load(); tagByte(uint32(e>>32)) != b {
						f.add("a hint's byte is %x, its tag %x", b, e>>32)
					}
				case b == hintRemoved:
					spent++
				}
			}
		}
		if here != seg.live || spent != seg.spent {
			f.add("a hint segment counts %d and %d, has %d and %d", seg.live, seg.spent, here, spent)
		}
		live += here
	}
	if live != want {
		f.add("%d hints for %d objects", live, want)
	}
}

// checkFilings verifies that an index holds each slot under the values that
// are recorded for it, and nothing else.
func (s *Store[T]) checkFilings(f *findings, v *Snapshot[T], x *indexer[T], r *indexRoot[T]) {
	if x.name != r.name {
		f.add("index %q stands in the place of %q", x.name, r.name)
	}
	filed := make(map[uint32][]string)
	r.root.each(func(e *indexed) bool {
		if x.values.at(e.id) != e.value {
			f.add("index %q: id %d is %q, not %q", x.name, e.id, x.values.at(e.id), e.value)
		}
		e.eachSlot(func(slot uint32) { filed[slot] = append(filed[slot], e.value) })
		return true
	})
	v.eachSlot(func(slot uint32) bool {
		values := filed[slot]
		slices.Sort(values)
		if !x.filedUnder(*s.filings.at(slot, x.col), slot, values) {
			f.add("index %q has slot %d under %q, the books do not", x.name, slot, values)
		}
		delete(filed, slot)
		return true
	})
	for _, slot := range slices.Sorted(maps.Keys(filed)) {
		f.add("index %q has slot %d, which is not in use", x.name, slot)
	}
}
