package share

import (
	"sync"
	"sync/atomic"
)

// Recent is the values that were offered lately, and that the table did not
// take in, since nobody had seen them before. A list comes in the order of its
// keys, so the pods of one template follow each other: with it the second has
// what the first had, and there is no copy that only the first has. What two
// parts of one object have in common is found here too, and the table does not
// learn of it.
//
// It holds at most 512 values, of 2 MiB together, and takes 24 KiB once it is
// used; so it belongs to those who decode one busy stream, for as long as that
// is busy. Safe for concurrent use: nobody waits, who meets another one does
// without.
type Recent struct {
	shards [recentShards]atomic.Pointer[recentShard]
	// objects counts those that were begun.
	objects atomic.Uint32
}

const (
	recentShards = 8
	recentSlots  = 64
	// recentBytes bounds the values of a shard. A unit's bytes are counted
	// again with those around it.
	recentBytes = 256 << 10
)

type recentShard struct {
	mu sync.Mutex
	// bytes is what is alive with the values; guarded by mu.
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

// place says where a unit's value is, if it is there. The shard's slots are
// chosen by other bits than a table's.
func (r *Recent) place(unit Unit, h Hash) (shard *atomic.Pointer[recentShard], slot uint64) {
	x := (h.A ^ uint64(unit)) * 0x9e3779b97f4a7c15 >> 20
	return &r.shards[x%recentShards], x / recentShards % recentSlots
}

// get returns a value that was offered lately. One of another object's is
// taken out, since the table is to have it.
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

// put replaces another value by this one.
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
