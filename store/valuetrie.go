package store

import (
	"hash/maphash"
	"math/bits"
	"slices"
)

// valueNode is a node of the hash trie that finds an index value. Each level
// uses five bits of the value's hash. Absent branches take no space, and a
// value that is alone on its branch is kept in the node itself.
type valueNode struct {
	owner uint64
	data  uint32 // which of the 32 branches are one value, in vals
	sub   uint32 // which of them are a node, in kids
	vals  []indexed
	kids  []*valueNode
}

// indexed is an index value and the slots under it. One or two of them, the
// usual case in an index of nearly unique values, need no memory of their own.
type indexed struct {
	value string
	// set is nil while few suffices.
	set *slotSet
	// id identifies the value in the indexer.
	id uint32
	n  uint32
	// few holds the slots, sorted, while set is nil.
	few [2]uint32
}

const (
	trieBits = 5
	trieMask = 1<<trieBits - 1
	// At this depth the hash is used up and a node is a plain list.
	trieEnd = 60
)

func (n *valueNode) own(epoch uint64) *valueNode {
	if n.owner == epoch {
		return n
	}
	return &valueNode{owner: epoch, data: n.data, sub: n.sub, vals: slices.Clone(n.vals), kids: slices.Clone(n.kids)}
}

func at(bitmap, bit uint32) int { return bits.OnesCount32(bitmap & (bit - 1)) }

// find returns the value's entry, or nil.
func (n *valueNode) find(hash uint64, value string) *indexed {
	for shift := uint(0); n != nil; shift += trieBits {
		if shift >= trieEnd {
			i := slices.IndexFunc(n.vals, func(e indexed) bool { return e.value == value })
			if i < 0 {
				return nil
			}
			return &n.vals[i]
		}
		bit := uint32(1) << (hash >> shift & trieMask)
		if n.data&bit != 0 {
			if e := &n.vals[at(n.data, bit)]; e.value == value {
				return e
			}
			return nil
		}
		if n.sub&bit == 0 {
			return nil
		}
		n = n.kids[at(n.sub, bit)]
	}
	return nil
}

// entry returns the value's entry for changing it in place. It makes a missing
// one, with n == 0. n is owned.
func (n *valueNode) entry(seed maphash.Seed, hash uint64, shift uint, value string, epoch uint64) *indexed {
	if shift >= trieEnd {
		i := slices.IndexFunc(n.vals, func(e indexed) bool { return e.value == value })
		if i < 0 {
			i = len(n.vals)
			n.vals = append(n.vals, indexed{value: value})
		}
		return &n.vals[i]
	}
	bit := uint32(1) << (hash >> shift & trieMask)
	if n.sub&bit != 0 {
		i := at(n.sub, bit)
		n.kids[i] = n.kids[i].own(epoch)
		return n.kids[i].entry(seed, hash, shift+trieBits, value, epoch)
	}
	i := at(n.data, bit)
	if n.data&bit == 0 {
		n.data |= bit
		n.vals = slices.Insert(n.vals, i, indexed{value: value})
		return &n.vals[i]
	}
	if n.vals[i].value == value {
		return &n.vals[i]
	}
	// Two values on one branch: both move down.
	kid := &valueNode{owner: epoch}
	other := n.vals[i]
	*kid.entry(seed, maphash.String(seed, other.value), shift+trieBits, other.value, epoch) = other
	n.data &^= bit
	n.vals = slices.Delete(n.vals, i, i+1)
	n.sub |= bit
	n.kids = slices.Insert(n.kids, at(n.sub, bit), kid)
	return kid.entry(seed, hash, shift+trieBits, value, epoch)
}

// drop removes an entry that exists. n is owned.
func (n *valueNode) drop(hash uint64, shift uint, value string, epoch uint64) {
	if shift >= trieEnd {
		n.vals = slices.DeleteFunc(n.vals, func(e indexed) bool { return e.value == value })
		return
	}
	bit := uint32(1) << (hash >> shift & trieMask)
	if n.data&bit != 0 {
		i := at(n.data, bit)
		n.data &^= bit
		n.vals = slices.Delete(n.vals, i, i+1)
		return
	}
	i := at(n.sub, bit)
	kid := n.kids[i].own(epoch)
	n.kids[i] = kid
	kid.drop(hash, shift+trieBits, value, epoch)
	if len(kid.kids) > 0 || len(kid.vals) > 1 {
		return
	}
	// One value needs no node of its own.
	n.sub &^= bit
	n.kids = slices.Delete(n.kids, i, i+1)
	if len(kid.vals) == 1 {
		n.data |= bit
		n.vals = slices.Insert(n.vals, at(n.data, bit), kid.vals[0])
	}
}

// each calls yield with every entry until it returns false.
func (n *valueNode) each(yield func(*indexed) bool) bool {
	if n == nil {
		return true
	}
	for i := range n.vals {
		if !yield(&n.vals[i]) {
			return false
		}
	}
	for _, kid := range n.kids {
		if !kid.each(yield) {
			return false
		}
	}
	return true
}

// add adds a slot, which is not there, to an entry of an owned node.
func (e *indexed) add(slot uint32, epoch uint64) {
	e.n++
	switch {
	case e.set != nil:
		e.set = e.set.own(epoch).add(slot, epoch)
	case e.n == 1:
		e.few[0] = slot
	case e.n == 2:
		e.few[1] = slot
		if slot < e.few[0] {
			e.few[0], e.few[1] = slot, e.few[0]
		}
	default:
		s := &slotSet{owner: epoch, n: 2, low: append(make([]uint32, 0, 4), e.few[:]...)}
		e.set = s.add(slot, epoch)
	}
}

// remove removes a slot and reports whether it was there.
func (e *indexed) remove(slot uint32, epoch uint64) bool {
	if e.set == nil {
		switch {
		case e.n > 0 && e.few[0] == slot:
			e.few[0] = e.few[1]
		case e.n > 1 && e.few[1] == slot:
		default:
			return false
		}
		e.n--
		return true
	}
	set, found := e.set.own(epoch).remove(slot, epoch)
	e.set = set
	if found {
		e.n--
	}
	// Going back to few at one slot, not at two, spares a value that
	// alternates between two and three from making a set each time.
	if e.n == 1 {
		for set.kids != nil {
			set = set.kids[0]
		}
		e.few[0], e.set = set.low[0], nil
	}
	return found
}

// setAll makes an entry of an owned node hold these slots, which are sorted,
// and no others.
func (e *indexed) setAll(slots []uint32, epoch uint64) {
	e.n, e.set = uint32(len(slots)), nil
	if len(slots) <= len(e.few) {
		copy(e.few[:], slots)
		return
	}
	e.set = newSlotSet(slots, epoch)
}
