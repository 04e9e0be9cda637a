package protobuf

import (
	"encoding/binary"
	"sync/atomic"
)

// gauge counts how often the values of one field were not known by the table:
// where they hardly ever are, as those of an object's UID, asking costs more
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
	// To ask for a string is worth it if one in nine is known: what is saved
	// is an allocation of some 32 bytes. To know a unit is worth any number.
	worthUnit = patienceUnits
	worthText = 8
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

// hit makes up for some misses. To lose an update to another decoder does no
// harm.
func (c *counter) hit(worth uint32) {
	if n := c.misses.Load(); n != 0 {
		c.misses.Store(n - min(n, worth))
	}
}

func (c *counter) miss(patience uint32) {
	if c.misses.Load() < patience {
		c.misses.Add(1)
	}
}
