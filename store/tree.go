package store

// The tree keeps the slots in key order: a B+tree whose leaves hold slot
// numbers, and read keys from the objects only if they must. Its methods are
// the snapshot's, since a slot means something only in a version.

// keyOf returns the key of the object in a slot in use.
func (v *Snapshot[T]) keyOf(slot uint32) Key {
	p := v.blocks.block(slot)
	if p.keys != nil {
		return p.keys.slots[slot%blockLen]
	}
	k, _ := v.store.opts.KeyFunc(p.slots[slot%blockLen].obj)
	return k
}

// keyAt returns the key of a node's entry.
func (v *Snapshot[T]) keyAt(n *node, i int) Key {
	if n.in != nil {
		return *n.in.seps[i]
	}
	return v.keyOf(n.slots[i])
}

// keysOf returns a function that reads the keys of a node's entries.
func (v *Snapshot[T]) keysOf(n *node) func(i int) Key {
	return func(i int) Key { return v.keyAt(n, i) }
}

// aim makes a target of a key. The target has no bytes if the key, or one in
// the tree, is odd.
func (v *Snapshot[T]) aim(k *Key, odd bool, buf *keyBuf) target {
	if odd || v.odd {
		return target{Key: k}
	}
	return target{Key: k, bytes: k.appendTo(buf[:0])}
}

// locate returns where k is in a node.
func (v *Snapshot[T]) locate(n *node, k *target) spot {
	if k.bytes != nil {
		return n.locate(k.bytes, v.keysOf(n))
	}
	lo, hi := 0, int(n.n)
	for lo < hi {
		m := int(uint(lo+hi) >> 1)
		if other := v.keyAt(n, m); other.Compare(*k.Key) < 0 {
			lo = m + 1
		} else {
			hi = m
		}
	}
	return spot{i: lo, off: n.offset(lo), found: lo < int(n.n) && v.keyAt(n, lo) == *k.Key}
}

// kid returns which child of an inner node covers k.
func (v *Snapshot[T]) kid(n *node, k *target) int {
	at := v.locate(n, k)
	if at.found {
		return at.i + 1
	}
	return at.i
}

// search finds a key's slot without hints.
func (v *Snapshot[T]) search(key Key) (uint32, bool) {
	n := v.root
	if n == nil {
		return 0, false
	}
	var buf keyBuf
	k := v.aim(&key, key.odd(), &buf)
	for n.in != nil {
		n = n.in.kids[v.kid(n, &k)]
	}
	if at := v.locate(n, &k); at.found {
		return n.slots[at.i], true
	}
	return 0, false
}

// insert enters a slot under k, which is not in the tree. The slot's object
// must be in its block already.
func (v *Snapshot[T]) insert(key Key, slot uint32) {
	v.odd = v.odd || key.odd()
	var buf keyBuf
	k := v.aim(&key, false, &buf)
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
	v.insertKid(v.root, sep, right)
}

// insertIn inserts below n, which is owned and has the fences lo and hi. If n
// had to be split, it returns the new node to its right and the separator
// between them.
func (v *Snapshot[T]) insertIn(n *node, lo, hi *Key, k *target, slot uint32) (*node, *Key) {
	if n.in == nil {
		return v.insertLeaf(n, lo, hi, k, slot)
	}
	i := v.kid(n, k)
	kid := n.in.kids[i].own(v.epoch)
	n.in.kids[i] = kid
	kidLo, kidHi := n.fences(i, lo, hi)
	right, sep := v.insertIn(kid, kidLo, kidHi, k, slot)
	if right == nil {
		return nil, nil
	}
	if int(n.n) < branchMax {
		v.insertKid(n, sep, right)
		return nil, nil
	}
	r, up := v.splitBranch(n, lo, hi)
	half := n
	if sep.Compare(*up) > 0 {
		half = r
	}
	v.insertKid(half, sep, right)
	return r, up
}

// insertKid puts a separator and the child to its right in an inner node that
// has room.
func (v *Snapshot[T]) insertKid(n *node, sep *Key, kid *node) {
	var buf keyBuf
	k := v.aim(sep, false, &buf)
	at := v.locate(n, &k)
	copy(n.in.seps[at.i+1:n.n+1], n.in.seps[at.i:n.n])
	copy(n.in.kids[at.i+2:n.n+2], n.in.kids[at.i+1:n.n+1])
	n.in.seps[at.i], n.in.kids[at.i+1] = sep, kid
	n.enter(at, k.bytes, v.keysOf(n))
}

