package deliver

import (
	"slices"
	"time"
)

// What mutations of this package do; see internal/mutant. Nothing calls them
// but in a build with the tag mutants, and the linker leaves them out.

// stallAll waits for up to a minute for each handler to have taken what is
// pending. Not under the lock: in a synctest bubble no time passes while
// somebody waits for a mutex.
func (h *Hub[T]) stallAll() {
	h.mu.Lock()
	regs := slices.Clone(h.regs)
	h.mu.Unlock()
	for _, r := range regs {
		for range 60 * 1000 {
			if r.Pending() == 0 {
				break
			}
			time.Sleep(time.Millisecond)
		}
	}
}
