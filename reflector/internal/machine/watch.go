package machine

// watch goes on from the version that the store has. Nothing may be under way.
func (m *Machine) watch() {
	r := Request{Verb: VerbWatch, Version: m.Version}
	m.enter(Watching)
	m.request(r)
	m.Counts.Watches++
	// From no version a server sends what exists as Added, in no order, so
	// that their versions say nothing about how far it has come.
	m.Synthetic = r.Version == "" || r.Version == "0"
	m.listen()
	m.emit(Effect{Kind: Watch, Request: r,
		Min: m.config.WatchTimeoutMin, Max: m.config.WatchTimeoutMax,
		Silence: watchGrace, PastTimeout: true, Idle: m.Pulse.patience()})
	m.arm()
}

// live takes one event of a watch.
func (m *Machine) live(in *Input) {
	m.Counts.Bytes += uint64(in.Bytes)
	m.Pulse.Heard = m.now
	switch in.Event {
	case Added, Modified, Deleted:
		m.Counts.Events++
		m.object(in)
	case Bookmark:
		m.Counts.Bookmarks++
		m.beat()
		m.healthy()
		if m.newer(in.Version) {
			m.advance(in.Version)
			m.emit(Effect{Kind: Advance, Version: m.Version})
		}
	case Error:
		m.watchFailed(in.Failure, true)
	case Unknown:
		m.Counts.Events++
		m.lost(in.Failure)
	}
}

// object takes one live change.
//
// A watch that began at the store's version brings only what came later, so
// its events are taken in the order in which they arrive. An event whose
// version is not newer than the store's contradicts that, and admit looks
// closer.
func (m *Machine) object(in *Input) {
	m.healthy()
	synthetic := m.Synthetic && in.Event == Added
	m.Synthetic = synthetic
	if !synthetic && in.Unreadable == 0 && m.Doubts(in.Version) && !m.admit(in) {
		return
	}
	if !synthetic && m.newer(in.Version) {
		m.advance(in.Version)
		m.moved()
	}
	m.emit(Effect{Kind: Apply, Version: m.Version})
	if in.Unreadable > 0 {
		m.lost(in.Failure)
	}
}

// Doubts reports whether a live event of this version needs to be compared
// with what the sink holds under its key; see Input.Held.
func (m *Machine) Doubts(version string) bool {
	if m.Phase != Watching || m.Synthetic {
		return false
	}
	order, ok := m.compare(version, m.Version)
	return ok && order <= 0
}

// admit decides about an event that is not newer than the store as a whole.
//
// It is a duplicate if the store has a later state of the object. If instead
// the store has an earlier one, then the versions of this source are no order
// of the collection (fakes and some aggregated servers number each object by
// itself), and arrival order counts from now on. If the store has no such
// object, either may be: it was deleted, or it is new; a relist tells.
func (m *Machine) admit(in *Input) bool {
	behind, _ := m.compare(in.Version, m.Version)
	if in.Held == HeldAbsent {
		if in.Event == Deleted || behind == 0 {
			return true
		}
		// A store that lacks something anyway is due for a list already, and
		// what that shows says nothing about versions.
		if !m.Degraded() {
			m.doubt()
		}
		return false
	}
	order, ok := m.compare(in.Version, in.HeldVersion)
	switch {
	case in.Held == HeldUnknown || !ok:
		return true
	case order < 0:
		m.Counts.Duplicates++
		return false
	case order > 0 && behind < 0 && !m.Degraded():
		// While something was lost the store can lack what it should have.
		m.Unordered = true
	}
	// The same state once more is no step back, and a delete may carry the
	// version of the last state.
	return true
}

// newer is whether v, where it has an order, would bring the version forward.
func (m *Machine) newer(v string) bool {
	if v == "" || v == m.Version {
		return false
	}
	order, ok := m.compare(v, m.Version)
	return !ok || order > 0
}

// advance moves the store's version to v.
func (m *Machine) advance(v string) {
	if order, ok := m.compare(v, m.Version); ok && order > 0 {
		m.Advanced = true
	}
	m.Version = v
	m.Refusals = 0
}

// watchEnded takes the good end of a watch.
func (m *Machine) watchEnded() {
	if m.Advanced || m.age() >= shortWatch {
		m.healthy()
		m.watch()
		return
	}
	m.wait(Failure{Class: Protocol, Err: ShortWatch}, false)
}

// watchFailed takes the failure of a watch; streamed is whether the server
// sent it as an event.
//
// The version is given up only when the server says that it is gone, or when
// the resource itself was; or when the server, able to answer, turned the
// watch down or broke it off refusalsBeforeRelist times in a row at that very
// version. Anything else leads to another watch from where the last one was.
func (m *Machine) watchFailed(f Failure, streamed bool) {
	switch f.Class {
	case Expired:
		m.calm()
		if !m.Backoff.Hurried {
			m.report(f) // else the wait does
		}
		m.hurry(f)
		return
	case NotFound:
		m.vanished()
		m.wait(f, true)
		return
	case Invalid, TooLarge:
		m.refused(f)
		return
	case Transport, Server, Other, Foreign:
		if streamed && f.Class != Transport && f.Class != Foreign && !m.Advanced {
			m.refused(f)
			return
		}
		// A watch that was of use, or that took longer to break than there
		// would be to wait, is followed at once: a proxy that cuts every
		// quiet watch after a minute must not cost the next half.
		if m.Advanced || m.age() >= 2*m.delay() {
			if !m.Advanced {
				m.fail(f)
			}
			m.leave()
			m.watch()
			return
		}
	}
	m.wait(f, false)
}

// refused counts watches that the server turns down at the store's version.
func (m *Machine) refused(f Failure) {
	if m.Refusals == 0 {
		m.RefusedSince = m.now
	}
	m.Refusals++
	patient := f.Class == Server && m.now-m.RefusedSince < m.config.RefusalPatience
	m.wait(f, m.Refusals >= refusalsBeforeRelist && !patient)
}
