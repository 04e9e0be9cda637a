package replay

import "sync"

// history is how far the collection has come, and what watches are told.
type history struct {
	mu sync.Mutex
	// What follows is guarded by mu.

	// head is how many events have happened.
	head int
	// mustList is true from a forced relist until somebody lists: no watch
	// goes on from where it was.
	mustList bool
	// probe is true when one more event is to happen as soon as a watch is
	// live after a forced relist: who has seen it has seen the whole list.
	probe bool
	// gather is true while events are to go out many at a time.
	gather bool
	// marks grows when each watch is to send a bookmark.
	marks int
	// era grows when all watches are to end with what ended says.
	era int
	// moved is closed when any of this changes.
	moved chan struct{}
}

// moment is the history at one time.
type moment struct {
	head, era, marks int
	mustList, gather bool
	moved            <-chan struct{}
}

func newHistory() *history { return &history{moved: make(chan struct{})} }

func (h *history) now() moment {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.momentLocked()
}

func (h *history) momentLocked() moment {
	return moment{head: h.head, era: h.era, marks: h.marks, mustList: h.mustList, gather: h.gather, moved: h.moved}
}

// list is now, for somebody who lists.
func (h *history) list() moment {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.mustList = false
	return h.momentLocked()
}

// live is told that a watch of an era has begun that has everything up to now.
// One that began before the era ended is about to end as well.
func (h *history) live(era int) {
	h.change(func() bool {
		if !h.probe || h.era != era {
			return false
		}
		h.probe = false
		h.head++
		return true
	})
}

// advance lets n events happen, of which watches are told, one by one or
// many at a time, and returns how many had happened before.
func (h *history) advance(n int, gather bool) (from int) {
	h.change(func() bool {
		from = h.head
		h.head += n
		h.gather = gather
		return true
	})
	return from
}

// mark lets one event happen and has all watches send a bookmark.
func (h *history) mark() (head int) {
	h.change(func() bool {
		h.head++
		h.marks++
		head = h.head
		return true
	})
	return head
}

// relist lets n events happen of which no watch is told, ends all watches as
// expired and refuses others until somebody lists.
func (h *history) relist(n int) {
	h.change(func() bool {
		h.head += n
		h.era++
		h.mustList, h.probe = true, true
		return true
	})
}

// reset goes back to the beginning and ends all watches.
func (h *history) reset() {
	h.change(func() bool {
		h.head, h.mustList, h.probe = 0, false, false
		h.era++
		return true
	})
}

// change does what do says and wakes everybody if that was anything.
func (h *history) change(do func() bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if do() {
		close(h.moved)
		h.moved = make(chan struct{})
	}
}
