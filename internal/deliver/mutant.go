package deliver

import (
	"slices"
	"time"
)

// The mutations of this package; see internal/mutant. Only a build with the tag
// mutants calls them; from other builds the linker drops them.

// stallAllLocked waits for up to a minute until no handler has changes pending. It
// releases the lock meanwhile: in a synctest bubble no time passes while a goroutine
// waits for a mutex.
func (h *Hub[T]) stallAllLocked() {
	regs := slices.Clone(h.regs)
	h.mu.Unlock()
	defer h.mu.Lock()
	for _, r := range regs {
		for range 60 * 1000 {
			if r.Pending() == 0 {
				break
			}
			time.Sleep(time.Millisecond)
		}
	}
}
