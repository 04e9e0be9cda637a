package follow

import "time"

// rateWindow is the time over which a rate is an average: long enough not to
// flicker, short enough to follow what happens.
const rateWindow = 5 * time.Second

// rate is how fast a counter grows, from samples of it.
type rate struct {
	samples []sample // the oldest is the last one before the window
}

type sample struct {
	at    time.Time
	count int64
}

// add tells the counter's value at a time; times rise.
func (r *rate) add(at time.Time, count int64) {
	r.samples = append(r.samples, sample{at, count})
	for len(r.samples) > 2 && at.Sub(r.samples[1].at) >= rateWindow {
		r.samples = r.samples[1:]
	}
}

// perSecond is 0 before there are two samples.
func (r *rate) perSecond() float64 {
	if len(r.samples) < 2 {
		return 0
	}
	first, last := r.samples[0], r.samples[len(r.samples)-1]
	seconds := last.at.Sub(first.at).Seconds()
	if seconds <= 0 {
		return 0
	}
	return float64(last.count-first.count) / seconds
}
