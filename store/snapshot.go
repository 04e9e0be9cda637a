package store

import (
	"fmt"
	"iter"
	"math/bits"
	"slices"
	"strings"
	"sync/atomic"
)

// Snapshot is one version of a store: objects, every index and the resource
// versions, all of the same moment. It never changes and may be kept for any
// time. It keeps its objects alive, and costs the store one copy of each block
// and node that is changed after it was taken. All methods are safe for
// concurrent use and none waits for anything.
type Snapshot[T any] struct {
	store *Store[T]

	// state and ready pass the version from the writer to readers; see
	// handover.go. The writer may change everything below while state is busy;
	// nothing changes once it is taken.
	state atomic.Uint32
	ready atomic.Pointer[chan struct{}]

	// epoch is the version's mark: the version may change a block or node in
	// place if its owner equals epoch.
	epoch   uint64
	blocks  blockTable[T]
	root    *node // nil when empty
	n       int
	odd     bool           // some key, now or earlier, cannot be compared by bytes
	indexes []indexRoot[T] // sorted by name
	// indexOwner is the epoch that owns the array behind indexes, versionOwner
	// the one behind versions.
	indexOwner   uint64
	versions     []scopeVersion // sorted by id
	versionOwner uint64
}

// scopeVersion has the versions of a scope: see ResourceVersion and ReportedVersion.
type scopeVersion struct{ id, version, reported string }

var _ Reader[any] = (*Snapshot[any])(nil)

// Get returns the object under key. It does not allocate. For a key that
// exists it costs one look at a hash table and one at the slot, and does not
// touch the object. For a missing key it costs no more while this is the
// store's latest version, and a tree search afterwards.
func (v *Snapshot[T]) Get(key Key) (T, bool) {
	if e, _ := v.find(key); e != nil {
		return e.obj, true
	}
	var none T
	return none, false
}

// find returns where a key's object is, or nil.
func (v *Snapshot[T]) find(key Key) (*entry[T], uint32) {
	if e, slot := v.findHinted(v.store.hints.of(key)); e != nil {
		return e, slot
	}
	return v.findUnhinted(key)
}

// findUnhinted is find for a key without a matching hint.
func (v *Snapshot[T]) findUnhinted(key Key) (*entry[T], uint32) {
	if v.store.latest.Load() == v {
		return nil, 0 // see the invariant of hints
	}
	if slot, ok := v.search(key); ok {
		return v.blocks.at(slot), slot
	}
	return nil, 0
}

// findHinted checks every slot that the hints name for f, and nothing else.
func (v *Snapshot[T]) findHinted(f fingerprint) (*entry[T], uint32) {
	groups := v.store.hints.groupsOf(f.tag)
	for i := f.tag; ; i++ {
		g := &groups[i&uint32(len(groups)-1)]
		bytes := g.bytes.Load()
		for m := matching(bytes, tagByte(f.tag)); m != 0; m &= m - 1 {
			h := g.entries[bits.TrailingZeros64(m)/8].Load()
			if uint32(h>>32) != f.tag {
				continue
			}
			slot := uint32(h)
			if e := v.blocks.at(slot); e != nil && e.print == f.print {
				return e, slot
			}
		}
		if matching(bytes, hintEmpty) != 0 {
			return nil, 0
		}
	}
}

// Len returns the number of objects.
func (v *Snapshot[T]) Len() int { return v.n }

// All iterates over all objects in key order, with no allocation per object.
func (v *Snapshot[T]) All() iter.Seq[T] { return v.Visit }

// Visit calls visit with all objects in key order, until it returns false.
func (v *Snapshot[T]) Visit(visit func(T) bool) {
	v.walkSpan(v.root, bounds{}, func(slots []uint32) bool { return v.visit(slots, visit) })
}

// Keys iterates over all keys in order.
func (v *Snapshot[T]) Keys() iter.Seq[Key] {
	return func(yield func(Key) bool) {
		v.walkSpan(v.root, bounds{}, func(slots []uint32) bool { return v.visitKeys(slots, yield) })
	}
}

// eachSlot calls visit with all slots in key order, until it returns false.
func (v *Snapshot[T]) eachSlot(visit func(uint32) bool) {
	v.walkSpan(v.root, bounds{}, func(slots []uint32) bool {
		for _, slot := range slots {
			if !visit(slot) {
				return false
			}
		}
		return true
	})
}

// visit yields the objects in some slots.
func (v *Snapshot[T]) visit(slots []uint32, yield func(T) bool) bool {
	for _, slot := range slots {
		if !yield(v.blocks.block(slot).slots[slot%blockLen].obj) {
			return false
		}
	}
	return true
}

// appendAll appends all objects to list.
func (v *Snapshot[T]) appendAll(list []T) []T {
	list = slices.Grow(list, v.n)
	v.walkSpan(v.root, bounds{}, func(slots []uint32) bool {
		list = v.appendSlots(slots, list)
		return true
	})
	return list
}

// appendSlots appends the objects in some slots to list. Slots that follow each other
// are mostly in one block.
func (v *Snapshot[T]) appendSlots(slots []uint32, list []T) []T {
	var in *block[T]
	last := uint32(maxSlots)
	for _, slot := range slots {
		if no := slot >> blockBits; no != last {
			in, last = v.blocks.block(slot), no
		}
		list = append(list, in.slots[slot%blockLen].obj)
	}
	return list
}

