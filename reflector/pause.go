package reflector

import (
	"time"

	"github.com/kinglet-go/kinglet/reflector/internal/machine"
)

// pause returns how long to wait now.
func (d *driver[T]) pause() time.Duration {
	low, high := d.now.Min, d.now.Max
	delay := d.reflector.options.Delay
	if delay == nil {
		return d.draw(low, high)
	}
	wait := machine.Nanos(max(0, delay()))
	// The width of the range is the machine's own delay. A lower end above it
	// is the server's Retry-After.
	if low > high-low {
		wait = max(wait, low)
	}
	return time.Duration(wait)
}
