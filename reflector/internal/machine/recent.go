package machine

// recentWithin is for how long an outage counts as recent, maxRecent how many of
// them are remembered. What fails several times, with nothing good between, is one
// outage.
const (
	recentWithin = 10 * Minute
	maxRecent    = 16
)

// Recent is what failed lately, also once that is over.
type Recent struct {
	// Last is the failure that was reported last, ever.
	Last Failure
	// times are when the last outages began, a ring that count goes around.
	times [maxRecent]Nanos
	count uint64
}

// add remembers a failure, with which an outage begins or goes on.
func (r *Recent) add(f Failure, begins bool) {
	r.Last = f
	if begins {
		r.times[r.count%maxRecent] = f.At
		r.count++
	}
}

// Count returns how many outages began within the last ten minutes, at most 16, and when
// the first of them did.
func (r *Recent) Count(now Nanos) (n int, first Nanos) {
	for _, at := range r.times[:min(r.count, maxRecent)] {
		if now-at > recentWithin {
			continue
		}
		if n++; n == 1 || at < first {
			first = at
		}
	}
	return n, first
}
