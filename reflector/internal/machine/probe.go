package machine

import "github.com/kinglet-go/kinglet/reflector/resourceversion"

// A kube-apiserver whose etcd was restored from a backup accepts a watch from a
// version that it has not reached. It sends nothing, not even a bookmark, until its
// own version has passed that one, and goes on from there: changes written in
// between are never sent. A watch on which nothing happens looks the same.
//
// So if the server has shown no sign of the store's version for a while, the
// machine asks for its version before it resumes a watch, with a consistent list of
// one object, called a probe. An older answer leads to a list, which distinguishes
// a server that lags behind from one that was restored; see accept.
//
// An answer at the very version of the last list may also be the fixed list of a
// fake, and a relist must not remove anything then. A second probe tells them
// apart: it asks for a state not older than the store. A server that has none says
// so.

// Probe is what is known about whether the server has reached the store's version.
type Probe struct {
	// Sign is when the server last showed that it has the store's version: with
	// a list, an event, a bookmark or the answer to a probe.
	Sign Nanos
	// Unsure is whether the watch under way was resumed, and the server has
	// shown no sign since, or whether it is Quiet and an outage may not be over. Such a
	// watch may be silent for signLasts.
	Unsure bool
	// Quiet is whether the last sign was a list or probe at the version that the store had
	// already, and no watch has sent anything since. A server on whose storage nothing is
	// written sends a watch not even a bookmark.
	Quiet bool
	// Waited is whether the last probe came after a wait, and not at once after a watch.
	Waited bool
	// Refused counts probes in a row that the server refused, Broken those whose
	// connection broke, and Stalled those that it did not answer.
	Refused, Broken, Stalled int
	// Costly is whether the server answered the last probe with more than the
	// one object that was asked for, or did not answer the last two, and Last
	// when that was.
	Costly bool
	Last   Nanos
	// Answered is whether any of the answer came, and Version its version.
	Answered bool
	Version  string
}

const (
	// signLasts is how long a sign counts. It is twice the bookmark interval of a
	// kube-apiserver, so that a watch with bookmarks needs no probes.
	signLasts = 2 * Minute
	// probePatience is how long the answer to a probe may take.
	probePatience = 30 * Second
	// confirmPatience is the same for the second probe. A kube-apiserver waits 3 s
	// for the version and then answers 504. A ListerWatcher's client may retry that
	// ten times, one second apart.
	confirmPatience = Minute
	// probeAttempts is how often in a row a probe may be refused, or its connection, before
	// a watch follows all the same.
	probeAttempts = 3
	// costlyEvery is how often a server is probed that answers with everything, or
	// takes longer than probePatience.
	costlyEvery = Hour
)

// sign notes that the server has the store's version.
func (m *Machine) sign() {
	m.Probe.Sign = m.now
	m.sure()
}

// sure records that the watch under way needs no probe for being silent.
func (m *Machine) sure() {
	if !m.Probe.Unsure {
		return
	}
	before := m.idle()
	m.Probe.Unsure = false
	if m.Request.Verb == VerbWatch && m.idle() != before {
		m.adjustTimeouts()
	}
}

// mayProbe reports whether a probe is useful and cheap. If versions have no order,
// an answer says nothing.
func (m *Machine) mayProbe() bool {
	if !m.Synced || m.costly() {
		return false
	}
	_, ordered := m.compare(m.Version, m.Version)
	return ordered
}

// costly reports whether another probe must wait, because of what the last one cost.
func (m *Machine) costly() bool { return m.Probe.Costly && m.now-m.Probe.Last < costlyEvery }

// rewatch resumes from the store's version, with a probe first if the last sign is
// too old. Nothing may be under way.
func (m *Machine) rewatch() {
	m.Probe.Unsure = m.mayProbe()
	if m.Doubtful && !m.costly() || m.Probe.Unsure && m.now-m.Probe.Sign >= signLasts {
		m.sendProbe(Request{Verb: VerbProbe, Limit: 1}, probePatience)
		return
	}
	m.watch(true)
}

// idle returns how long the watch under way may be silent; 0 means no limit.
func (m *Machine) idle() Nanos {
	timeout := m.Cadence.idleTimeout()
	if m.Probe.Unsure && (timeout == 0 || timeout > signLasts) {
		return signLasts
	}
	return timeout
}

