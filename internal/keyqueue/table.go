package keyqueue

import "hash/maphash"

// table finds the slot of a key. It holds no keys: if an entry's hash bits match, find
// compares the key in its slot. It grows and shrinks one block at a time, so that no
// operation touches more than a few blocks of keys, however many there are.
//
// It is a hash table with a directory (Fagin et al., "Extendible hashing", 1979)
// over blocks with linear probing in Robin Hood order (Celis, 1986). An entry stores
// its distance from home and the hash bits that splits go by, so that nothing is
// hashed again.
type table[K comparable] struct {
	seed maphash.Seed
	// directory has 1<<depth entries, by the upper bits of a hash; a block with a
	// smaller depth has several of them.
	directory []*block
	depth     uint8
	blocks    int
}

const (
	// blockSize makes a block 4,072 bytes: one page, and a size class of the
	// allocator.
	blockSize = 508
	// fullBlock is the number of entries at which a block is split, so that probes
	// stay short.
	fullBlock = blockSize * 7 / 8
	// emptyBlocks is the most entries that two neighbors have together when they are
	// merged.
	emptyBlocks = blockSize / 4
	// mergesAtOnce bounds how long a shrink takes.
	mergesAtOnce = 16
)

type block struct {
	entries [blockSize]entry
	used    int32
	// depth is how many upper hash bits the entries have in common.
	depth uint8
}

// An entry is, from the upper bits down, 1 plus its distance from home (6 bits), the
// upper bits of its hash (26), and its slot (32). 0 is no entry. A block that would
// have an entry 63 from home is split; 26 bits separate more keys than there are slots.
type entry uint64

const (
	slotBits = 32
	hashBits = 26
	// oneFurther is the difference that one place makes to an entry.
	oneFurther entry = 1 << (slotBits + hashBits)
	farthest         = 1<<(64-slotBits-hashBits) - 1
)

// entryOf returns the entry of a hash that is at home.
func entryOf(hash uint64, slot uint32) entry {
	return oneFurther | entry(hash>>(64-hashBits)<<slotBits) | entry(slot)
}

func (e entry) slot() uint32 { return uint32(e) }

func (e entry) far() uint32 { return uint32(e >> (slotBits + hashBits)) }

// atHome returns the entry with the distance of its home place.
func (e entry) atHome() entry { return e&(oneFurther-1) | oneFurther }

// bit returns the hash bit that follows the first depth bits.
func (e entry) bit(depth uint8) int {
	return int(e>>(slotBits+hashBits-1-depth)) & 1
}

// homeOf returns the place in a block where the entry of a hash is looked for first.
func homeOf(hash uint64) uint32 { return uint32(uint64(uint32(hash)) * blockSize >> 32) }

func after(place uint32) uint32 {
	if place++; place < blockSize {
		return place
	}
	return 0
}

func newTable[K comparable]() table[K] {
	return table[K]{seed: maphash.MakeSeed(), directory: []*block{{}}, blocks: 1}
}

func (t *table[K]) hash(key K) uint64 { return maphash.Comparable(t.seed, key) }

func (t *table[K]) of(hash uint64) *block { return t.directory[hash>>(64-t.depth)] }

// find returns the slot of a key with the given hash, and its place in its block.
func (t *table[K]) find(hash uint64, key K, records *slab[K]) (slot, place uint32, ok bool) {
	b := t.of(hash)
	i := homeOf(hash)
	for want := entryOf(hash, 0); ; want += oneFurther {
		e := b.entries[i]
		if e.far() < want.far() {
			return 0, 0, false
		}
		if e>>slotBits == want>>slotBits && records.at(e.slot()).key == key {
			return e.slot(), i, true
		}
		if want.far() == farthest {
			return 0, 0, false
		}
		i = after(i)
	}
}

// insert adds a slot whose key is not in the table.
func (t *table[K]) insert(hash uint64, slot uint32) {
	b := t.of(hash)
	for b.used >= fullBlock || !b.place(homeOf(hash), entryOf(hash, slot)) {
		t.split(b, hash)
		b = t.of(hash)
	}
}

// place adds an entry, given as at its home. It returns false if some entry would then
// be too far from home.
func (b *block) place(home uint32, e entry) bool {
	// Check before anything moves, so that a refusal leaves the block as it was.
	far := e.far()
	for i := home; b.entries[i] != 0; i = after(i) {
		far = min(far, b.entries[i].far())
		if far == farthest {
			return false
		}
		far++
	}
	for i := home; ; i = after(i) {
		here := b.entries[i]
		if here.far() < e.far() {
			b.entries[i] = e
			if e = here; e == 0 {
				b.used++
				return true
			}
		}
		e += oneFurther
	}
}

// remove deletes the entry that find returned.
func (t *table[K]) remove(hash uint64, place uint32) {
	b := t.of(hash)
	for {
		next := after(place)
		if b.entries[next].far() <= 1 {
			break
		}
		b.entries[place] = b.entries[next] - oneFurther
		place = next
	}
	b.entries[place] = 0
	b.used--
}

// shrink merges some blocks, as long as there is room for keep keys.
func (t *table[K]) shrink(keep int) {
	merged := 0
	for i := 0; i < len(t.directory) && merged < mergesAtOnce && (t.blocks-1)*fullBlock/2 >= keep; {
		b := t.directory[i]
		wide := 1 << (t.depth - b.depth)
		if b.depth > 0 && t.merge(b, uint64(i)<<(64-t.depth)) {
			merged++
		}
		i += wide
	}
}

// split divides a block into two.
func (t *table[K]) split(b *block, hash uint64) {
	if b.depth == t.depth {
		wider := make([]*block, 2*len(t.directory))
		for i, b := range t.directory {
			wider[2*i], wider[2*i+1] = b, b
		}
		t.directory = wider
		t.depth++
	}
	halves := [2]*block{{depth: b.depth + 1}, {depth: b.depth + 1}}
	wide := 1 << (t.depth - b.depth - 1)
	first := int(hash>>(64-t.depth)) &^ (2*wide - 1)
	for i := range 2 * wide {
		t.directory[first+i] = halves[i/wide]
	}
	t.blocks++
	if !b.refile(func(e entry) *block { return halves[e.bit(b.depth)] }) {
		panic("BUG: half a block has an entry further from home than the whole")
	}
}

// merge merges b, the block of the hash, with its neighbor if both are nearly empty.
func (t *table[K]) merge(b *block, hash uint64) bool {
	other := t.of(hash ^ 1<<(64-b.depth))
	if other.depth != b.depth || b.used+other.used > emptyBlocks {
		return false
	}
	one := &block{depth: b.depth - 1}
	into := func(entry) *block { return one }
	if !b.refile(into) || !other.refile(into) {
		return false
	}
	wide := 1 << (t.depth - one.depth)
	first := int(hash>>(64-t.depth)) &^ (wide - 1)
	for i := range wide {
		t.directory[first+i] = one
	}
	t.blocks--
	return true
}

// refile puts the entries of a block into others; it returns false if there is no
// room. There is room if the others end up with fewer entries: the longest distance in
// a Robin Hood table does not depend on the order of insertion, and grows only with
// the entries.
func (b *block) refile(to func(entry) *block) bool {
	for i, e := range b.entries {
		if e == 0 {
			continue
		}
		home := (uint32(i) + blockSize + 1 - e.far()) % blockSize
		if !to(e).place(home, e.atHome()) {
			return false
		}
	}
	return true
}