func (v *Snapshot[T]) splitBranch(n *node, lo, hi *Key) (*node, *Key) {
	at := branchMax / 2
	up := n.in.seps[at]
	r := &node{owner: v.epoch, in: &branch{}}
	copy(r.in.seps[:], n.in.seps[at+1:])
	copy(r.in.kids[:], n.in.kids[at+1:])
	r.pushFrom(&n.front, at+1, branchMax)
	clear(n.in.seps[at:])
	clear(n.in.kids[at+1:])
	n.keep(at)
	v.rebase(n, lo, up)
	v.rebase(r, up, hi)
	return r, up
}

func (v *Snapshot[T]) insertLeaf(n *node, lo, hi *Key, k *target, slot uint32) (*node, *Key) {
	at := v.locate(n, k)
	if n.n < nodeMax {
		v.insertSlot(n, at, k, slot)
		return nil, nil
	}
	r := &node{owner: v.epoch}
	var sep *Key
	half := n
	if at.i == nodeMax {
		// Keys that come in order leave full leaves behind.
		last := v.keyAt(n, nodeMax-1)
		sep = separate(k.Key, common(&last, k.Key), lo)
		half = r
	} else {
		const mid = nodeMax / 2
		last, first := v.keyAt(n, mid-1), v.keyAt(n, mid)
		sep = separate(&first, common(&last, &first), lo)
		copy(r.slots[:], n.slots[mid:])
		r.pushFrom(&n.front, mid, nodeMax)
		n.keep(mid)
		if k.Compare(*sep) >= 0 {
			half = r
		}
	}
	v.rebase(n, lo, sep)
	v.rebase(r, sep, hi)
	v.insertSlot(half, v.locate(half, k), k, slot)
	return r, sep
}

// insertSlot puts a slot in a leaf that has room.
func (v *Snapshot[T]) insertSlot(n *node, at spot, k *target, slot uint32) {
	copy(n.slots[at.i+1:n.n+1], n.slots[at.i:n.n])
	n.slots[at.i] = slot
	n.enter(at, k.bytes, v.keysOf(n))
}

// rebase adapts a node to new fences.
func (v *Snapshot[T]) rebase(n *node, lo, hi *Key) {
	n.rebase(shared(lo, hi), v.keysOf(n))
}

// remove removes a slot from under k. The slot's object must still be in its
// block.
func (v *Snapshot[T]) remove(key Key, slot uint32) {
	var buf keyBuf
	k := v.aim(&key, false, &buf)
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

func (v *Snapshot[T]) removeIn(n *node, lo, hi *Key, k *target, slot uint32) {
	if n.in == nil {
		for i, s := range n.slots[:n.n] {
			if s == slot {
				n.removeSlot(i)
				return
			}
		}
		panic("BUG: store: an object in the store is not in the tree: were its key's fields modified?")
	}
	i := v.kid(n, k)
	kid := n.in.kids[i].own(v.epoch)
	n.in.kids[i] = kid
	kidLo, kidHi := n.fences(i, lo, hi)
	v.removeIn(kid, kidLo, kidHi, k, slot)
	if kid.in == nil && kid.n < nodeMin || kid.in != nil && kid.n < branchMin {
		v.fill(n, i, lo, hi)
	}
}

// fill merges child i of n, which has few entries, with a neighbour, or takes
// entries from it if both do not fit in one node.
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
	v.insertKid(n, sep, r)
}

// levelLeaves moves everything to l and returns nil, or spreads it evenly and
// returns the new separator. rebase must set the first entries afterwards.
func (v *Snapshot[T]) levelLeaves(l, r *node, lo *Key) *Key {
	if l.n > 0 && r.n > 0 {
		last, first := v.keyAt(l, int(l.n)-1), v.keyAt(r, 0)
		r.setFirst(min(common(&last, &first), maxBytes), v.keysOf(r))
	}
	var slots [2 * nodeMax]uint32
	from := copy(slots[:], l.slots[:l.n])
	n := from + copy(slots[from:], r.slots[:r.n])
	at := n / 2
	if n <= nodeMax*3/4 {
		at = n
	}
	a, b := l.front, r.front
	l.front, r.front = front{}, front{}
	l.pushBoth(&a, &b, 0, at)
	r.pushBoth(&a, &b, at, n)
	copy(l.slots[:], slots[:at])
	copy(r.slots[:], slots[at:n])
	if r.n == 0 {
		return nil
	}
	last, first := v.keyAt(l, at-1), v.keyAt(r, 0)
	return separate(&first, common(&last, &first), lo)
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