// appendValue appends the objects that an index has under a value to list.
func (v *Snapshot[T]) appendValue(root *valueNode, value string, list []T) []T {
	e := root.find(v.store.hints.hashValue(value), value)
	if e == nil {
		return list
	}
	list = slices.Grow(list, int(e.n))
	e.walk(func(slots []uint32) bool {
		list = v.appendSlots(slots, list)
		return true
	})
	return list
}

// indexNo returns which index has the name.
func (v *Snapshot[T]) indexNo(name string) (int, bool) {
	return slices.BinarySearchFunc(v.indexes, name, func(r indexRoot[T], name string) int { return strings.Compare(r.name, name) })
}

// index returns the root of a named index.
func (v *Snapshot[T]) index(name string) (*valueNode, error) {
	i, ok := v.indexNo(name)
	if !ok {
		return nil, fmt.Errorf("%w: %q", ErrNoIndex, name)
	}
	return v.indexes[i].root, nil
}

// ByIndex iterates over the objects that the named index holds under value,
// with no allocation per object. Their order is that of their places in
// memory. It means nothing, but is the same each time. The error wraps
// ErrNoIndex if there is no such index.
func (v *Snapshot[T]) ByIndex(index, value string) (iter.Seq[T], error) {
	root, err := v.index(index)
	if err != nil {
		return nil, err
	}
	return func(yield func(T) bool) { v.walkValue(root, value, yield) }, nil
}

// VisitIndex calls visit with the objects that ByIndex would yield, until it
// returns false.
func (v *Snapshot[T]) VisitIndex(index, value string, visit func(T) bool) error {
	root, err := v.index(index)
	if err == nil {
		v.walkValue(root, value, visit)
	}
	return err
}

func (v *Snapshot[T]) walkValue(root *valueNode, value string, yield func(T) bool) {
	v.walkSlots(root, value, func(slots []uint32) bool { return v.visit(slots, yield) })
}

// IndexKeys iterates over the keys of the objects that ByIndex would yield, in
// the same order. The error wraps ErrNoIndex if there is no such index.
func (v *Snapshot[T]) IndexKeys(index, value string) (iter.Seq[Key], error) {
	root, err := v.index(index)
	if err != nil {
		return nil, err
	}
	return func(yield func(Key) bool) {
		v.walkSlots(root, value, func(slots []uint32) bool { return v.visitKeys(slots, yield) })
	}, nil
}

// ByIndexKeyed is ByIndex with the objects' keys.
func (v *Snapshot[T]) ByIndexKeyed(index, value string) (iter.Seq2[Key, T], error) {
	root, err := v.index(index)
	if err != nil {
		return nil, err
	}
	return func(yield func(Key, T) bool) {
		v.walkSlots(root, value, func(slots []uint32) bool {
			for _, slot := range slots {
				if !yield(v.keyOf(slot), v.blocks.block(slot).slots[slot%blockLen].obj) {
					return false
				}
			}
			return true
		})
	}, nil
}

// ValuesOf returns the values that the named index has for an object, whether
// the store holds it or not, sorted and without duplicates. The error wraps
// ErrNoIndex, or is what the index function returned or panicked with.
func (v *Snapshot[T]) ValuesOf(index string, obj T) ([]string, error) {
	i, ok := v.indexNo(index)
	if !ok {
		return nil, fmt.Errorf("%w: %q", ErrNoIndex, index)
	}
	values, err := callIndex(v.indexes[i].fn, obj)
	if err != nil {
		return nil, err
	}
	return normal(values), nil
}

// walkSlots yields the slots that an index has under a value, some at a time.
func (v *Snapshot[T]) walkSlots(root *valueNode, value string, yield func([]uint32) bool) {
	if e := root.find(v.store.hints.hashValue(value), value); e != nil {
		e.walk(yield)
	}
}

// IndexCount returns how many objects ByIndex would yield, without visiting
// them.
func (v *Snapshot[T]) IndexCount(index, value string) (int, error) {
	root, err := v.index(index)
	if err != nil {
		return 0, err
	}
	if e := root.find(v.store.hints.hashValue(value), value); e != nil {
		return int(e.n), nil
	}
	return 0, nil
}

// IndexValues iterates over the values that have at least one object, in no
// particular order.
func (v *Snapshot[T]) IndexValues(index string) (iter.Seq[string], error) {
	root, err := v.index(index)
	if err != nil {
		return nil, err
	}
	return func(yield func(string) bool) {
		root.each(func(e *indexed) bool { return yield(e.value) })
	}, nil
}

// Indexes returns the names of the indexes, sorted.
func (v *Snapshot[T]) Indexes() []string {
	names := make([]string, len(v.indexes))
	for i, r := range v.indexes {
		names[i] = r.name
	}
	return names
}

// ResourceVersion returns the version of the given scope (its ID) that this
// state equals; empty before the first list.
func (v *Snapshot[T]) ResourceVersion(scope string) string {
	if i, ok := v.versionNo(scope); ok {
		return v.versions[i].version
	}
	return ""
}

// ReportedVersion returns the version to which Reported batches have brought a scope:
// ResourceVersion, without what other writes have set.
func (v *Snapshot[T]) ReportedVersion(scope string) string {
	if i, ok := v.versionNo(scope); ok {
		return v.versions[i].reported
	}
	return ""
}

func (v *Snapshot[T]) versionNo(scope string) (int, bool) {
	return slices.BinarySearchFunc(v.versions, scope, func(s scopeVersion, id string) int { return strings.Compare(s.id, id) })
}
