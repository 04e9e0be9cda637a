package store

import "slices"

// treeBuilder builds a tree from keys: its leaves first, and then the levels
// above. That is fast for keys that come almost in order.
type treeBuilder[T any] struct {
	v      *Snapshot[T]
	n      int
	leaves []*node
	seps   []*Key // between the leaves
}

// add adds a key that was not added before, and is not in the version's tree.
func (b *treeBuilder[T]) add(key Key, slot uint32) {
	b.v.odd = b.v.odd || key.odd()
	b.n++
	if len(b.leaves) == 0 {
		b.leaves = append(b.leaves, &node{owner: b.v.epoch})
	}
	i := len(b.seps)
	if i > 0 && key.Compare(*b.seps[i-1]) < 0 {
		i, _ = slices.BinarySearchFunc(b.seps, key, func(sep *Key, key Key) int {
			return max(sep.Compare(key), 0)*2 - 1
		})
	}
	lo, hi := b.fences(i)
	var buf keyBuf
	k := b.v.aim(&key, false, &buf)
	if right, sep := b.v.insertLeaf(b.leaves[i], lo, hi, &k, slot); right != nil {
		b.leaves, b.seps = slices.Insert(b.leaves, i+1, right), slices.Insert(b.seps, i, sep)
	}
}

// each calls visit with every slot, in the order of keys.
func (b *treeBuilder[T]) each(visit func(slot uint32)) {
	for _, leaf := range b.leaves {
		for _, slot := range leaf.slots[:leaf.n] {
			visit(slot)
		}
	}
}

// root returns the tree; nil if nothing was added.
func (b *treeBuilder[T]) root() *node {
	if b.n == 0 {
		return nil
	}
	for len(b.leaves) > 1 {
		// Deal the nodes out evenly, so that each parent gets several.
		n := len(b.leaves)
		parents := (n + branchMax) / (branchMax + 1)
		var up treeBuilder[T]
		for p := range parents {
			from, to := p*n/parents, (p+1)*n/parents
			parent := &node{owner: b.v.epoch, in: &branch{}}
			parent.setKids(b.seps[from:to-1], b.leaves[from:to])
			up.leaves = append(up.leaves, parent)
			if to < n {
				up.seps = append(up.seps, b.seps[to-1])
			}
		}
		b.leaves, b.seps = up.leaves, up.seps
		for i, n := range b.leaves {
			lo, hi := b.fences(i)
			b.v.rebase(n, lo, hi)
		}
	}
	return b.leaves[0]
}

// fences returns the fences of a leaf; nil is open.
func (b *treeBuilder[T]) fences(i int) (lo, hi *Key) {
	if i > 0 {
		lo = b.seps[i-1]
	}
	if i < len(b.seps) {
		hi = b.seps[i]
	}
	return lo, hi
}
