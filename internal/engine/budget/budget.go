// Package budget bounds the memory of objects that several informers hold.
package budget

import (
	"slices"
	"sync"
)

// Budget is a number of bytes that may be taken. It is safe for concurrent use.
type Budget struct {
	limit int64

	mu sync.Mutex
	// The fields below are guarded by mu.

	used    int64
	members []*Member
}

// Member is somebody who takes bytes of a Budget. Its functions are called under the
// Budget's mutex.
type Member struct {
	// Spare returns how many bytes the member could do without, and Evict gives up about n
	// of them, or as many as there are, and returns how many.
	Spare func() int64
	Evict func(n int64) int64
	// Changed is called when bytes were returned, or when more are taken than there are.
	Changed func()
}

// New returns a Budget of which nothing is used.
func New(limit int64) *Budget { return &Budget{limit: limit} }

// Join adds a member. Before it leaves, it has to give back all that it took.
func (b *Budget) Join(m *Member) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.members = append(b.members, m)
}

// Leave removes a member.
func (b *Budget) Leave(m *Member) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.members = slices.DeleteFunc(b.members, func(other *Member) bool { return other == m })
}

// Take takes n bytes, and reports whether there were as many, with those that members could
// do without. If it must, it takes them even if not.
func (b *Budget) Take(n int64, must bool) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if !must && n > b.roomLocked() {
		return false
	}
	for _, m := range b.members {
		if over := b.used + n - b.limit; over > 0 {
			b.used -= m.Evict(over)
		}
	}
	over := b.used+n > b.limit
	if over && !must {
		return false
	}
	b.used += n
	if over {
		b.changedLocked()
	}
	return true
}

// Give returns n bytes.
func (b *Budget) Give(n int64) {
	if n == 0 {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.used -= n
	b.changedLocked()
}

func (b *Budget) changedLocked() {
	for _, m := range b.members {
		m.Changed()
	}
}

// Has reports whether Take would take n bytes.
func (b *Budget) Has(n int64) bool { return n <= b.Room() }

// Room returns how many bytes Take would take. It is negative if more are taken than there are.
func (b *Budget) Room() int64 {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.roomLocked()
}

func (b *Budget) roomLocked() int64 {
	room := b.limit - b.used
	for _, m := range b.members {
		room += m.Spare()
	}
	return room
}

// Used returns how many bytes are taken, and how many there are in all.
func (b *Budget) Used() (used, limit int64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.used, b.limit
}