// sendProbe asks for the server's version. Nothing may be under way.
func (m *Machine) sendProbe(r Request, timeout Nanos) {
	m.Probe.Waited = m.Phase != Watching || m.Probe.Waited && r.NotOlderThan
	m.enter(Watching)
	m.request(r)
	m.Counts.Probes++
	m.Probe.Answered, m.Probe.Version, m.Probe.Costly = false, "", false
	m.emit(Effect{Kind: List, Request: r, Timeout: timeout})
}

// probePage handles a piece of the answer to a probe.
func (m *Machine) probePage(in *Input) {
	m.Counts.Bytes += uint64(in.Bytes)
	m.Probe.Answered, m.Probe.Version = true, in.Version
	if in.Items > 1 {
		// The rest is of no use.
		m.Probe.Costly, m.Probe.Last = true, m.now
		m.leave()
		m.probeEnded()
	}
}

// probeEnded handles the normal end of a probe.
func (m *Machine) probeEnded() {
	if !m.Probe.Answered {
		m.probeFailed(Failure{Class: Transport, Err: Truncated})
		return
	}
	m.Probe.Refused, m.Probe.Broken, m.Probe.Stalled = 0, 0, 0
	if m.Doubtful {
		m.endDoubt()
		return
	}
	order, ok := m.compare(m.Probe.Version, m.Version)
	older := ok && order < 0
	switch {
	case older && m.Probe.Version == m.Listed && !m.last.NotOlderThan:
		m.sendProbe(Request{Verb: VerbProbe, Version: m.Version, NotOlderThan: true, Limit: 1}, confirmPatience)
		return
	case older && m.Probe.Version != m.Listed:
		m.isOlder()
		return
	}
	m.sign()
	if m.Probe.Quiet = ok && order == 0; m.Probe.Quiet {
		// Nothing may come on a watch for hours that would say that it is open.
		if !m.Probe.Waited {
			m.healthy()
		}
		m.Probe.Unsure = m.Failure.Class != NoFailure
	}
	m.watch(true)
}

// endDoubt handles the answer to the probe after a watch that was older than its list.
//
// A fixed list has the same version again, and must not be asked for: it lacks what
// events added. Otherwise a list does no harm. If the answer is older than that list,
// the server has restarted its numbering, and a new epoch begins.
func (m *Machine) endDoubt() {
	m.Doubtful = false
	order, ok := resourceversion.Compare(m.Probe.Version, m.Listed)
	if !ok || order == 0 {
		m.healed(false)
		m.watch(true)
		return
	}
	m.Renumbered = order < 0
	m.because(CauseRestored)
	m.why = m.Heal.Cause
	m.sync()
}

// isOlder lists, since the server's version is older than the store's.
func (m *Machine) isOlder() {
	// Only another consistent answer says more. The server answers, so the backoff
	// between those answers starts again.
	m.Older++
	m.Backoff.Attempts = 0
	m.because(CauseRestored)
	m.why = Failure{Class: Protocol, Err: OlderThanStore}
	m.sync()
}

// probeFailed handles the failure of a probe.
//
// A server that is busy, or cannot be reached, is given time. One that refuses a probe, or
// is slow to answer, may do so for this kind of request only: a watch follows, and the
// next probe is due when that watch has ended, or is silent. If the source is not
// known to have a history, the watch follows at once, and a list follows that watch.
func (m *Machine) probeFailed(f Failure) {
	p := &m.Probe
	switch {
	case f.Class == TooLarge && m.last.NotOlderThan:
		p.Refused, p.Broken, p.Stalled = 0, 0, 0
		m.isOlder()
		return
	case f.Err == Stalled:
		// A list may take longer than a probe is worth.
		if p.Stalled++; p.Stalled > 1 {
			p.Costly, p.Last = true, m.now
		}
	case f.Class == Transport:
		if p.Broken++; p.Broken < probeAttempts && m.hasHistory() {
			m.wait(f, false)
			return
		}
	case f.Class == Server, f.Class == Throttled:
		if p.Refused++; p.Refused < probeAttempts && m.hasHistory() {
			m.wait(f, false)
			return
		}
	}
	p.Refused, p.Broken, p.Unsure = 0, 0, f.Class == Transport && f.Err != Stalled
	if f.Err == Stalled {
		m.fail(f) // perhaps nothing is answered any more
	} else {
		m.report(f)
	}
	m.Missed = m.Missed || !m.hasHistory()
	m.watch(true)
}
