package keyqueue

// slab holds records by slot number, in chunks that are given back when they are
// empty.
type slab[K comparable] struct {
	chunks []*chunk[K]
	// room are the chunks that have a free slot, those without any record among
	// them; slots are taken from the last.
	room []uint32
	used int
}

const (
	chunkBits = 8
	chunkSize = 1 << chunkBits
)

type chunk[K comparable] struct {
	records [chunkSize]record[K]
	// free lists the slots of the chunk without a record: the first, and in each
	// record's pos the next; chunkSize ends it.
	free uint32
	used int
}

// at returns the record in a slot.
func (s *slab[K]) at(slot uint32) *record[K] {
	return &s.chunks[slot>>chunkBits].records[slot%chunkSize]
}

// take returns a slot with an empty record.
func (s *slab[K]) take() uint32 {
	if len(s.room) == 0 {
		s.room = append(s.room, uint32(len(s.chunks)))
		s.chunks = append(s.chunks, nil)
	}
	n := s.room[len(s.room)-1]
	c := s.chunks[n]
	if c == nil {
		c = &chunk[K]{}
		for i := range c.records {
			c.records[i].pos = uint32(i) + 1
		}
		s.chunks[n] = c
	}
	i := c.free
	c.free = c.records[i].pos
	c.used++
	s.used++
	if c.used == chunkSize {
		s.room = s.room[:len(s.room)-1]
	}
	return n<<chunkBits | i
}

// release empties the record in a slot.
func (s *slab[K]) release(slot uint32) {
	n, i := slot>>chunkBits, slot%chunkSize
	c := s.chunks[n]
	c.records[i] = record[K]{pos: c.free}
	c.free = i
	c.used--
	s.used--
	switch {
	case c.used == chunkSize-1:
		s.room = append(s.room, n)
	case c.used == 0 && n != s.room[len(s.room)-1]:
		// The chunk that the next slots come from stays, so that a queue that
		// is often empty does not allocate.
		s.chunks[n] = nil
	}
}
