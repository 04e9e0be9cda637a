package store

import (
	"encoding/binary"
	"math/bits"
	"strings"
)

// nodeMax makes a leaf 752 bytes, which with the allocator's 8 nearly fills
// its size class of 768.
const (
	nodeMax   = 52
	nodeMin   = nodeMax / 4
	branchMax = 32 // separators of an inner node
	branchMin = branchMax / 4
)

// node is a leaf or an inner node of the tree that keeps the slots in key
// order. A leaf names its keys by slot: reading one means to go to the object,
// which is a cold cache line or three. So beside each number stands what a
// search needs instead: how many bytes the key has in common with the one
// before it, and the eight bytes that follow (its head). See locate.
//
// Invariant: every key between the node's fences, which are the separators
// around it in its ancestors, has its first base bytes in common with all
// others between them. lcps[i] is what entry i has in common with entry i-1,
// lcps[0] is base. heads[i] begins at lcps[i]. Bytes are counted as in bytesOf.
type node struct {
	in    *branch // nil in a leaf
	owner uint64
	n     uint16 // slots of a leaf, separators of an inner node
	base  uint16
	heads [nodeMax]uint64
	slots [nodeMax]uint32 // of a leaf
	lcps  [nodeMax]uint16
}

// branch is what an inner node has more.
// Invariant: keys in kids[i] are < seps[i], keys in kids[i+1] are >= seps[i].
// Separators are strings of their own, so they keep no object alive and need
// not be keys that exist.
type branch struct {
	seps [branchMax]*Key
	kids [branchMax + 1]*node
	// tails are the bytes that follow a separator's head. There are few inner
	// nodes and every search passes some, so they can afford more bytes than
	// leaves: names differ at their ends, behind long parts that are the same.
	tails [branchMax][tailLen]uint64
}

const tailLen = 3

// A key is compared by bytes as if it were one string: the cluster, a zero,
// the namespace, a zero, the name, and zeros for ever. That sorts like
// Key.Compare as long as there is no zero in a key, as there is in none of
// Kubernetes. maxBytes keeps lengths within 16 bits.
const maxBytes = 1<<16 - 16

// odd reports whether a key cannot be compared by bytes.
func (k *Key) odd() bool {
	return strings.IndexByte(k.Name, 0) >= 0 || strings.IndexByte(k.Namespace, 0) >= 0 ||
		strings.IndexByte(k.Cluster, 0) >= 0 || len(k.Cluster)+len(k.Namespace)+len(k.Name) > maxBytes
}

