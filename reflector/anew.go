package reflector

import (
	"context"

	"github.com/kinglet-go/kinglet/reflector/internal/machine"
)

// RunAnew is like Run, but begins with a list where Run would resume a watch.
// The list is not older than what the sink holds.
func (r *Reflector[T]) RunAnew(ctx context.Context) error { return r.run(ctx, true) }

// listNext makes a stopped reflector start with a list.
func (d *driver[T]) listNext() {
	if d.machine.Phase == machine.Stopped && !d.machine.Relist {
		d.machine.Relist, d.machine.Cause = true, machine.CauseStart
	}
}
