package machine

// A server sends bookmarks on a watch on which nothing else happens. How often
// is written nowhere: kube-apiserver sends them about every minute, and 2 s before
// a watch's timeout; others send them at another pace, or never. So the interval
// is learned, and a watch that is idle for three times as long is given up,
// although its connection answers, as it does behind a proxy that has lost its
// other side.

// Cadence is how often the server sends bookmarks. The zero value knows nothing.
type Cadence struct {
	// Intervals counts the bookmark intervals seen.
	Intervals uint64
	// Longest of the intervals seen since their number was last a multiple of
	// cadenceMemory, and Before of the cadenceMemory ones before those.
	Longest, Before Nanos
	// Suspected is for how long the last watch that was given up was idle, until
	// it is known whether it was dead. Then it is 0, or counts as an interval.
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
	// one before a timeout is no longest, as every watch that gets as far has a
	// full one before it, from its beginning.
	cadenceMemory = 16
	// minInterval: bookmarks closer together are one.
	minInterval = Second
	// idleIntervals is how many intervals the idle timeout has.
	idleIntervals = 3
	// minIdleTimeout is the shortest idle timeout: with five losses of one packet
	// TCP sends it again after 0.2, 0.6, 1.4, 3, 6.2 s, with six after 12.6 s.
	minIdleTimeout = 15 * Second
	// proofWithin: what was missed comes as soon as the next watch is answered.
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

// idleTimeout returns how long a watch may be idle; 0 if for ever.
func (p *Cadence) idleTimeout() Nanos {
	if p.Intervals < cadenceLearned {
		return 0
	}
	return max(minIdleTimeout, idleIntervals*max(p.Interval(), p.Suspected))
}

// watchBegins resets what is known of the watch under way.
func (m *Machine) watchBegins() { m.Cadence.Bookmark, m.Cadence.Heard = m.now, m.now }

// versionMoved handles a change that moved the version forward.
//
// If it is the first event on a watch that follows an idle one, and comes at
// once, then it was missed, and the idle watch was dead.
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

// adjustTimeouts gives the watch under way the present timeouts.
func (m *Machine) adjustTimeouts() {
	m.emit(Effect{Kind: SetTimeouts, Timeout: watchGrace, PastTimeout: true, IdleTimeout: m.idle()})
}

// idleWatchEnded handles a watch that was given up. If it was idle for the idle
// timeout, it is suspected to have been dead.
func (m *Machine) idleWatchEnded() {
	p := &m.Cadence
	if timeout := p.idleTimeout(); timeout > 0 && m.now-p.Heard >= timeout {
		// Not how long it was in the end: if this program was stopped for an
		// hour, that says nothing of the server.
		p.Suspected = timeout
		m.Counts.SilentWatches++
	}
}
