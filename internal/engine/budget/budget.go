// Package budget bounds the memory of objects that several informers hold.
package budget

import "sync"

// Budget is a number of bytes that may be taken. It is safe for concurrent use.
type Budget struct {
	limit int64

	mu sync.Mutex
	// The fields below are guarded by mu.

	used  int64
	spare []Spare
	room  []func()
}

// Spare has bytes of a Budget that others may need more.
type Spare interface {
	// Bytes returns how many there are, and is called under the Budget's mutex too.
	Bytes() int64
	// Evict gives up about n bytes, or as many as there are, and returns how many. It is
	// called under the Budget's mutex.
	Evict(n int64) int64
}

// New returns a Budget of which nothing is used.
func New(limit int64) *Budget { return &Budget{limit: limit} }

// Add has a Spare give up what it has before Take fails.
func (b *Budget) Add(s Spare) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.spare = append(b.spare, s)
}

// Take takes n bytes, and reports whether there were as many. If it must, it takes them even
// if not.
func (b *Budget) Take(n int64, must bool) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, s := range b.spare {
		if over := b.used + n - b.limit; over > 0 {
			b.used -= s.Evict(over)
		}
	}
	if b.used+n > b.limit && !must {
		return false
	}
	b.used += n
	return true
}

// OnRoom has room called, under the Budget's mutex, whenever bytes are returned.
func (b *Budget) OnRoom(room func()) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.room = append(b.room, room)
}

// Give returns n bytes.
func (b *Budget) Give(n int64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.used -= n
	for _, room := range b.room {
		room()
	}
}

// Has reports whether Take would take n bytes.
func (b *Budget) Has(n int64) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, s := range b.spare {
		n -= s.Bytes()
	}
	return b.used+n <= b.limit
}

// Used returns how many bytes are taken, and how many there are in all.
func (b *Budget) Used() (used, limit int64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.used, b.limit
}
