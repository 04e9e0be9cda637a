package store

// The tree keeps the slots in key order: a B+tree whose leaves hold slot
// numbers and read keys from the objects where that cannot be avoided. Its
// methods are the snapshot's, since a slot means something only in a version.

// keyOf reads the key of the object in a slot in use.
func (v *Snapshot[T]) keyOf(slot uint32) Key {
	k, _ := v.store.opts.KeyFunc(v.pages.page(slot).slots[slot%pageLen].obj)
	return k
}

// keyAt returns the key of a node's entry.
func (v *Snapshot[T]) keyAt(n *node, i int) Key {
	if n.in != nil {
		return *n.in.seps[i]
	}
	return v.keyOf(n.slots[i])
}

// locate returns where k is in a node. If bytes do not tell, because of zeros
// in k or in the keys of the store, it compares whole keys.
func (v *Snapshot[T]) locate(n *node, k *Key, odd bool) spot {
	if !odd {
		return n.locate(k, v.keyAt)
	}
	lo, hi := 0, int(n.n)
	for lo < hi {
		m := int(uint(lo+hi) >> 1)
		if other := v.keyAt(n, m); other.Compare(*k) < 0 {
			lo = m + 1
		} else {
			hi = m
		}
	}
	return spot{i: lo, found: lo < int(n.n) && v.keyAt(n, lo) == *k}
}

// kid returns which child of an inner node covers k.
func (v *Snapshot[T]) kid(n *node, k *Key, odd bool) int {
	at := v.locate(n, k, odd)
	if at.found {
		return at.i + 1
	}
	return at.i
}

// search finds a key's slot without any hint.
func (v *Snapshot[T]) search(k Key) (uint32, bool) {
	n := v.root
	if n == nil {
		return 0, false
	}
	odd := v.odd || k.odd()
	for n.in != nil {
		n = n.in.kids[v.kid(n, &k, odd)]
	}
	if at := v.locate(n, &k, odd); at.found {
		return n.slots[at.i], true
	}
	return 0, false
}

// insert enters a slot, whose object is in its page already, under k, which
// is not in the tree.
func (v *Snapshot[T]) insert(k Key, slot uint32) {
	v.odd = v.odd || k.odd()
	if v.root == nil {
		v.root = &node{owner: v.epoch}
	}
	root := v.root.own(v.epoch)
	v.root = root
	right, sep := v.insertIn(root, nil, nil, &k, slot)
	if right == nil {
		return
	}
	v.root = &node{owner: v.epoch, in: &branch{}}
	v.root.in.kids[0] = root
	v.root.insertKid(spot{}, sep, right, v.keyAt)
}

// insertIn inserts below n, which is owned and has the fences lo and hi. If n
// had to be split it returns the new node to its right, and what separates
// them.
func (v *Snapshot[T]) insertIn(n *node, lo, hi, k *Key, slot uint32) (*node, *Key) {
	if n.in == nil {
		return v.insertLeaf(n, lo, hi, k, slot)
	}
	i := v.kid(n, k, v.odd)
	kid := n.in.kids[i].own(v.epoch)
	n.in.kids[i] = kid
	kidLo, kidHi := n.fences(i, lo, hi)
	right, sep := v.insertIn(kid, kidLo, kidHi, k, slot)
	if right == nil {
		return nil, nil
	}
	if int(n.n) < branchMax {
		n.insertKid(v.locate(n, sep, v.odd), sep, right, v.keyAt)
		return nil, nil
	}
	r, up := v.splitBranch(n, lo, hi)
	half := n
	if sep.Compare(*up) > 0 {
		half = r
	}
	half.insertKid(v.locate(half, sep, v.odd), sep, right, v.keyAt)
	return r, up
}

func (v *Snapshot[T]) splitBranch(n *node, lo, hi *Key) (*node, *Key) {
	at := branchMax / 2
	up := n.in.seps[at]
	r := &node{owner: v.epoch, n: branchMax - uint16(at) - 1, in: &branch{}}
	copy(r.in.seps[:], n.in.seps[at+1:])
	copy(r.in.kids[:], n.in.kids[at+1:])
	copy(r.heads[:], n.heads[at+1:branchMax])
	copy(r.lcps[:], n.lcps[at+1:branchMax])
	clear(n.in.seps[at:])
	clear(n.in.kids[at+1:])
	n.n = uint16(at)
	v.rebase(n, lo, up)
	v.rebase(r, up, hi)
	return r, up
}

func (v *Snapshot[T]) insertLeaf(n *node, lo, hi, k *Key, slot uint32) (*node, *Key) {
	at := v.locate(n, k, v.odd)
	if n.n < nodeMax {
		n.insertSlot(at, k, slot, v.keyAt)
		return nil, nil
	}
	r := &node{owner: v.epoch}
	var sep *Key
	half := n
	if at.i == nodeMax {
		// Keys that come in order leave full leaves behind.
		sep = separate(v.keyAt(n, nodeMax-1), *k, lo)
		half = r
	} else {
		const mid = nodeMax / 2
		sep = separate(v.keyAt(n, mid-1), v.keyAt(n, mid), lo)
		r.n = uint16(copy(r.slots[:], n.slots[mid:]))
		copy(r.heads[:], n.heads[mid:])
		copy(r.lcps[:], n.lcps[mid:])
		n.n = mid
		if k.Compare(*sep) >= 0 {
			half = r
		}
	}
	v.rebase(n, lo, sep)
	v.rebase(r, sep, hi)
	half.insertSlot(v.locate(half, k, v.odd), k, slot, v.keyAt)
	return r, sep
}

