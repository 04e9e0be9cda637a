package keyqueue

import "maps"

// slab holds records by slot number, in chunks.
type slab[K comparable] struct {
	chunks []*chunk[K]
	rooms  []room // by chunk
	// open are the chunks that have a free slot, including those without any record;
	// slots are taken from the last.
	open []uint32
	// used counts records; held counts the chunks that are in memory.
	used, held int
}

// chunkSize leaves 8 bytes for the allocator, whose size classes are most often
// multiples of 256 bytes; see BenchmarkAMillionWaitingKeys.
const chunkSize = 255

// chunk has records only, so that it fills the allocator's size classes.
type chunk[K comparable] [chunkSize]record[K]

// room is the list of a chunk's free slots: free is the first, the pos of each one's
// empty record is the next, and chunkSize is the end.
type room struct{ free, used uint32 }

// at returns the record in a slot.
func (s *slab[K]) at(slot uint32) *record[K] {
	return &s.chunks[slot/chunkSize][slot%chunkSize]
}

// lookup returns the record in a slot, or nil if the slot's chunk has been freed.
func (s *slab[K]) lookup(slot uint32) *record[K] {
	if s.chunks[slot/chunkSize] == nil {
		return nil
	}
	return s.at(slot)
}

// take returns a slot with an empty record.
func (s *slab[K]) take() uint32 {
	if len(s.open) == 0 {
		s.open = append(s.open, uint32(len(s.chunks)))
		s.chunks = append(s.chunks, nil)
		s.rooms = append(s.rooms, room{})
	}
	n := s.open[len(s.open)-1]
	c, room := s.chunks[n], &s.rooms[n]
	if c == nil {
		c = &chunk[K]{}
		for i := range c {
			c[i].pos = uint32(i) + 1
		}
		s.chunks[n] = c
		s.held++
		room.free = 0
	}
	i := room.free
	room.free = c[i].pos
	room.used++
	s.used++
	if room.used == chunkSize {
		s.open = s.open[:len(s.open)-1]
	}
	return n*chunkSize + i
}

// release empties the record in a slot.
func (s *slab[K]) release(slot uint32) {
	n, i := slot/chunkSize, slot%chunkSize
	room := &s.rooms[n]
	s.chunks[n][i] = record[K]{pos: room.free}
	room.free = i
	room.used--
	s.used--
	if room.used == chunkSize-1 {
		s.open = append(s.open, n)
	}
}

// shrink frees empty chunks, as long as there is room for keep records.
func (s *slab[K]) shrink(keep int) {
	for n := len(s.chunks) - 1; n >= 0 && (s.held-1)*chunkSize >= keep; n-- {
		if s.chunks[n] != nil && s.rooms[n].used == 0 {
			s.chunks[n] = nil
			s.held--
		}
	}
}

// shrunk returns a smaller map with the entries of one that once had many more, and
// the most entries that it has had. A map never shrinks otherwise.
func shrunk[V any](m map[uint32]V, most int) (map[uint32]V, int) {
	if most < 8*shrinkAfter || len(m) > shrinkAfter {
		return m, most
	}
	smaller := make(map[uint32]V, len(m))
	maps.Copy(smaller, m)
	return smaller, len(m)
}
