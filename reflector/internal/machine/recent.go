package machine

// recentWithin is for how long a failure counts as recent, maxRecent how many of
// them are remembered.
const (
	recentWithin = 10 * Minute
	maxRecent    = 16
)

// Recent is what failed lately, also once that is over.
type Recent struct {
	// Last is the failure that was reported last, ever.
	Last Failure
	// times are those of the last failures, a ring that count goes around.
	times [maxRecent]Nanos
	count uint64
}

func (r *Recent) add(f Failure) {
	r.Last = f
	r.times[r.count%maxRecent] = f.At
	r.count++
}

// Count returns how many failures were reported within the last ten minutes, at most
// 16.
func (r *Recent) Count(now Nanos) (n int) {
	for _, at := range r.times[:min(r.count, maxRecent)] {
		if now-at <= recentWithin {
			n++
		}
	}
	return n
}
