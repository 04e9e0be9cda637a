package share

import (
	"sync"
	"sync/atomic"
)

// Recent holds values that were offered recently, and that the table did not admit,
// since it was their first sighting. A list comes in the order of its keys, so the
// pods of one template follow each other: with Recent the second pod gets the
// values of the first, which then has no copies of its own. Values that two parts
// of one object have in common are found here too, without an entry in the table.
//
// It holds at most 512 values, of 2 MiB together, and takes 24 KiB once it is used.
// So it belongs to the sessions that decode one busy stream, for as long as that is
// busy. It is safe for concurrent use and never waits: a session that finds a shard
// locked does without.
type Recent struct {
	shards [recentShards]atomic.Pointer[recentShard]
	// objects counts those that were begun.
	objects atomic.Uint32
}

const (
	recentShards = 8
	recentSlots  = 64
	// recentBytes bounds the values of a shard. A unit's bytes are also counted
	// with those of the unit that contains it.
	recentBytes = 256 << 10
)

type recentShard struct {
	mu sync.Mutex
	// bytes is how much memory the values keep alive; guarded by mu.
	bytes int
	// slots has each value in the only place where it can be; guarded by mu.
	slots [recentSlots]candidate
}

// candidate is a value that was seen once.
type candidate struct {
	unit  Unit
	hash  Hash
	value Value
	bytes uint32
	// object is which object offered it.
	object uint32
}

// place returns where a unit's value is, if it is there. Other bits choose the
// slots than in a table.
func (r *Recent) place(unit Unit, h Hash) (shard *atomic.Pointer[recentShard], slot uint64) {
	x := (h.A ^ uint64(unit)) * 0x9e3779b97f4a7c15 >> 20
	return &r.shards[x%recentShards], x / recentShards % recentSlots
}

// get returns a value that was offered recently. It removes the value of another
// object, since the table is to have it.
func (r *Recent) get(unit Unit, h Hash, object uint32) (c candidate, ok bool) {
	p, i := r.place(unit, h)
	s := p.Load()
	if s == nil || !s.mu.TryLock() {
		return c, false
	}
	defer s.mu.Unlock()
	at := &s.slots[i]
	if at.hash != h || at.unit != unit || at.value.Ptr == nil {
		return c, false
	}
	c = *at
	if c.object != object {
		s.bytes -= int(at.bytes)
		*at = candidate{}
	}
	return c, true
}

// put replaces the value in c's slot by c.
func (r *Recent) put(c candidate) {
	if c.bytes > recentBytes {
		return
	}
	p, i := r.place(c.unit, c.hash)
	s := p.Load()
	if s == nil {
		s = &recentShard{}
		if !p.CompareAndSwap(nil, s) {
			return
		}
	}
	if !s.mu.TryLock() {
		return
	}
	defer s.mu.Unlock()
	s.bytes += int(c.bytes) - int(s.slots[i].bytes)
	s.slots[i] = c
	if s.bytes > recentBytes {
		clear(s.slots[:])
		s.slots[i], s.bytes = c, int(c.bytes)
	}
}
