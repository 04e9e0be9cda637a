package reflector

import (
	"time"

	"github.com/kinglet-go/kinglet/source"
)

// readBy records how the source reads, and calls OnReadPath if that has
// changed.
func (r *Reflector[T]) readBy(now source.ReadPath) {
	r.mu.Lock()
	before := r.path
	changed := !now.Same(before)
	if changed {
		now.Since = time.Now()
		r.path = now
	}
	r.mu.Unlock()
	if changed && r.options.OnReadPath != nil {
		r.options.OnReadPath(before, now)
	}
}

// mayBeFake reports whether the source reads by a client that was given to a
// ListerWatcher.
func (d *driver[T]) mayBeFake() bool { return d.reflector.readPath().Path == source.PathClient }

// readPath returns how the source reads.
func (r *Reflector[T]) readPath() source.ReadPath {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.path
}
