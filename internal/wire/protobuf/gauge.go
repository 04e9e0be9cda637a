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
	// Of 1,024 values out of 10,000 some will have come three times, which is
	// when a unit is found; of 256, some will have come twice, when a string
	// is.
	patienceUnits = 1024
	patienceText  = 256
)

// ask reports whether to ask the table for what b is. Beyond the patience it
// asks for one in eight, always for the same ones: if values begin to repeat,
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
	return (x+uint64(len(b)))*0x9e3779b97f4a7c15>>61 == 0
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
