package source

import (
	"sync"
	"sync/atomic"
	"weak"

	"github.com/kinglet-go/kinglet/internal/wire/share"
)

// Sharing stores values that decoded objects have in common, each once. Sources
// with the same Sharing share with each other. Sources without one in their
// Options use the default one: SetDefaultSharing's, or one of 64 MiB. The latter is freed
// with the last source that uses it, and the next source begins another.
//
// It is bounded in bytes. A value that no decoder has looked up for some minutes
// is kept only as long as an object has it. Strings are forgotten once an hour.
// Forgetting a value affects no object. A Sharing takes almost no memory until
// objects repeat. Beyond the bound it keeps hashes of what it has seen once, in
// 2 MiB at most. It is safe for concurrent use.
type Sharing struct {
	table *share.Table
	id    uint64
}

// sharings counts the Sharings that were made.
var sharings atomic.Uint64

// NewSharing returns a Sharing that keeps at most maxBytes of values and
// strings, their index included; 64 MiB if 0.
func NewSharing(maxBytes int64) *Sharing {
	return &Sharing{table: share.NewTable(int(max(maxBytes, 0))), id: sharings.Add(1)}
}

// byDefault is what orDefault returns.
var byDefault struct {
	mu sync.Mutex
	// chosen is SetDefaultSharing's argument. If it is nil, made is returned: it is
	// weak, so that a program without informers has no table.
	chosen *Sharing              // guarded by mu
	made   weak.Pointer[Sharing] // guarded by mu
}

// orDefault returns s, or if it is nil the Sharing of all sources whose Options name none.
func orDefault(s *Sharing) *Sharing {
	if s != nil {
		return s
	}
	d := &byDefault
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.chosen != nil {
		return d.chosen
	}
	if s = d.made.Value(); s == nil {
		s = NewSharing(0)
		d.made = weak.Make(s)
	}
	return s
}

// OwnSharing returns a Sharing for informers that promise, as client-go's do, that a
// program's writes to the objects of one informer do not reach another's:
// SetDefaultSharing's, or a new one of 64 MiB. Informers of package cache and caches of
// ctrlruntime use it.
func OwnSharing() *Sharing {
	byDefault.mu.Lock()
	defer byDefault.mu.Unlock()
	if byDefault.chosen != nil {
		return byDefault.chosen
	}
	return NewSharing(0)
}

// SetDefaultSharing makes s the default, and what OwnSharing returns, for programs for which
// 64 MiB are too few, or whose informers of package cache are to share. Existing sources
// do not change, so call it first of all. nil undoes it.
func SetDefaultSharing(s *Sharing) {
	byDefault.mu.Lock()
	defer byDefault.mu.Unlock()
	byDefault.chosen = s
}

// ID is a number that no other Sharing of the process has; never 0.
func (s *Sharing) ID() uint64 { return s.id }

// SharingStats says how much a Sharing keeps.
type SharingStats struct {
	// Values is how many values are shared. Bytes is what they and the shared
	// strings take, at most MaxBytes.
	Values          int
	Bytes, MaxBytes int64
	// Hits and Misses count lookups that found a value and that did not. They are
	// updated once a batch, or every 64 lookups for the objects that a Map returned.
	Hits, Misses uint64
}

// Stats returns how much is kept now.
func (s *Sharing) Stats() SharingStats {
	st := s.table.Stats()
	return SharingStats{Values: st.Entries, Bytes: int64(st.Bytes), MaxBytes: int64(st.MaxBytes), Hits: st.Hits, Misses: st.Misses}
}
