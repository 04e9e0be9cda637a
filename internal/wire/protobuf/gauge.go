package protobuf

import (
	"encoding/binary"
	"sync/atomic"
)

// gauge counts how often in a row the values of one field were not known by the
// table: where they never are, as those of an object's UID, asking costs more
// than it can give. It decides about speed alone.
type gauge struct {
	units, text counter
}

type counter struct{ misses atomic.Uint32 }

const (
	// A unit is found from its third sighting on, a string from its second.
	// Objects that come in no order have shown one of n values three times
	// after some 2·n^(2/3) of them, twice after some √n; in turn, as a test
	// may send them, after 2·n and n. So 4,000 templates are noticed in any
	// order, and many more in that of a list, where they stand together.
	patienceUnits = 8192
	patienceText  = 4096
)

// ask reports whether to ask the table for what b is. Beyond the patience it
// asks for one in sixteen, always for the same ones: if values begin to repeat,
// some of these do.
func (c *counter) ask(b []byte, patience uint32) bool {
	if c.misses.Load() < patience {
		return true
	}
	var x uint64
	if n := len(b); n >= 8 {
		x = binary.LittleEndian.Uint64(b[n-8:]) ^ binary.LittleEndian.Uint64(b[(n-8)/2:])
	} else {
		for _, v := range b {
			x = x<<8 | uint64(v)
		}
	}
	return (x+uint64(len(b)))*0x9e3779b97f4a7c15>>60 == 0
}

func (c *counter) hit() {
	if c.misses.Load() != 0 {
		c.misses.Store(0)
	}
}

func (c *counter) miss(patience uint32) {
	if c.misses.Load() < patience {
		c.misses.Add(1)
	}
}
