package machine

import "github.com/kinglet-go/kinglet/reflector/resourceversion"

// watch starts a watch from the store's version; resumed is whether a watch from
// the list's own version came before. Nothing may be under way.
func (m *Machine) watch(resumed bool) {
	r := Request{Verb: VerbWatch, Version: m.Version}
	m.enter(Watching)
	m.request(r)
	m.Counts.Watches++
	// A watch from no version begins with the existing objects as Added, in no
	// order. Their versions do not show how far the server has come.
	m.Synthetic = noVersion(r.Version)
	m.Resumed = resumed
	m.watchBegins()
	least, most := m.watchTimeout()
	grace := Nanos(watchGrace)
	if m.Fake && !m.Missed { // it heeds no timeout, and what its watch misses is lost
		grace += m.config.WatchTimeoutMax - most
	}
	m.emit(Effect{Kind: Watch, Request: r, Min: least, Max: most,
		Timeout: grace, PastTimeout: true, IdleTimeout: m.idle()})
	m.scheduleRelist()
}

// watchTimeout returns how long a watch may be asked to last: not for long if a list follows it, or
// perhaps only its end tells that all is well.
func (m *Machine) watchTimeout() (least, most Nanos) {
	least, most = m.config.WatchTimeoutMin, m.config.WatchTimeoutMax
	failing := m.Failure.Class != NoFailure && m.Cadence.Intervals == 0
	if m.Missed || m.Cadence.Suspected > 0 && !m.Probe.Quiet || failing {
		least, most = min(least, missedWatch/2), min(most, missedWatch)
	}
	return least, most
}

// live handles one event of a watch.
func (m *Machine) live(in *Input) {
	m.Counts.Bytes += uint64(in.Bytes)
	m.Cadence.Heard = m.now
	m.Probe.Quiet = m.Probe.Quiet && in.Event == Error
	in.Failure.Answered = true
	switch in.Event {
	case Added, Modified, Deleted:
		m.countEvent(in.Event)
		m.object(in)
	case Bookmark:
		m.Counts.Bookmarks++
		m.bookmarkCame()
		m.Bookmarks = true
		m.Synthetic = false
		if in.Version == m.Version {
			m.sign()
		}
		reached := m.reach(in.Version)
		m.open(reached)
		if reached {
			m.emit(Effect{Kind: Advance, Version: m.Version})
		}
	case Error:
		m.watchOver(in.Failure.end())
		m.endRow(m.held())
		m.watchFailed(in.Failure)
	case Unknown:
		m.eventCame()
		if in.OtherKind {
			m.report(in.Failure)
			return
		}
		m.lost(in.Failure)
	}
}

// object handles one live change.
//
// Within a watch the order of arrival is the server's order: every event is
// applied, whatever its version, and the store's version is the one that
// arrived last.
func (m *Machine) object(in *Input) {
	m.Synthetic = m.Synthetic && in.Event == Added
	reached := !m.Synthetic && m.reach(in.Version)
	m.open(reached)
	if reached {
		m.versionMoved()
	}
	m.emit(Effect{Kind: Apply, Version: m.Version})
	if in.Unreadable > 0 {
		m.lost(in.Failure)
	}
}

// open handles a watch on which something came that is no failure. If it is nothing new,
// the watch must have lasted as well: one that always fails after it counts as refused.
func (m *Machine) open(reached bool) {
	if reached || m.age() >= shortWatch {
		m.healthy()
	}
}

// reach sets the store's version to v, the version of a live event, and reports
// whether it changed.
func (m *Machine) reach(v string) bool {
	if v == "" || v == m.Version {
		return false
	}
	order, ok := m.compare(v, m.Version)
	m.Version = v
	switch {
	case ok && order > 0:
		m.sign()
	case ok && order < 0:
		m.sure()
		m.outOfOrder()
	}
	if past, ok := resourceversion.Compare(v, m.Request.Version); ok {
		m.Advanced = past > 0
	}
	return true
}

// outOfOrder handles an event that is older than the one before it, or than the
// version that the watch began at. No kube-apiserver sends such events.
//
// The watch goes on, since its events are true. But a server that has forgotten
// the version at which a resumed watch began has forgotten objects as well, and
// only a list can tell which: a list follows when this watch ends. The server's
// new versions are an order again, until one of them goes back in turn. Then the
// source is a fake, or numbers each object separately, and its versions order
// nothing until the next list.
//
// The same is assumed if the watch directly follows its list, since the list of a fake
// may be a fixed one, and another one would remove what events added. But the server may
// also have restarted between the two requests. A probe after the watch tells which.
func (m *Machine) outOfOrder() {
	f := m.report(Failure{Class: Protocol, Err: OutOfOrder})
	if m.Resumed && !m.Advanced && !m.Renumbered {
		m.Renumbered = true
		m.expect(f, CauseRestored)
		m.scheduleRelist()
		return
	}
	m.Unordered = true
	below, ok := resourceversion.Compare(m.Version, m.Listed)
	if ok && below < 0 && !m.Resumed && !m.Advanced && !m.Degraded() && m.Doubts < maxDoubts {
		m.expect(f, CauseRestored)
		m.Doubtful = true
		m.Doubts++
		m.scheduleRelist()
	}
}

// noVersion reports whether a watch from v begins with the existing objects.
func noVersion(v string) bool { return v == "" || v == "0" }

