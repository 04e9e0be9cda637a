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
	m.Synthetic = r.Version == "" || r.Version == "0"
	m.Resumed = resumed
	m.watchBegins()
	m.emit(Effect{Kind: Watch, Request: r,
		Min: m.config.WatchTimeoutMin, Max: m.config.WatchTimeoutMax,
		Timeout: watchGrace, PastTimeout: true, IdleTimeout: m.idle()})
	m.scheduleRelist()
}

// live handles one event of a watch.
func (m *Machine) live(in *Input) {
	m.Counts.Bytes += uint64(in.Bytes)
	m.Cadence.Heard = m.now
	switch in.Event {
	case Added, Modified, Deleted:
		m.countEvent(in.Event)
		m.object(in)
	case Bookmark:
		m.Counts.Bookmarks++
		m.bookmarkCame()
		m.healthy()
		m.Synthetic = false
		if in.Version == m.Version {
			m.sign()
		}
		if m.reach(in.Version) {
			m.emit(Effect{Kind: Advance, Version: m.Version})
		}
	case Error:
		m.watchOver(in.Failure.end())
		m.watchFailed(in.Failure, true)
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
	m.healthy()
	m.Synthetic = m.Synthetic && in.Event == Added
	if !m.Synthetic && m.reach(in.Version) {
		m.versionMoved()
	}
	m.emit(Effect{Kind: Apply, Version: m.Version})
	if in.Unreadable > 0 {
		m.lost(in.Failure)
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
	m.Refusals = 0
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
func (m *Machine) outOfOrder() {
	f := m.report(Failure{Class: Protocol, Err: OutOfOrder})
	if m.Resumed && !m.Advanced && !m.Renumbered {
		m.Renumbered = true
		m.expect(f, CauseRestored)
		m.scheduleRelist()
		return
	}
	m.Unordered = true
}

// watchEnded handles the normal end of a watch.
func (m *Machine) watchEnded() {
	if m.Advanced || m.age() >= shortWatch {
		m.healthy()
		m.resume()
		return
	}
	m.wait(Failure{Class: Protocol, Err: ShortWatch}, false)
}

// watchFailed handles the failure of a watch; streamed is whether the server
// sent it as an event.
//
// The version is given up only if the server says that it is gone, or cannot
// read what follows it; if the resource itself was gone; if an error event has
// no status, since it is then unknown what the watch has missed; or if the
// server, able to answer, refused the watch or broke it off refusalsBeforeRelist
// times in a row at that very version. Any other failure leads to another watch
// from where the last one was.
func (m *Machine) watchFailed(f Failure, streamed bool) {
	unexplained := streamed && f.Class == Foreign
	switch {
	case f.Class == Expired, f.Class == StoreRead, unexplained:
		m.calm()
		if !m.Backoff.Hurried {
			m.report(f) // else the wait does
		}
		if f.Class == Expired {
			m.because(CauseExpired)
		} else {
			m.because(CauseRepair)
		}
		m.hurry(f)
		return
	case f.Class == NotFound:
		m.because(CauseNotFound)
		m.vanished()
		m.wait(f, true)
		return
	case f.Class == Invalid, f.Class == TooLarge:
		m.refused(f)
		return
	case f.Class == Transport, f.Class == Server, f.Class == Other, f.Class == Foreign:
		if streamed && f.Class != Transport && !m.Advanced {
			m.refused(f)
			return
		}
		// A watch that made progress, or that held longer than the wait would
		// last, is followed at once: a proxy that cuts every quiet watch after a
		// minute must not cost another half minute.
		if m.Advanced || m.age() >= 2*m.delay() {
			if !m.Advanced {
				m.fail(f)
			}
			m.leave()
			m.resume()
			return
		}
	}
	m.wait(f, false)
}

// refused counts watches that the server refuses at the store's version.
func (m *Machine) refused(f Failure) {
	if m.Refusals == 0 {
		m.RefusedSince = m.now
	}
	m.Refusals++
	patient := f.Class == Server && m.now-m.RefusedSince < m.config.RefusalPatience
	relist := m.Refusals >= refusalsBeforeRelist && !patient
	if relist {
		m.because(CauseRefused)
	}
	m.wait(f, relist)
}
