package machine

// mayStream reports whether the next list is to be streamed (KEP-3157).
func (m *Machine) mayStream() bool {
	if !m.config.WatchList || m.Paged || m.Cause == CauseRefused && !m.Unlisted {
		return false // a server that refuses watches refuses streams
	}
	switch m.Streamability {
	case Refused:
		return m.Unlisted
	case Withheld:
		return m.now-m.StreamFailedAt >= streamRetryAfter
	}
	return true
}

// stream requests the state as initial events. With a version they are not
// older than it; without one they are the most recent.
func (m *Machine) stream() {
	r := Request{Verb: VerbStream, Version: m.Version}
	if m.askConsistent() {
		r.Version = ""
	}
	m.List = Progress{At: m.now, Consistent: r.Version == ""}
	m.enter(Streaming)
	m.request(r)
	m.Counts.Streams++
	m.emit(Effect{Kind: Watch, Request: r,
		Min: m.config.WatchTimeoutMin, Max: m.config.WatchTimeoutMax,
		Timeout: m.config.InitialEventsProgress})
}

// initial handles one event that comes before the end of the initial ones.
func (m *Machine) initial(in *Input) {
	m.Counts.Bytes += uint64(in.Bytes)
	switch in.Event {
	case Added:
		m.eventCame()
		m.List.At = m.now
		m.List.Received++
		m.stageEvent(in, Stage)
	case Modified, Deleted:
		// A server that is catching up sends these before the end, too.
		m.eventCame()
		kind := Restage
		if in.Event == Deleted {
			kind = Unstage
		}
		m.stageEvent(in, kind)
		m.noProgress()
	case Bookmark:
		m.Counts.Bookmarks++
		if !in.InitialEventsEnd {
			m.noProgress()
			return
		}
		m.Bookmarks = true
		m.List.Version = in.Version
		if m.accept() {
			m.follow()
		}
	case Error:
		m.initialFailed(in.Failure)
	case Unknown:
		m.eventCame()
		if in.OtherKind {
			m.report(in.Failure)
			return
		}
		m.lostInList(in.Failure, 1)
	}
}

// noProgress handles an event that is neither an initial one nor their end. A
// server without support for initial events sends such events for ever.
func (m *Machine) noProgress() {
	if m.now-m.List.At >= m.config.InitialEventsProgress {
		m.withhold(NoInitialEventsEnd)
	}
}

// stageEvent stages one event, even if it has no readable identity.
func (m *Machine) stageEvent(in *Input, kind EffectKind) {
	if in.Unreadable > 0 {
		// It is not the next state of a known key.
		kind = Stage
	}
	m.List.Staged = true
	m.emit(Effect{Kind: kind})
	if in.Unreadable > 0 {
		m.lostInList(in.Failure, in.Unreadable)
	}
}

// follow continues the same stream once its initial events are published.
func (m *Machine) follow() {
	m.Request = Request{Verb: VerbWatch, Version: m.Version}
	m.Advanced = true
	m.Resumed, m.Synthetic = false, false
	m.Streamability = Untried
	m.enter(Watching)
	m.watchBegins()
	m.adjustTimeouts()
	m.scheduleRelist()
}

// initialEnded handles a stream that ended before its initial events did.
func (m *Machine) initialEnded() {
	if m.age() >= m.config.InitialEventsProgress {
		m.withhold(NoInitialEventsEnd)
		return
	}
	m.Truncations++
	m.Paged = m.Truncations > 1
	m.wait(Failure{Class: Protocol, Err: Truncated}, true)
}

// withhold fetches the list page by page, because streaming made no progress.
func (m *Machine) withhold(fault Fault) {
	m.fail(Failure{Class: Protocol, Err: fault})
	m.Streamability, m.StreamFailedAt = Withheld, m.now
	m.listAnew()
}

// initialFailed handles the failure of a stream of initial events: the list is fetched
// page by page instead. That begins at once, unless the server is busy or cannot be
// reached.
func (m *Machine) initialFailed(f Failure) {
	asked := m.Request
	if asked.Verb == NoRequest {
		asked = m.last
	}
	m.Paged = true
	switch f.Class {
	case Invalid:
		m.Streamability = Refused
		m.listAnew()
		return
	case Foreign:
		// A source that is not a client may know only lists and watches, and has its
		// own errors for that.
		m.Streamability, m.StreamFailedAt = Withheld, m.now
		m.listAnew()
		return
	case Expired, TooLarge:
		if asked.Version != "" {
			m.Paged = false
			m.report(f)
			m.leave()
			m.forgetVersion()
			return
		}
	case NotFound:
		m.vanished()
	}
	if f.Class == Throttled || f.Unreachable {
		// A server that cannot be reached could not have answered a list either, so it
		// is asked for a stream once more.
		if f.Unreachable {
			m.Truncations++
			m.Paged = m.Truncations > 1
		}
		m.wait(f, true)
		return
	}
	m.fail(f)
	m.listAnew()
}