// rebase sets what the keys of a node with these fences have in common. Only
// the first entry depends on it.
func (v *Snapshot[T]) rebase(n *node, lo, hi *Key) {
	n.base = shared(lo, hi)
	if n.n > 0 {
		first := v.keyAt(n, 0)
		n.lcps[0], n.heads[0] = n.base, first.head(int(n.base))
	}
	if n.in != nil {
		n.setTails()
	}
}

// remove takes out a slot, whose object is still in its page, from under k.
func (v *Snapshot[T]) remove(k Key, slot uint32) {
	root := v.root.own(v.epoch)
	v.root = root
	v.removeIn(root, nil, nil, &k, slot)
	switch {
	case root.n > 0:
	case root.in != nil:
		v.root = root.in.kids[0]
	default:
		v.root = nil
	}
}

func (v *Snapshot[T]) removeIn(n *node, lo, hi, k *Key, slot uint32) {
	if n.in == nil {
		for i, s := range n.slots[:n.n] {
			if s == slot {
				copy(n.slots[i:n.n-1], n.slots[i+1:n.n])
				n.leave(i)
				return
			}
		}
		panic("BUG: store: an object in the store is not in the tree: were its key's fields modified?")
	}
	i := v.kid(n, k, v.odd)
	kid := n.in.kids[i].own(v.epoch)
	n.in.kids[i] = kid
	kidLo, kidHi := n.fences(i, lo, hi)
	v.removeIn(kid, kidLo, kidHi, k, slot)
	if kid.in == nil && kid.n < nodeMin || kid.in != nil && kid.n < branchMin {
		v.fill(n, i, lo, hi)
	}
}

// fill joins child i of n, which has few entries, with a neighbour, or takes
// over entries from it if both do not fit in one node.
func (v *Snapshot[T]) fill(n *node, i int, lo, hi *Key) {
	if i == int(n.n) {
		i--
	}
	l, r := n.in.kids[i].own(v.epoch), n.in.kids[i+1].own(v.epoch)
	n.in.kids[i], n.in.kids[i+1] = l, r
	loL, _ := n.fences(i, lo, hi)
	_, hiR := n.fences(i+1, lo, hi)
	sep := n.in.seps[i]
	n.removeKid(i)
	if l.in == nil {
		sep = v.levelLeaves(l, r, loL)
	} else {
		sep = v.levelBranches(l, r, sep)
	}
	if sep == nil {
		v.rebase(l, loL, hiR)
		return
	}
	v.rebase(l, loL, sep)
	v.rebase(r, sep, hiR)
	n.insertKid(v.locate(n, sep, v.odd), sep, r, v.keyAt)
}

// levelLeaves moves everything to l and returns nil, or spreads it evenly and
// returns what separates them now. First entries are left to rebase.
func (v *Snapshot[T]) levelLeaves(l, r *node, lo *Key) *Key {
	if l.n > 0 && r.n > 0 {
		last, first := v.keyAt(l, int(l.n)-1), v.keyAt(r, 0)
		r.lcps[0] = uint16(common(&last, &first))
		r.heads[0] = first.head(int(r.lcps[0]))
	}
	var slots [2 * nodeMax]uint32
	var heads [2 * nodeMax]uint64
	var lcps [2 * nodeMax]uint16
	n := copy(slots[:], l.slots[:l.n])
	copy(heads[:], l.heads[:l.n])
	copy(lcps[:], l.lcps[:l.n])
	copy(heads[n:], r.heads[:r.n])
	copy(lcps[n:], r.lcps[:r.n])
	n += copy(slots[n:], r.slots[:r.n])
	at := n / 2
	if n <= nodeMax*3/4 {
		at = n
	}
	l.n = uint16(copy(l.slots[:], slots[:at]))
	copy(l.heads[:], heads[:at])
	copy(l.lcps[:], lcps[:at])
	r.n = uint16(copy(r.slots[:], slots[at:n]))
	copy(r.heads[:], heads[at:n])
	copy(r.lcps[:], lcps[at:n])
	if r.n == 0 {
		return nil
	}
	return separate(v.keyAt(l, at-1), v.keyAt(r, 0), lo)
}

// levelBranches does the same for inner nodes, which sep separates.
func (v *Snapshot[T]) levelBranches(l, r *node, sep *Key) *Key {
	var seps [2*branchMax + 1]*Key
	var kids [2*branchMax + 2]*node
	n := copy(seps[:], l.in.seps[:l.n])
	copy(kids[:], l.in.kids[:l.n+1])
	seps[n] = sep
	n++
	copy(kids[n:], r.in.kids[:r.n+1])
	n += copy(seps[n:], r.in.seps[:r.n])
	if n <= branchMax*3/4 {
		l.setKids(seps[:n], kids[:n+1])
		return nil
	}
	at := n / 2
	l.setKids(seps[:at], kids[:at+1])
	r.setKids(seps[at+1:n], kids[at+1:n+1])
	return seps[at]
}

func (n *node) setKids(seps []*Key, kids []*node) {
	*n.in = branch{}
	copy(n.in.kids[:], kids)
	n.n = uint16(copy(n.in.seps[:], seps))
	for i := 1; i < len(seps); i++ {
		n.lcps[i] = uint16(min(common(seps[i-1], seps[i]), maxBytes))
		n.heads[i] = seps[i].head(int(n.lcps[i]))
	}
}
