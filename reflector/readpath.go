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

// noHistory reports whether a watch may not send what happened before it was open. An
// API server sends it, but a client that is given to a ListerWatcher may be a fake.
func (d *driver[T]) noHistory() bool { return d.reflector.readPath().Path == source.PathClient }

// readPath returns how the source reads.
func (r *Reflector[T]) readPath() source.ReadPath {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.path
}
