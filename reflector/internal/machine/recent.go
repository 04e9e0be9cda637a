package machine

// recentWithin is how long an outage counts as recent, and maxRecent how many of them
// are remembered. Several failures without a success between them are one outage.
const (
	recentWithin = 10 * Minute
	maxRecent    = 16
)

// Recent is what failed lately, even after it is over.
type Recent struct {
	// Last is the failure that was reported last, ever.
	Last Failure
	// times is a ring of when the last outages began; count is how many there were.
	times [maxRecent]Nanos
	count uint64
}

// add records a failure; begins is whether an outage begins with it.
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
