package source

import "time"

// openPatience is how long a list waits for the watch that follows it to be open. A fake
// takes microseconds, but more on a machine that is busy with other tests.
const openPatience = time.Second

// opening is a watch that is being opened, for WatchRequest.OnOpen.
type opening struct {
	onOpen func()
	timer  *time.Timer
}

// newOpening returns nil if onOpen is nil: a nil opening does nothing.
func newOpening(onOpen func()) *opening {
	if onOpen == nil {
		return nil
	}
	return &opening{onOpen, time.NewTimer(openPatience)}
}

// expired returns a channel that receives once the watch has taken openPatience.
func (o *opening) expired() <-chan time.Time {
	if o == nil || o.onOpen == nil {
		return nil
	}
	return o.timer.C
}

// end calls onOpen, the first time: the watch is open, or has taken openPatience.
func (o *opening) end() {
	if o == nil || o.onOpen == nil {
		return
	}
	o.timer.Stop()
	onOpen := o.onOpen
	o.onOpen = nil
	onOpen()
}

// leave stops the timer of a watch that failed.
func (o *opening) leave() {
	if o != nil {
		o.timer.Stop()
	}
}
