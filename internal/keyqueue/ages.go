package keyqueue

// ages counts queued keys by the tick in which they entered the queue, so that the
// oldest is known whatever order they are served in. It is a ring of buckets of
// 1<<shift ticks each, from first to last. Buckets get wider when there would be more
// than mostAges of them. So a time is accurate to a tick, or to a 512th of the age of
// the oldest key since the queue was last empty.
//
// Invariant: the buckets outside of first to last have no keys.
type ages struct {
	counts      []uint32 // its length is a power of two
	first, last uint32
	shift       uint8
	n           int
}

const mostAges = 1024

func (a *ages) bucket(b uint32) *uint32 { return &a.counts[b&uint32(len(a.counts)-1)] }

// add counts a key, and returns its tick. It replaces a tick before all others by a
// later one; such ticks occur since the clock is read before the lock is taken.
func (a *ages) add(tick uint32) uint32 {
	if a.n == 0 {
		a.shift, a.first, a.last = 0, tick, tick
		if a.counts == nil {
			a.counts = make([]uint32, 16)
		}
	}
	b := tick >> a.shift
	if b < a.first {
		b, tick = a.first, a.first<<a.shift
	}
	for b-a.first >= uint32(len(a.counts)) {
		a.widen()
		b = tick >> a.shift
	}
	a.last = max(a.last, b)
	*a.bucket(b)++
	a.n++
	return tick
}

// widen makes room for later buckets: it doubles their number or their width.
func (a *ages) widen() {
	old := *a
	if len(a.counts) < mostAges {
		a.counts = make([]uint32, 2*len(a.counts))
	} else {
		a.counts = make([]uint32, len(a.counts))
		a.shift++
		a.first, a.last = a.first/2, a.last/2
	}
	for b := old.first; b <= old.last; b++ {
		*a.bucket(b >> (a.shift - old.shift)) += *old.bucket(b)
	}
}

// remove uncounts a key of the tick that add returned.
func (a *ages) remove(tick uint32) {
	*a.bucket(tick >> a.shift)--
	a.n--
	for a.n > 0 && *a.bucket(a.first) == 0 {
		a.first++
	}
}

// oldest returns the tick of the oldest key, or an earlier one.
func (a *ages) oldest() (tick uint32, ok bool) { return a.first << a.shift, a.n > 0 }
