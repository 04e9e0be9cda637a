package source

import (
	"sync/atomic"

	"github.com/kinglet-go/kinglet/source/internal/fastpath"
)

// Sharing is what decoders remember of the objects that they have decoded:
// values that objects have in common, of which each is kept once. Sources that
// have the same Sharing share with each other; without one in its Options, a
// source has one to itself, or its Set's.
//
// It is bounded in bytes, and keeps no value from being collected for longer
// than that; forgetting one affects no object. It takes next to no memory
// until objects repeat themselves. Beyond the bound it remembers, in 2 MiB at
// most, hashes of what it has seen once. Safe for concurrent use. In a build with
// the tag kinglet_safe nothing is shared, and a Sharing stays empty.
type Sharing struct {
	table *fastpath.Table
	id    uint64
}

// sharings counts those that were made.
var sharings atomic.Uint64

// NewSharing returns a Sharing that keeps at most maxBytes of values and
// strings, what it takes to find them included; 64 MiB if 0.
func NewSharing(maxBytes int64) *Sharing {
	return &Sharing{table: fastpath.NewTable(int(max(maxBytes, 0))), id: sharings.Add(1)}
}

// ID is a number that no other Sharing of the process has; never 0.
func (s *Sharing) ID() uint64 { return s.id }

// SharingStats says how much a Sharing keeps.
type SharingStats struct {
	// Values is how many values are shared. Bytes is what they and the shared
	// strings take, at most MaxBytes.
	Values          int
	Bytes, MaxBytes int64
	// Hits and Misses are lookups of values that found one and that did not. They
	// are counted once a batch, or every 64 lookups of what a Map returned.
	Hits, Misses uint64
}

// Stats returns how much is kept now.
func (s *Sharing) Stats() SharingStats {
	st := s.table.Stats()
	return SharingStats{Values: st.Entries, Bytes: int64(st.Bytes), MaxBytes: int64(st.MaxBytes), Hits: st.Hits, Misses: st.Misses}
}
