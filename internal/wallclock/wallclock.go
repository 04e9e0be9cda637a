// Package wallclock turns spans of the monotonic clock into wall-clock time.
package wallclock

import "time"

// At returns the time that was span after origin, by the wall clock as it is set now: NTP may have
// set it since, by years on a machine without a clock of its own.
func At(origin time.Time, span time.Duration) time.Time {
	now := time.Now()
	return now.Add(span - now.Sub(origin))
}
