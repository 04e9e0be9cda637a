package reflector

import (
	"time"

	"github.com/kinglet-go/kinglet/reflector/internal/machine"
)

// pause is for how long to wait now.
func (d *driver[T]) pause() time.Duration {
	low, high := d.now.Min, d.now.Max
	delay := d.reflector.options.Delay
	if delay == nil {
		return d.draw(low, high)
	}
	wait := machine.Nanos(max(0, delay()))
	// The range is as wide as the machine's own delay, so that a lower end
	// beyond that is what the server asked for.
	if low > high-low {
		wait = max(wait, low)
	}
	return time.Duration(wait)
}
