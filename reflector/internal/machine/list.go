package machine

// sync begins to fetch the whole state: streamed if the server can, else page
// by page. Nothing may be under way.
func (m *Machine) sync() {
	m.Heal.Since = 0
	m.Counts.ListsByCause[m.Cause]++
	if m.mayStream() {
		m.stream()
		return
	}
	r := m.listRequest()
	m.List = Progress{At: m.now, Consistent: r.Version == ""}
	m.list(r)
}

// listAnew gives up what is under way, and begins to fetch the whole state.
func (m *Machine) listAnew() {
	m.leave()
	m.sync()
}

// listRequest chooses the version rule and the page size of a first page.
//
// A first list takes any version, which a server answers from its cache, unless the sink
// holds objects. A later one requests a version not older than the store's. If there is none,
// or that version is gone or ahead of the server, or was answered with an older one, the next
// list is a consistent one.
//
// Limits make servers bypass their cache. A relist at a known version therefore has none,
// unless AlwaysPage is set or the server turned out to have no cache.
func (m *Machine) listRequest() Request {
	r := Request{Verb: VerbList}
	switch {
	case m.askConsistent():
	case m.Version == "":
		r.Version = "0"
	default:
		r.Version, r.NotOlderThan = m.Version, true
	}
	if !m.Unpaged && (m.config.AlwaysPage || m.Paginated || !r.NotOlderThan) {
		r.Limit = m.config.PageSize
	}
	return r
}

// askConsistent reports whether a list must not name the store's version.
func (m *Machine) askConsistent() bool {
	return m.VersionGone || m.Older > 0 || m.Synced && noVersion(m.Version)
}

// list sends a list request.
func (m *Machine) list(r Request) {
	m.enter(Listing)
	m.request(r)
	m.Counts.Lists++
	m.emit(Effect{Kind: List, Request: r, Timeout: m.config.ListProgress << m.ListStalls})
}

// page handles a piece of the list under way.
func (m *Machine) page(in *Input) {
	m.Counts.Bytes += uint64(in.Bytes)
	l := &m.List
	switch {
	case l.Version == "":
		l.Version = in.Version
	case in.Version != "" && in.Version != l.Version && m.mixed():
		return
	}
	l.At = m.now
	l.Received += in.Items
	l.Remaining = in.Remaining
	l.Staged = true
	m.emit(Effect{Kind: Stage})
	if in.Unreadable > 0 {
		m.lostInList(in.Failure, in.Unreadable)
	}
	if !in.More {
		l.Complete, l.Continue = true, in.Continue
	}
}

// mixed handles a list whose pages are of different versions, and reports whether it gives
// the list up for one in a single piece. If the server pages that as well, the version of
// the first page stands: a watch from there sends what the later pages are ahead.
func (m *Machine) mixed() bool {
	if m.Failure.Err != MixedVersions {
		m.fail(Failure{Class: Protocol, Err: MixedVersions})
	}
	if m.Unpaged {
		return false
	}
	m.Unpaged = true
	m.listAnew()
	return true
}

// listEnded handles the normal end of one response.
func (m *Machine) listEnded() {
	l := &m.List
	switch {
	case !l.Complete, l.Continue != "" && l.Continue == m.last.Continue:
		// A list that continues where this page began would never end.
		m.listFailed(Failure{Class: Protocol, Err: Truncated})
	case l.Continue != "":
		if m.last.Version == "0" {
			m.Paginated = true
		}
		l.Complete = false
		m.list(Request{Verb: VerbList, Continue: l.Continue, Limit: m.last.Limit})
	case m.accept():
		m.watch(false)
	}
}

// accept publishes the complete list, unless it is older than the store. If it is, accept
// gives it up and returns false.
func (m *Machine) accept() bool {
	epoch := m.Renumbered
	order, ok := m.compare(m.List.Version, m.Version)
	if ok && order < 0 {
		m.Older++
		m.Optional = false
		f := Failure{Class: Protocol, Err: OlderThanStore}
		if !m.List.Consistent {
			// Repeating the request is of no use, now or later: the server ignores the
			// version. A consistent list shows whether the server is behind.
			m.fail(f)
			m.listAnew()
			return false
		}
		if m.OlderConsistent++; m.OlderConsistent <= consistentRetries {
			m.wait(f, true)
			return false
		}
		epoch = true
	}
	if epoch {
		m.report(Failure{Class: Protocol, Err: Restored})
		m.Epoch++
	}
	m.publish(epoch)
	return true
}

// publish makes the staged objects the state of the sink.
func (m *Machine) publish(epoch bool) {
	m.Missed = false
	m.countList()
	m.Probe.Quiet = m.List.Version == m.Version
	m.Version, m.Listed = m.List.Version, m.List.Version
	m.Synced = true
	m.Counts.Published++
	m.emit(Effect{Kind: Publish, Version: m.Version, Epoch: epoch})
	m.healed(m.List.Unreadable > 0)
	m.recovered()
	m.List = Progress{}
	m.Relist, m.Optional, m.VersionGone, m.Unpaged, m.Paged, m.Unlisted = false, false, false, false, false, false
	// This version is one of the collection. It orders later versions until an event
	// shows that they have no order.
	m.Unordered, m.Renumbered, m.Doubtful = false, false, false
	m.Older, m.OlderConsistent = 0, 0
	m.sign()
	m.ListStalls, m.Truncations = 0, 0
}

// listFailed handles the failure of a list request.
func (m *Machine) listFailed(f Failure) {
	asked := m.last
	switch f.Class {
	case Expired:
		if asked.Continue != "" && !m.Unpaged {
			// The version expired between pages. A list in one piece avoids that.
			m.report(f)
			m.Unpaged = true
			m.listAnew()
			return
		}
		if asked.Version != "" {
			m.report(f)
			m.forgetVersion()
			return
		}
	case TooLarge, Invalid:
		if asked.Version != "" {
			if f.Class == Invalid { // a server that is behind is well
				m.report(f)
			}
			m.forgetVersion()
			return
		}
	case Transport, Protocol, Foreign:
		if m.Streamability == Withheld {
			// So the network, or the whole server, was slow.
			m.Streamability = Untried
		}
	case NotFound:
		m.vanished()
	}
	m.Paged, m.Unpaged = false, false // what could not come in one piece may come in pages
	switch f.Class {
	case Invalid, Foreign, Other, Protocol:
		m.Unlisted = true
	}
	relist := !m.Optional && (m.Cause == CauseExpired || m.VersionGone || !m.Synced || m.Backoff.Attempts < listAttempts)
	m.Missed = m.Missed || !m.Optional && !relist
	m.Backoff.ListFailed = m.Backoff.ListFailed || !m.Optional
	m.wait(f, relist)
}

// forgetVersion lists again at once, consistently.
func (m *Machine) forgetVersion() {
	m.VersionGone, m.Optional = true, false
	m.listAnew()
}

// vanished handles a resource that is gone. What returns under its name may be served by
// another server.
func (m *Machine) vanished() {
	m.Streamability, m.Cadence, m.Doubts, m.Bookmarks = Untried, Cadence{}, 0, false
}
