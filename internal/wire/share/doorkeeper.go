package share

import (
	"sync"
	"sync/atomic"
)

// doorkeeper remembers what was seen lately, in a fixed number of bytes, so
// that only what comes a second time is let in. It forgets by generations: a
// new one begins when the current one has as many sightings as half of its
// places, larger as long as there is much to see.
type doorkeeper struct {
	now  atomic.Pointer[generation]
	past atomic.Pointer[generation]
	mu   sync.Mutex // taken by who begins a generation
}

type generation struct {
	n     atomic.Int32
	marks []atomic.Uint32
}

const (
	minMarks = 1 << 8
	// maxMarks is 512 KiB a generation. It remembers 65,536 to 131,072
	// sightings, which are those of some thousand unlike pods.
	maxMarks = 1 << 17
)

// seen reports whether x was seen lately, and from now on it was.
func (d *doorkeeper) seen(x uint64) bool {
	g := d.now.Load()
	if g == nil {
		g = d.begin(nil)
	}
	// Never 0, which is an empty place.
	mark := uint32(x>>32) | 1
	if g.has(x, mark) {
		return true
	}
	if p := d.past.Load(); p != nil && p.has(x, mark) {
		return true
	}
	g.marks[x&uint64(len(g.marks)-1)].Store(mark)
	if int(g.n.Add(1)) > len(g.marks)/2 {
		d.begin(g)
	}
	return false
}

func (g *generation) has(x uint64, mark uint32) bool {
	return g.marks[x&uint64(len(g.marks)-1)].Load() == mark
}

// begin starts the generation after old.
func (d *doorkeeper) begin(old *generation) *generation {
	d.mu.Lock()
	defer d.mu.Unlock()
	if g := d.now.Load(); g != old {
		return g
	}
	size := minMarks
	if old != nil {
		size = min(2*len(old.marks), maxMarks)
	}
	g := &generation{marks: make([]atomic.Uint32, size)}
	d.past.Store(old)
	d.now.Store(g)
	return g
}
