package store

// The tree keeps the slots in key order: a B+tree whose leaves hold slot
// numbers and read keys from the objects, when the heads do not decide. Its
// methods are the snapshot's, since a slot means something only in a version.

// keyOf reads the key of the object in a slot in use.
func (v *Snapshot[T]) keyOf(slot uint32) Key {
	k, _ := v.store.opts.KeyFunc(v.pages.page(slot).slots[slot%pageLen].obj)
	return k
}

// place returns the number of keys in a leaf that are smaller than k.
func (v *Snapshot[T]) place(n *node, k *Key) int {
	lo, hi := n.band(n.headOf(k))
	for lo < hi {
		m := int(uint(lo+hi) >> 1)
		if v.keyOf(n.slots[m]).Compare(*k) < 0 {
			lo = m + 1
		} else {
			hi = m
		}
	}
	return lo
}

// search finds a key's slot without any hint.
func (v *Snapshot[T]) search(k Key) (uint32, bool) {
	n := v.root
	if n == nil {
		return 0, false
	}
	for n.in != nil {
		n = n.in.kids[n.kid(&k)]
	}
	if i := v.place(n, &k); i < int(n.n) && v.keyOf(n.slots[i]) == k {
		return n.slots[i], true
	}
	return 0, false
}

// insert enters a slot, whose object is in its page already, under k, which
// is not in the tree.
func (v *Snapshot[T]) insert(k Key, slot uint32) {
	if v.root == nil {
		v.root = &node{owner: v.epoch}
	}
	root := v.root.own(v.epoch)
	v.root = root
	right, sep := v.insertIn(root, nil, nil, &k, slot)
	if right == nil {
		return
	}
	v.root = &node{owner: v.epoch, n: 1, in: &branch{}}
	v.root.in.seps[0] = sep
	v.root.in.kids[0], v.root.in.kids[1] = root, right
	v.root.heads[0] = v.root.headOf(sep)
}

// insertIn inserts below n, which is owned and has the fences lo and hi. If n
// had to be split it returns the new node to its right, and what separates
// them.
func (v *Snapshot[T]) insertIn(n *node, lo, hi, k *Key, slot uint32) (*node, *Key) {
	if n.in == nil {
		return v.insertLeaf(n, lo, hi, k, slot)
	}
	i := n.kid(k)
	kid := n.in.kids[i].own(v.epoch)
	n.in.kids[i] = kid
	kidLo, kidHi := n.fences(i, lo, hi)
	right, sep := v.insertIn(kid, kidLo, kidHi, k, slot)
	if right == nil {
		return nil, nil
	}
	if int(n.n) < branchMax {
		n.insertKid(i, sep, right)
		return nil, nil
	}
	// Split, then insert where it belongs.
	at := branchMax / 2
	up := n.in.seps[at]
	r := &node{owner: v.epoch, n: uint16(branchMax - at - 1), field: n.field, skip: n.skip, in: &branch{}}
	copy(r.in.seps[:], n.in.seps[at+1:])
	copy(r.heads[:], n.heads[at+1:branchMax])
	copy(r.in.kids[:], n.in.kids[at+1:])
	clear(n.in.seps[at:])
	clear(n.in.kids[at+1:])
	n.n = uint16(at)
	if i <= at {
		n.insertKid(i, sep, right)
	} else {
		r.insertKid(i-at-1, sep, right)
	}
	v.refit(n, lo, up)
	v.refit(r, up, hi)
	return r, up
}

func (v *Snapshot[T]) insertLeaf(n *node, lo, hi, k *Key, slot uint32) (*node, *Key) {
	i := v.place(n, k)
	if n.n < nodeMax {
		n.insertSlot(i, slot, n.headOf(k))
		return nil, nil
	}
	r := &node{owner: v.epoch, field: n.field, skip: n.skip}
	if i == nodeMax {
		// Keys that come in order leave full leaves behind.
		r.insertSlot(0, slot, r.headOf(k))
		sep := separate(v.keyOf(n.slots[i-1]), *k, lo)
		v.refit(n, lo, sep)
		v.refit(r, sep, hi)
		return r, sep
	}
	at := nodeMax / 2
	r.n = uint16(copy(r.slots[:], n.slots[at:]))
	copy(r.heads[:], n.heads[at:])
	n.n = uint16(at)
	sep := separate(v.keyOf(n.slots[at-1]), v.keyOf(r.slots[0]), lo)
	if k.Compare(*sep) < 0 {
		n.insertSlot(i, slot, n.headOf(k))
	} else {
		r.insertSlot(i-at, slot, r.headOf(k))
	}
	v.refit(n, lo, sep)
	v.refit(r, sep, hi)
	return r, sep
}