// head returns eight bytes of the key from a place on, as a number that sorts
// like them.
func (k *Key) head(from int) uint64 {
	at := from - k.nameAt()
	if at < 0 {
		var b [8]byte
		n := 0
		for _, s := range [...]string{k.Cluster, k.Namespace, k.Name} {
			if from > len(s) {
				from -= len(s) + 1
				continue
			}
			n += copy(b[n:], s[from:])
			if n++; n >= 8 { // the zero behind it
				break
			}
			from = 0
		}
		return binary.BigEndian.Uint64(b[:])
	}
	if at >= len(k.Name) {
		return 0
	}
	s := k.Name[at:]
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

func (k *Key) byteAt(i int) byte {
	for _, s := range [...]string{k.Cluster, k.Namespace, k.Name} {
		if i < len(s) {
			return s[i]
		}
		if i -= len(s) + 1; i < 0 {
			return 0
		}
	}
	return 0
}

// nameAt is where the name begins.
func (k *Key) nameAt() int { return len(k.Cluster) + len(k.Namespace) + 2 }

// compareFrom compares two keys that have their first from bytes in common,
// and returns how many they have. If that is more than the namespace, it looks
// at nothing but the rest of the names: the other strings may be cold.
func compareFrom(a, b *Key, from int) (c, same int) {
	if at := from - b.nameAt(); at >= 0 {
		x, y := a.Name[min(at, len(a.Name)):], b.Name[min(at, len(b.Name)):]
		return strings.Compare(x, y), from + commonLen(x, y)
	}
	if c = a.Compare(*b); c != 0 {
		same = common(a, b)
	}
	return c, same
}

// common returns how many bytes two different keys have in common.
func common(a, b *Key) int {
	if a.Cluster == b.Cluster && a.Namespace == b.Namespace {
		return a.nameAt() + commonLen(a.Name, b.Name)
	}
	n := 0
	for end := len(a.Cluster) + len(a.Namespace) + len(a.Name) + 2; n < end && a.byteAt(n) == b.byteAt(n); n++ {
	}
	return n
}

// shared returns how much the keys between two fences have in common.
func shared(lo, hi *Key) uint16 {
	if lo == nil || hi == nil {
		return 0
	}
	return uint16(min(common(lo, hi), maxBytes))
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

// spot is where a key stands, or belongs, in a node.
type spot struct {
	i int // how many entries are smaller
	// prev and next are what it has in common with the entries before and at
	// i; prev is base if i is 0, next means nothing if i is the node's end.
	prev, next int
	found      bool // entry i is the key
}

// locate finds a key without looking at other keys, except where the eight
// bytes of a head do not decide. It goes over the entries with m being what
// the key has in common with the entry before, which is smaller than it:
//
//   - an entry that has more than m in common with the one before it differs
//     from the key where that one does, and is smaller too;
//   - one that has less in common differs from the key where it differs from
//     the one before, and is larger;
//   - where it is the same, heads are compared.
func (n *node) locate(k *Key, keyAt func(*node, int) Key) spot {
	m := int(n.base)
	head := k.head(m)
	for i, l := range n.lcps[:n.n] {
		switch {
		case int(l) > m:
			continue
		case int(l) < m:
			return spot{i: i, prev: m, next: int(l)}
		}
		h := n.heads[i]
		same := m + bits.LeadingZeros64(h^head)/8
		smaller := h < head
		switch {
		case h != head:
		case n.in != nil && n.in.tail(i, k, m+8, &same, &smaller):
		default:
			other := keyAt(n, i)
			var c int
			if c, same = compareFrom(&other, k, m+8); c == 0 {
				return spot{i: i, prev: m, next: m, found: true}
			}
			smaller = c < 0
		}
		if !smaller {
			return spot{i: i, prev: m, next: same}
		}
		m = same
		head = k.head(m)
	}
	return spot{i: int(n.n), prev: m}
}

// tail compares a separator's tail, which begins at from, with the key. It
// returns false if they are equal.
func (b *branch) tail(i int, k *Key, from int, same *int, smaller *bool) bool {
	for j, t := range b.tails[i] {
		if h := k.head(from + 8*j); t != h {
			*same, *smaller = from+8*j+bits.LeadingZeros64(t^h)/8, t < h
			return true
		}
	}
	return false
}

// setTails follows a change of an inner node's heads.
func (n *node) setTails() {
	for i, sep := range n.in.seps[:n.n] {
		for j := range tailLen {
			n.in.tails[i][j] = sep.head(int(n.lcps[i]) + 8*(j+1))
		}
	}
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

// enter makes room for a new entry k in heads and lcps. What the entries are
// has to be in its place already: next's key may have to be read.
func (n *node) enter(at spot, k *Key, keyAt func(*node, int) Key) {
	copy(n.heads[at.i+1:n.n+1], n.heads[at.i:n.n])
	copy(n.lcps[at.i+1:n.n+1], n.lcps[at.i:n.n])
	n.n++
	n.lcps[at.i], n.heads[at.i] = uint16(at.prev), k.head(at.prev)
	// The entry behind has this one before it now. If it had less in common
	// with the one before than k has, nothing changes for it.
	if at.i+1 == int(n.n) || at.next <= at.prev {
		return
	}
	// Its head begins later now. If the old one reaches beyond the name's
	// end, nothing but zeros can follow what is left of it.
	i, d := at.i+1, at.next-at.prev
	n.lcps[i] = uint16(at.next)
	if h := n.heads[i]; d < 8 && h&0xff == 0 && at.next >= k.nameAt() {
		n.heads[i] = h << (8 * d)
		return
	}
	next := keyAt(n, i)
	n.heads[i] = next.head(at.next)
}

// leave takes an entry out of heads and lcps.
func (n *node) leave(i int) {
	if i+1 < int(n.n) && n.lcps[i+1] > n.lcps[i] {
		// The entry behind now differs where the removed one did. The bytes
		// from there on are the removed one's, then its own.
		d := 8 * uint(n.lcps[i+1]-n.lcps[i])
		n.heads[i+1] = n.heads[i]&^(^uint64(0)>>d) | n.heads[i+1]>>d
		n.lcps[i+1] = n.lcps[i]
	}
	copy(n.heads[i:n.n-1], n.heads[i+1:n.n])
	copy(n.lcps[i:n.n-1], n.lcps[i+1:n.n])
	n.n--
}

// insertSlot puts a slot in a leaf that has room.
func (n *node) insertSlot(at spot, k *Key, slot uint32, keyAt func(*node, int) Key) {
	copy(n.slots[at.i+1:n.n+1], n.slots[at.i:n.n])
	n.slots[at.i] = slot
	n.enter(at, k, keyAt)
}

// insertKid puts a separator and the child to its right in an inner node that
// has room.
func (n *node) insertKid(at spot, sep *Key, kid *node, keyAt func(*node, int) Key) {
	copy(n.in.seps[at.i+1:n.n+1], n.in.seps[at.i:n.n])
	copy(n.in.kids[at.i+2:n.n+2], n.in.kids[at.i+1:n.n+1])
	n.in.seps[at.i], n.in.kids[at.i+1] = sep, kid
	n.enter(at, sep, keyAt)
	n.setTails()
}

// removeKid takes out separator i and the child to its right.
func (n *node) removeKid(i int) {
	copy(n.in.seps[i:n.n-1], n.in.seps[i+1:n.n])
	copy(n.in.kids[i+1:n.n], n.in.kids[i+2:n.n+1])
	n.in.seps[n.n-1], n.in.kids[n.n] = nil, nil
	n.leave(i)
	n.setTails()
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
