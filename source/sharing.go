package source

import (
	"sync"
	"sync/atomic"
	"weak"

	"github.com/kinglet-go/kinglet/source/internal/fastpath"
)

// Sharing is what decoders remember of the objects that they have decoded:
// values that objects have in common, of which each is kept once. Sources that
// have the same Sharing share with each other. Those without one in their Options
// have DefaultSharing.
//
// It is bounded in bytes. A value that no decoder has asked for during some minutes
// is kept no longer than objects have it, and strings are forgotten once an hour;
// forgetting one affects no object. It takes next to no memory until objects
// repeat themselves. Beyond the bound it remembers, in 2 MiB at
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

// byDefault is what DefaultSharing returns.
var byDefault struct {
	mu sync.Mutex
	// chosen is SetDefaultSharing's argument. If it is nil, made is returned: it is
	// weak, so that a program without informers has no table.
	chosen *Sharing              // guarded by mu
	made   weak.Pointer[Sharing] // guarded by mu
}

// DefaultSharing returns what all sources of the program share through whose Options
// name no Sharing: SetDefaultSharing's, or one of 64 MiB. Of the latter nothing is left
// once the last source that has it is garbage, and the next source begins another.
//
// Informers of package cache and caches of ctrlruntime have OwnSharing instead.
func DefaultSharing() *Sharing {
	d := &byDefault
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.chosen != nil {
		return d.chosen
	}
	s := d.made.Value()
	if s == nil {
		s = NewSharing(0)
		d.made = weak.Make(s)
	}
	return s
}

// OwnSharing returns what those share through that promise to keep what programs write
// to the objects of one informer away from others, as client-go's do:
// SetDefaultSharing's, or a new one of 64 MiB.
func OwnSharing() *Sharing {
	byDefault.mu.Lock()
	defer byDefault.mu.Unlock()
	if byDefault.chosen != nil {
		return byDefault.chosen
	}
	return NewSharing(0)
}

// SetDefaultSharing makes s what DefaultSharing and OwnSharing return, for programs that
// hold so much that 64 MiB are too few, or that have informers of package cache share.
// Sources that exist stay as they are, so it is called first of all. nil undoes it.
func SetDefaultSharing(s *Sharing) {
	byDefault.mu.Lock()
	defer byDefault.mu.Unlock()
	byDefault.chosen = s
}

// orDefault returns s, or DefaultSharing if s is nil.
func orDefault(s *Sharing) *Sharing {
	if s == nil {
		s = DefaultSharing()
	}
	return s
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
