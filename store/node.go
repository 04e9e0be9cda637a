package store

import "strings"

// nodeMax makes a leaf 760 bytes, which with the allocator's 8 fills its size
// class of 768.
const (
	nodeMax   = 61
	nodeMin   = nodeMax / 4
	branchMax = 32 // separators of an inner node
	branchMin = branchMax / 4
)

// node is a leaf or an inner node of the tree that keeps the slots in key
// order. A leaf names its keys by slot, and beside each number has 8 bytes of
// the key, its head, so that a search need not go to the objects, each of
// which is a cold cache line.
//
// Which 8 bytes is the node's own choice: all keys that can ever be looked for
// in it lie between two separators of its ancestors (its fences), so they
// share what those two share. field is the first field of Key in which the
// fences differ, and skip how many bytes of that field they have in common.
//
// Invariant: every key between the fences agrees in the fields before field
// and in the first skip bytes of it. Hence head(a) < head(b) means a < b;
// equal heads decide nothing.
type node struct {
	in    *branch // nil in a leaf
	owner uint64
	n     uint16 // slots of a leaf, separators of an inner node
	skip  uint16
	field uint8
	heads [nodeMax]uint64
	slots [nodeMax]uint32 // of a leaf
}

// branch is what an inner node has more.
// Invariant: keys in kids[i] are < seps[i], keys in kids[i+1] are >= seps[i].
// Separators are strings of their own, so they keep no object alive and need
// not be keys that exist.
type branch struct {
	seps [branchMax]*Key
	kids [branchMax + 1]*node
}

// Fields of Key in the order in which they count.
const (
	fieldCluster = iota
	fieldNamespace
	fieldName
)

func (k *Key) field(f uint8) string {
	switch f {
	case fieldCluster:
		return k.Cluster
	case fieldNamespace:
		return k.Namespace
	}
	return k.Name
}

// headOf returns 8 bytes of the key, from where node n looks at keys, as a
// number that sorts like them.
func (n *node) headOf(k *Key) uint64 {
	s := k.field(n.field)
	if int(n.skip) >= len(s) {
		return 0
	}
	s = s[n.skip:]
	if len(s) >= 8 {
		return uint64(s[7]) | uint64(s[6])<<8 | uint64(s[5])<<16 | uint64(s[4])<<24 |
			uint64(s[3])<<32 | uint64(s[2])<<40 | uint64(s[1])<<48 | uint64(s[0])<<56
	}
	var h uint64
	for i := range len(s) {
		h |= uint64(s[i]) << (56 - 8*i)
	}
	return h
}

// band returns the range of entries that have head h; it is empty, and stands
// where h belongs, if there are none.
func (n *node) band(h uint64) (from, to int) {
	lo, hi := 0, int(n.n)
	for lo < hi {
		m := int(uint(lo+hi) >> 1)
		if n.heads[m] < h {
			lo = m + 1
		} else {
			hi = m
		}
	}
	to = lo
	for to < int(n.n) && n.heads[to] == h {
		to++
	}
	return lo, to
}

// kid returns which child of an inner node covers k.
func (n *node) kid(k *Key) int {
	lo, hi := n.band(n.headOf(k))
	for lo < hi {
		m := int(uint(lo+hi) >> 1)
		if n.in.seps[m].Compare(*k) <= 0 {
			lo = m + 1
		} else {
			hi = m
		}
	}
	return lo
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
	if n.in != nil {
		b := *n.in
		c.in = &b
	}
	return &c
}

// insertSlot puts a slot at place i of a leaf that has room.
func (n *node) insertSlot(i int, slot uint32, head uint64) {
	copy(n.slots[i+1:n.n+1], n.slots[i:n.n])
	copy(n.heads[i+1:n.n+1], n.heads[i:n.n])
	n.slots[i], n.heads[i] = slot, head
	n.n++
}

// removeSlot takes place i out of a leaf.
func (n *node) removeSlot(i int) {
	copy(n.slots[i:n.n-1], n.slots[i+1:n.n])
	copy(n.heads[i:n.n-1], n.heads[i+1:n.n])
	n.n--
}

// insertKid puts a separator and the child to its right after child i of an
// inner node that has room.
func (n *node) insertKid(i int, sep *Key, kid *node) {
	copy(n.in.seps[i+1:n.n+1], n.in.seps[i:n.n])
	copy(n.heads[i+1:n.n+1], n.heads[i:n.n])
	copy(n.in.kids[i+2:n.n+2], n.in.kids[i+1:n.n+1])
	n.in.seps[i], n.heads[i], n.in.kids[i+1] = sep, n.headOf(sep), kid
	n.n++
}

// removeKid takes out separator i and the child to its right.
func (n *node) removeKid(i int) {
	copy(n.in.seps[i:n.n-1], n.in.seps[i+1:n.n])
	copy(n.heads[i:n.n-1], n.heads[i+1:n.n])
	copy(n.in.kids[i+1:n.n], n.in.kids[i+2:n.n+1])
	n.n--
	n.in.seps[n.n], n.in.kids[n.n+1] = nil, nil
}

// shared returns from where keys between two fences may differ.
func shared(lo, hi *Key) (field uint8, skip uint16) {
	if lo == nil || hi == nil {
		return fieldCluster, 0
	}
	for field < fieldName && lo.field(field) == hi.field(field) {
		field++
	}
	return field, uint16(min(commonLen(lo.field(field), hi.field(field)), 1<<16-1))
}

func commonLen(a, b string) int {
	n := min(len(a), len(b))
	for i := range n {
		if a[i] != b[i] {
			return i
		}
	}
	return n
}

// separate returns a key k of the shortest form with a < k <= b, made of
// strings of its own where those of near, an older separator, do not serve.
func separate(a, b Key, near *Key) *Key {
	shortest := func(a, b string) string { return strings.Clone(b[:commonLen(a, b)+1]) }
	if a.Cluster != b.Cluster {
		return &Key{Cluster: shortest(a.Cluster, b.Cluster)}
	}
	k := &Key{}
	if near != nil && near.Cluster == b.Cluster {
		k.Cluster = near.Cluster
	} else {
		k.Cluster = strings.Clone(b.Cluster)
	}
	if a.Namespace != b.Namespace {
		k.Namespace = shortest(a.Namespace, b.Namespace)
		return k
	}
	if near != nil && near.Namespace == b.Namespace {
		k.Namespace = near.Namespace
	} else {
		k.Namespace = strings.Clone(b.Namespace)
	}
	k.Name = shortest(a.Name, b.Name)
	return k
}