// hasHistory reports whether a watch is known to send what happened before it.
func (s *State) hasHistory() bool { return s.Bookmarks && !noVersion(s.Version) }

// missed reports whether a list has to follow the watch under way. It has to follow each one
// that had no version, since another watch would not send what was deleted between the two;
// but the list of a fake may be a fixed one.
func (s *State) missed() bool { return s.Missed || !s.Fake && noVersion(s.Version) }

// watchEnded handles the normal end of a watch. One that ends at once, with nothing
// new in it, is as good as refused.
func (m *Machine) watchEnded() {
	if m.Advanced || m.age() >= shortWatch {
		m.Contact = m.now
		if m.Cadence.Suspected > 0 && !m.Probe.Quiet {
			// Two watches without a bookmark: the server sends none any more, or its watches
			// bring nothing. So it is learned anew, after a list.
			m.Cadence, m.Missed = Cadence{}, true
		}
		m.endRow(m.held())
		m.healthy()
		m.resume()
		return
	}
	m.refused(Failure{Class: Protocol, Err: ShortWatch})
}

// watchFailed handles the failure of a watch.
//
// A version is given up at once if the server says that it is gone, or cannot read
// what follows it; if the resource itself was gone; or if an error event has no
// status, since it is then unknown what the watch has missed. A watch that was open
// and is broken off is followed by another one from where it was. Any other failure is a
// refusal, since it may happen again at this version for ever: so is the end of a watch
// that brought nothing new before it broke off at once, came to something that cannot be
// read, such as a proxy's page to log in, or exceeded a limit.
func (m *Machine) watchFailed(f Failure) {
	unexplained := f.Answered && f.Class == Foreign
	switch {
	case f.Class == Expired, f.Class == StoreRead, unexplained:
		if f.Class == Expired {
			m.because(CauseExpired)
		} else {
			m.because(CauseRepair)
		}
		if m.inRow() {
			m.wait(f, true)
			return
		}
		m.report(f)
		m.listAnew()
	case f.Class == NotFound:
		m.because(CauseNotFound)
		m.vanished()
		m.wait(f, true)
	case f.Answered && m.Advanced && (m.hasHistory() || f.Class == Transport),
		f.Answered && f.Class == Transport && m.age() >= shortWatch && !f.Malformed && !f.Limit:
		m.brokenOff(f)
	default:
		m.refused(f)
	}
}

// brokenOff goes on from where a watch was that had been open.
//
// One that made progress, or that held longer than a first wait would last, is followed
// at once: a proxy that cuts every quiet watch after some seconds must not cost a wait each
// time, and none as long as those that an outage before led to. So is one of a server that
// is not known to have a history, unless a list follows, which finds what happened
// meanwhile, and keeps its distance from the list before.
//
// One that held was answered, so all is well again: behind a proxy that cuts quiet watches, no
// bookmark may ever say so.
func (m *Machine) brokenOff(f Failure) {
	m.Refusals, m.Polling = 0, false
	m.endRow(m.held())
	relist := m.missed() && !m.Renumbered
	switch f.Class {
	case Transport, Server, Other:
		if m.Advanced || m.held() || !relist && !m.hasHistory() {
			switch {
			case m.Advanced:
			case m.held():
				m.Contact = max(m.Contact, m.RequestAt) // it was answered then
				m.recovered()
			default:
				m.fail(f)
			}
			m.leave()
			m.resume()
			return
		}
	}
	if relist {
		m.Cause = CauseRefused
	}
	m.wait(f, relist)
}

// refused handles a watch that the server refuses, or breaks off, at the store's
// version.
//
// The first refusal in a row leads to a wait and another watch: a server that restarts
// refuses for a moment, and a list of everything would be wasted. The second one leads
// to a list. While lists are answered and watches are not, there is one list a wait.
//
// A source that is not known to have a history is listed after the first wait, since another
// watch may not send what was missed. A server that is busy is given time, and listed after the
// watch that it grants. So is one that cannot be reached, which can answer no list either,
// unless only watches do not reach it. A list that has to keep a longer distance from the one
// before than a wait is leaves the time to a watch as well, except if a fake might be watched.
func (m *Machine) refused(f Failure) {
	if m.Refusals == 0 {
		m.RefusedSince = m.now
	}
	m.Refusals++
	m.Polling = m.Polling || m.Refusals > 1 && !m.Resumed
	patience := Nanos(0)
	switch {
	case f.Unreachable:
		patience = unreachablePatience
	case f.Class == Throttled, f.RetryAfter > 0:
		patience = busyPatience
	case f.Class == Server:
		patience = m.config.RefusalPatience
	}
	if m.now-m.RefusedSince < patience || m.Refusals == 1 && m.hasHistory() || !m.Fake && m.untilList() > m.delay() {
		m.Missed = m.Missed || !m.hasHistory()
		m.wait(f, false)
		return
	}
	m.because(CauseRefused)
	m.Optional = m.hasHistory()
	if !m.hasHistory() || !m.Resumed || f.Class == Throttled || f.RetryAfter > 0 || m.untilList() > 0 {
		m.wait(f, true)
		return
	}
	// The wait was before this watch. If the list fails too, the next wait leads to a
	// watch, so that a server that returns is not asked for everything.
	m.fail(f)
	m.listAnew()
}
