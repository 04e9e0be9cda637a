package keyqueue

import "hash/maphash"

// table finds the slot of a key. It holds no keys: what it answers is compared
// with the key in the slot. It grows and shrinks a block at a time, so that no
// operation touches more than some blocks of keys, however many there are.
//
// It is a hash table with a directory (Fagin et al., "Extendible hashing", 1979)
// over blocks with linear probing in Robin Hood order (Celis, 1986): an entry
// knows its distance from home, so that deleting one needs no hash of the others.
type table[K comparable] struct {
	seed maphash.Seed
	// directory has 1<<depth entries, by the upper bits of a hash; a block whose
	// own depth is less stands in several.
	directory []*block
	depth     uint8
	blocks    int
}

const (
	blockBits = 9
	blockSize = 1 << blockBits
	// fullBlock is how many entries a block has when it is split: the longest
	// probes are still some ten entries then.
	fullBlock = blockSize * 7 / 8
	// emptyBlocks is how many entries two neighbours have at most when they are
	// merged.
	emptyBlocks = blockSize / 4
	// mergesAtOnce bounds how long a shrink takes: to some hundred microseconds.
	mergesAtOnce = 16
)

type block struct {
	slots [blockSize]uint32
	// marks is 0 where there is no entry. Otherwise the lower bits are 1 plus how
	// far the entry is from the place of its hash, and the upper ones are bits of
	// the hash: those by which the block's next splits part its entries.
	marks [blockSize]mark
	used  int
	// depth is how many upper bits of their hashes the entries have in common, and
	// base from where on marks have bits.
	// Invariant: base <= depth <= base+markBits.
	depth, base uint8
}

// A mark has 3 bits of a hash, so that keys are hashed again in every third split
// of their block only, and distances up to 31: with more the block is split.
type mark uint8

const (
	markBits = 3
	farBits  = 8 - markBits
	farthest = 1<<farBits - 1
)

func (m mark) far() uint8 { return uint8(m) & farthest }

// markOf returns the mark of an entry that is at home.
func (b *block) markOf(hash uint64) mark {
	return mark(hash<<b.base>>(64-markBits))<<farBits | 1
}

// bit returns the bit of the hash that comes after those that all of the block
// have in common.
func (b *block) bit(m mark) int {
	return int(m) >> (7 - (b.depth - b.base)) & 1
}

func newTable[K comparable]() table[K] {
	return table[K]{seed: maphash.MakeSeed(), directory: []*block{{}}, blocks: 1}
}

func (t *table[K]) hash(key K) uint64 { return maphash.Comparable(t.seed, key) }

// of returns the block of a hash, and the home in it.
func (t *table[K]) of(hash uint64) (*block, uint32) {
	return t.directory[hash>>(64-t.depth)], uint32(hash) % blockSize
}

// find returns the slot of a key of that hash, and its place in its block.
func (t *table[K]) find(hash uint64, key K, records *slab[K]) (slot, place uint32, ok bool) {
	b, i := t.of(hash)
	at := b.markOf(hash)
	for far := at.far(); ; far++ {
		switch m := b.marks[i]; {
		case m.far() < far:
			return 0, 0, false
		case m == at && records.at(b.slots[i]).key == key:
			return b.slots[i], i, true
		}
		if far == farthest {
			return 0, 0, false
		}
		at++
		i = (i + 1) % blockSize
	}
}

// insert adds a slot whose key is not in the table. Splitting reads the keys of
// a block from records.
func (t *table[K]) insert(hash uint64, slot uint32, records *slab[K]) {
	b, home := t.of(hash)
	for b.used >= fullBlock || !b.place(home, slot, b.markOf(hash)) {
		t.split(b, hash, records)
		b, home = t.of(hash)
	}
}

