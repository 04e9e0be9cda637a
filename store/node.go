package store

const (
	// With 64 entries a leaf is 496 bytes, which fits the allocator's class
	// of 512, beside its text.
	nodeMax   = 64
	nodeMin   = nodeMax / 4
	branchMax = 64 // separators of an inner node
	branchMin = branchMax / 4
)

// node is a leaf or an inner node of the tree that keeps the slots in key
// order.
type node struct {
	in    *branch // nil in a leaf
	owner uint64
	front                 // of the keys of a leaf's slots, or of the separators
	slots [nodeMax]uint32 // of a leaf
}

// branch is what an inner node has and a leaf has not.
// Invariant: keys in kids[i] are < seps[i], keys in kids[i+1] are >= seps[i].
// Separators are strings of their own, so they keep no object alive and need
// not be keys that exist.
type branch struct {
	seps [branchMax]*Key
	kids [branchMax + 1]*node
}

// fences returns the fences of child i, given the node's own; nil is open.
func (n *node) fences(i int, lo, hi *Key) (*Key, *Key) {
	if i > 0 {
		lo = n.in.seps[i-1]
	}
	if i < int(n.n) {
		hi = n.in.seps[i]
	}
	return lo, hi
}

// own returns the node for changing it in place in the given epoch.
func (n *node) own(epoch uint64) *node {
	if n.owner == epoch {
		return n
	}
	c := *n
	c.owner = epoch
	c.text = cloneText(n.text)
	if n.in != nil {
		b := *n.in
		c.in = &b
	}
	return &c
}

// removeSlot removes an entry of a leaf.
func (n *node) removeSlot(i int) {
	copy(n.slots[i:n.n-1], n.slots[i+1:n.n])
	n.leave(i)
}

// removeKid removes separator i and the child to its right.
func (n *node) removeKid(i int) {
	copy(n.in.seps[i:n.n-1], n.in.seps[i+1:n.n])
	copy(n.in.kids[i+1:n.n], n.in.kids[i+2:n.n+1])
	n.in.seps[n.n-1], n.in.kids[n.n] = nil, nil
	n.leave(i)
}

// setKids makes the node hold these; rebase must set its first separator
// afterwards.
func (n *node) setKids(seps []*Key, kids []*node) {
	*n.in = branch{}
	copy(n.in.kids[:], kids)
	copy(n.in.seps[:], seps)
	n.front = front{}
	for i, sep := range seps {
		var buf keyBuf
		lcp := 0
		if i > 0 {
			lcp = min(common(seps[i-1], sep), maxBytes)
		}
		n.push(lcp, sep.appendTo(buf[:0]))
	}
}