// refit lets a node look further into its keys after its fences have come
// closer. That touches every object, so it is done only if heads are equal.
func (v *Snapshot[T]) refit(n *node, lo, hi *Key) {
	field, skip := shared(lo, hi)
	if field == n.field && skip == n.skip {
		return
	}
	ties := 0
	for i := 1; i < int(n.n); i++ {
		if n.heads[i] == n.heads[i-1] {
			ties++
		}
	}
	if ties*8 > int(n.n) {
		v.fit(n, lo, hi)
	}
}

// fit sets from where a node with these fences looks at its keys.
func (v *Snapshot[T]) fit(n *node, lo, hi *Key) {
	n.field, n.skip = shared(lo, hi)
	for i := range int(n.n) {
		if n.in != nil {
			n.heads[i] = n.headOf(n.in.seps[i])
		} else {
			k := v.keyOf(n.slots[i])
			n.heads[i] = n.headOf(&k)
		}
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
		from, to := n.band(n.headOf(k))
		for i := from; i < to; i++ {
			if n.slots[i] == slot {
				n.removeSlot(i)
				return
			}
		}
		panic("BUG: store: an object in the store is not in the tree: were its key's fields modified?")
	}
	i := n.kid(k)
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
	lo, _ = n.fences(i, lo, hi)
	_, hi = n.fences(i+1, lo, hi)
	var sep *Key
	if l.in == nil {
		sep = v.levelLeaves(l, r, lo)
	} else {
		sep = levelBranches(l, r, n.in.seps[i])
	}
	if sep == nil {
		n.removeKid(i)
		v.fit(l, lo, hi)
		return
	}
	n.in.seps[i] = sep
	n.heads[i] = n.headOf(sep)
	v.fit(l, lo, sep)
	v.fit(r, sep, hi)
}

// levelLeaves moves everything to l and returns nil, or spreads it evenly and
// returns what separates them now. Heads are left to fit.
func (v *Snapshot[T]) levelLeaves(l, r *node, lo *Key) *Key {
	var all [2 * nodeMax]uint32
	n := copy(all[:], l.slots[:l.n])
	n += copy(all[n:], r.slots[:r.n])
	if n <= nodeMax*3/4 {
		copy(l.slots[:], all[:n])
		l.n = uint16(n)
		return nil
	}
	l.n = uint16(copy(l.slots[:], all[:n/2]))
	r.n = uint16(copy(r.slots[:], all[n/2:n]))
	return separate(v.keyOf(all[n/2-1]), v.keyOf(all[n/2]), lo)
}

// levelBranches does the same for inner nodes, which sep separates.
func levelBranches(l, r *node, sep *Key) *Key {
	var seps [2*branchMax + 1]*Key
	var kids [2*branchMax + 2]*node
	n := copy(seps[:], l.in.seps[:l.n])
	copy(kids[:], l.in.kids[:l.n+1])
	seps[n] = sep
	n++
	copy(kids[n:], r.in.kids[:r.n+1])
	n += copy(seps[n:], r.in.seps[:r.n])
	*l.in, *r.in = branch{}, branch{}
	if n <= branchMax*3/4 {
		copy(l.in.seps[:], seps[:n])
		copy(l.in.kids[:], kids[:n+1])
		l.n = uint16(n)
		return nil
	}
	at := n / 2
	l.n = uint16(copy(l.in.seps[:], seps[:at]))
	copy(l.in.kids[:], kids[:at+1])
	r.n = uint16(copy(r.in.seps[:], seps[at+1:n]))
	copy(r.in.kids[:], kids[at+1:n+1])
	return seps[at]
}