// place adds an entry, or reports that some entry would be too far from home.
func (b *block) place(home, slot uint32, m mark) bool {
	// Looked through before anything moves, so that a refusal leaves the block as it was.
	far := m.far()
	for i := home; b.marks[i] != 0; i = (i + 1) % blockSize {
		far = min(far, b.marks[i].far())
		if far == farthest {
			return false
		}
		far++
	}
	for i := home; ; i = (i + 1) % blockSize {
		if b.marks[i] == 0 {
			b.slots[i], b.marks[i] = slot, m
			b.used++
			return true
		}
		if b.marks[i].far() < m.far() {
			b.slots[i], slot = slot, b.slots[i]
			b.marks[i], m = m, b.marks[i]
		}
		m++
	}
}

// remove deletes the entry that find returned.
func (t *table[K]) remove(hash uint64, place uint32) {
	b, _ := t.of(hash)
	for {
		next := (place + 1) % blockSize
		if b.marks[next].far() <= 1 {
			break
		}
		b.slots[place], b.marks[place] = b.slots[next], b.marks[next]-1
		place = next
	}
	b.slots[place], b.marks[place] = 0, 0
	b.used--
}

// shrink merges some blocks, as long as there is room for keep keys.
func (t *table[K]) shrink(keep int, records *slab[K]) {
	merged := 0
	for i := 0; i < len(t.directory) && merged < mergesAtOnce && (t.blocks-1)*fullBlock/2 >= keep; {
		b := t.directory[i]
		wide := 1 << (t.depth - b.depth)
		if b.depth > 0 && t.merge(b, uint64(i)<<(64-t.depth), records) {
			merged++
		}
		i += wide
	}
}

// split makes two blocks of one.
func (t *table[K]) split(b *block, hash uint64, records *slab[K]) {
	if b.depth == t.depth {
		wider := make([]*block, 2*len(t.directory))
		for i, b := range t.directory {
			wider[2*i], wider[2*i+1] = b, b
		}
		t.directory = wider
		t.depth++
	}
	spent := b.depth == b.base+markBits
	base := b.base
	if spent {
		base = b.depth
	}
	halves := [2]*block{{depth: b.depth + 1, base: base}, {depth: b.depth + 1, base: base}}
	t.stand(halves[0], hash, 0)
	t.stand(halves[1], hash, 1)
	t.blocks++
	if spent {
		t.refile(b, records)
		return
	}
	for i, m := range b.marks {
		if m != 0 {
			home := (uint32(i) + 1 - uint32(m.far())) % blockSize
			// There is room: a half has no more entries than the whole had, in
			// the same order, so that none is further from home.
			halves[b.bit(m)].place(home, b.slots[i], m&^farthest|1)
		}
	}
}

// stand puts b where the directory has the hashes that have the upper bits of
// hash, except that the last of b's bits is bit.
func (t *table[K]) stand(b *block, hash uint64, bit int) {
	wide := 1 << (t.depth - b.depth)
	first := int(hash>>(64-t.depth)) &^ (2*wide - 1)
	first += bit * wide
	for i := first; i < first+wide; i++ {
		t.directory[i] = b
	}
}

// merge makes one block of b, which has the hash, and its neighbour, if both are
// nearly empty.
func (t *table[K]) merge(b *block, hash uint64, records *slab[K]) bool {
	other, _ := t.of(hash ^ 1<<(64-b.depth))
	if other.depth != b.depth || b.used+other.used > emptyBlocks {
		return false
	}
	one := &block{depth: b.depth - 1, base: b.depth - 1}
	wide := 1 << (t.depth - one.depth)
	first := int(hash>>(64-t.depth)) &^ (wide - 1)
	for i := first; i < first+wide; i++ {
		t.directory[i] = one
	}
	t.blocks--
	t.refile(b, records)
	t.refile(other, records)
	return true
}

// refile puts the entries of a block that is no longer in the directory where
// they belong.
func (t *table[K]) refile(b *block, records *slab[K]) {
	for i, m := range b.marks {
		if m != 0 {
			t.insert(t.hash(records.at(b.slots[i]).key), b.slots[i], records)
		}
	}
}
