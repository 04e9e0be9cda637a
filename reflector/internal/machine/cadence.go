package machine

// A server sends bookmarks on a watch on which nothing else happens. No
// specification says how often: kube-apiserver sends them about every minute, and
// 2 s before a watch's timeout; others send them at another pace, or never. So the
// machine learns the interval, and gives up a watch that is idle for three times
// as long, even if its connection still answers: a proxy may have lost its other
// side.

// Cadence is how often the server sends bookmarks. The zero value knows nothing.
type Cadence struct {
	// Intervals counts the bookmark intervals seen.
	Intervals uint64
	// Longest is the longest of the intervals seen since their number was last a
	// multiple of cadenceMemory, and Before of the cadenceMemory ones before
	// those.
	Longest, Before Nanos
	// Suspected is how long the last watch that was given up was idle, until it is
	// known whether that watch was dead. Then it is 0, or counts as an interval.
	Suspected Nanos

	// Bookmark is when the watch under way last sent one, or began; Heard is
	// when it last sent anything.
	Bookmark, Heard Nanos
}

const (
	// cadenceLearned intervals must have been seen before there is an idle
	// timeout.
	cadenceLearned = 3
	// cadenceMemory: the longest of the last 16 to 31 intervals counts. The short
	// one before a timeout is never the longest, since every watch that runs that
	// long has had a full one before it.
	cadenceMemory = 16
	// minInterval: bookmarks closer together are one.
	minInterval = Second
	// idleIntervals is the length of the idle timeout in intervals.
	idleIntervals = 3
	// minIdleTimeout is the shortest idle timeout. TCP sends a packet that is lost
	// five times again after 0.2, 0.6, 1.4, 3 and 6.2 s, and one that is lost six
	// times also after 12.6 s.
	minIdleTimeout = 15 * Second
	// proofWithin: missed events arrive as soon as the next watch is answered.
	proofWithin = 5 * Second
)

// Interval is the longest of the last bookmark intervals; 0 while too few were
// seen.
func (p *Cadence) Interval() Nanos {
	if p.Intervals < cadenceLearned {
		return 0
	}
	return max(p.Longest, p.Before)
}

// BookmarkInterval is how often the server sends bookmarks on the watch under way; 0 while
// that is not known, or while it has nothing to send one for.
func (s *State) BookmarkInterval() Nanos {
	if s.Probe.Quiet {
		return 0
	}
	return s.Cadence.Interval()
}

// idleTimeout returns how long a watch may be idle; 0 means no limit.
func (p *Cadence) idleTimeout() Nanos {
	if p.Intervals < cadenceLearned {
		return 0
	}
	return max(minIdleTimeout, idleIntervals*max(p.Interval(), p.Suspected))
}

// watchBegins resets the record of the watch under way.
func (m *Machine) watchBegins() { m.Cadence.Bookmark, m.Cadence.Heard = m.now, m.now }

// versionMoved handles a change that moved the version forward.
//
// If it is the first event on a watch that follows an idle one, and comes at once,
// the idle watch missed it and was dead.
func (m *Machine) versionMoved() {
	if m.Cadence.Suspected > 0 && m.age() <= proofWithin {
		m.Cadence.Suspected = 0
		m.adjustTimeouts()
	}
}

// bookmarkCame handles a bookmark.
//
// If it comes first on a watch that follows an idle one, then nothing was missed,
// and the idle watch may have been alive. It may be idle again, so its idle time
// counts as an interval.
func (m *Machine) bookmarkCame() {
	p := &m.Cadence
	before := m.idle()
	p.Longest, p.Suspected = max(p.Longest, p.Suspected), 0
	if passed := m.now - p.Bookmark; passed >= minInterval {
		if p.Intervals%cadenceMemory == 0 {
			p.Before, p.Longest = p.Longest, 0
		}
		p.Intervals++
		p.Longest = max(p.Longest, passed)
		p.Bookmark = m.now
	}
	if m.idle() != before {
		m.adjustTimeouts()
	}
}

// adjustTimeouts updates the timeouts of the watch under way.
func (m *Machine) adjustTimeouts() {
	m.emit(Effect{Kind: SetTimeouts, Timeout: watchGrace, PastTimeout: true, IdleTimeout: m.idle()})
}

// idleWatchEnded handles a watch that was given up. If it was idle for the idle
// timeout, it is suspected to have been dead.
func (m *Machine) idleWatchEnded() {
	p := &m.Cadence
	if timeout := p.idleTimeout(); timeout > 0 && m.now-p.Heard >= timeout {
		// The timeout, not the actual idle time: if this process was suspended for
		// an hour, that says nothing about the server.
		p.Suspected = timeout
		m.Counts.SilentWatches++
	}
}
