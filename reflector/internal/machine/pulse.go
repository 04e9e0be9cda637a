package machine

// A server sends bookmarks so that a watch of which nothing changes is heard of
// all the same. How often is nowhere written: kube-apiserver does so about every
// minute and 2 s before a watch's timeout, others at another pace, or never. So
// it is learned, and a watch that says nothing for three times as long is taken
// for dead, although the connection answers, as it does behind a proxy that has
// lost its other side.

// Pulse is how often the server lets a watch hear of it. The zero value knows
// nothing.
type Pulse struct {
	// Intervals counts the bookmark intervals seen.
	Intervals uint64
	// Longest of the intervals seen since their number was last a multiple of
	// pulseMemory, and Before of the pulseMemory ones before those.
	Longest, Before Nanos
	// Silence is what the last watch given up for it had to offer, until it is
	// known whether rightly; then it is 0, or one of the intervals.
	Silence Nanos

	// Bookmark is when the watch under way last sent one, or began; Heard is
	// when it last sent anything.
	Bookmark, Heard Nanos
}

const (
	// pulseLearned intervals must have been seen before silence means anything.
	pulseLearned = 3
	// pulseMemory: the longest of the last 16 to 31 intervals counts. The short
	// one before a timeout is no longest, as every watch that gets as far has a
	// full one before it, from its beginning.
	pulseMemory = 16
	// pulseLeast: bookmarks closer together are one.
	pulseLeast = Second
	// silentIntervals without a sign of life are too many.
	silentIntervals = 3
	// silentLeast is the shortest silence that means anything: with five losses
	// of one packet TCP sends it again after 0.2, 0.6, 1.4, 3, 6.2 s, with six
	// after 12.6 s.
	silentLeast = 15 * Second
	// proofWithin: what was missed comes as soon as the next watch is answered.
	proofWithin = 5 * Second
)

// Interval is the longest of the last bookmark intervals; 0 while too few were
// seen.
func (p *Pulse) Interval() Nanos {
	if p.Intervals < pulseLearned {
		return 0
	}
	return max(p.Longest, p.Before)
}

// patience is for how long a watch may say nothing; 0 if for ever.
func (p *Pulse) patience() Nanos {
	if p.Intervals < pulseLearned {
		return 0
	}
	return max(silentLeast, silentIntervals*max(p.Interval(), p.Silence))
}

// listen notes that a watch begins.
func (m *Machine) listen() { m.Pulse.Bookmark, m.Pulse.Heard = m.now, m.now }

// moved notes that the version went forward with a change.
//
// If that is the first thing on a watch that follows a silent one, and comes at
// once, then it was missed, and the silent one was dead.
func (m *Machine) moved() {
	if m.Pulse.Silence > 0 && m.age() <= proofWithin {
		m.Pulse.Silence = 0
		m.adjust()
	}
}

// beat notes that a bookmark came.
//
// If it comes first on a watch that follows a silent one, then nothing was
// missed, and that may have been as alive as this one: what it did once it may
// do again, so that the silence counts as an interval.
func (m *Machine) beat() {
	p := &m.Pulse
	before := m.idle()
	p.Longest, p.Silence = max(p.Longest, p.Silence), 0
	if passed := m.now - p.Bookmark; passed >= pulseLeast {
		if p.Intervals%pulseMemory == 0 {
			p.Before, p.Longest = p.Longest, 0
		}
		p.Intervals++
		p.Longest = max(p.Longest, passed)
		p.Bookmark = m.now
	}
	if m.idle() != before {
		m.adjust()
	}
}

// adjust tells the driver of another patience with the watch under way.
func (m *Machine) adjust() {
	m.emit(Effect{Kind: Patience, Silence: watchGrace, PastTimeout: true, Idle: m.idle()})
}

// silent takes that a watch was given up, and notes whether for having been
// silent before its time.
func (m *Machine) silent() {
	p := &m.Pulse
	if patience := p.patience(); patience > 0 && m.now-p.Heard >= patience {
		// Not how long it was in the end: if this program was stopped for an
		// hour, that says nothing of the server.
		p.Silence = patience
		m.Counts.SilentWatches++
	}
}
