package machine

// Heal tracks changes that could not be read, and that only a list can recover.
type Heal struct {
	// Cause is why the store may differ from its version; Class is NoFailure
	// while it does not.
	Cause Failure
	// Since is when the wait for the next attempt began; 0 if none is needed.
	Since Nanos
	// Attempts counts the relists in a row for this.
	Attempts int
	// At is when the store was last found to be whole.
	At Nanos
	// List is the cause under which the relist for this is counted.
	List ListCause
	// Scheduled is whether a relist ends the watch under way.
	// Invariant: only while Watching.
	Scheduled bool
}

// Degraded reports whether the store may differ from its version.
func (s *State) Degraded() bool { return s.Heal.Cause.Class != NoFailure }

// lost handles a watch event whose object has no readable identity. The watch
// goes on; a relist is scheduled.
func (m *Machine) lost(f Failure) {
	if m.Doubtful || !m.Degraded() {
		m.Heal.Scheduled = false // a list is certain now, and sooner
	}
	m.degrade(f, 1)
	m.scheduleRelist()
}

// lostInList handles n objects of the list under way without a readable
// identity. Once the list is published, another one is scheduled.
func (m *Machine) lostInList(f Failure, n int64) {
	m.List.Unreadable += n
	m.degrade(f, n)
	m.Heal.List = CauseRepair
}

func (m *Machine) degrade(f Failure, n int64) {
	if f.Class == NoFailure {
		f.Class, f.Err = Protocol, Unreadable
	}
	f.Malformed = true
	m.Counts.Unreadable += uint64(n)
	m.expect(m.report(f), CauseRepair)
}

// expect makes the store Degraded because of f. The relist for it is counted under
// the first cause.
func (m *Machine) expect(f Failure, cause ListCause) {
	h := &m.Heal
	m.Doubtful = false
	if !m.Degraded() {
		h.List = cause
		if m.now-h.At >= m.config.HealthAfter {
			h.Attempts = 0
		}
	}
	h.Cause = f
}

// differs handles a store that was found to differ from the server; the difference
// has been reported already. The first relist in a row begins at once. Later ones
// are scheduled, so that a difference that no list repairs does not cause a storm
// of lists.
func (m *Machine) differs(f Failure, cause ListCause) {
	f.Class, f.At, f.Request = Protocol, m.now, m.last
	m.expect(f, cause)
	if m.inRow() {
		m.resume()
		return
	}
	m.because(m.Heal.List)
	m.listAnew()
}

// scheduleRelist schedules the relist that ends the watch under way. If a list or a
// probe follows that watch anyway, the relist ends it only if it outlives its timeout.
func (m *Machine) scheduleRelist() {
	h := &m.Heal
	follows := m.Renumbered || m.Doubtful || !m.Degraded() && m.missed()
	if h.Scheduled || m.Phase != Watching || !follows && !m.Degraded() {
		return
	}
	h.Scheduled = true
	if follows {
		_, longest := m.watchTimeout()
		if m.Degraded() && !m.Fake {
			longest = min(longest, missedWatch) // the store is Degraded meanwhile
		}
		left := max(0, longest+watchGrace-m.age())
		m.emit(Effect{Kind: RelistAfter, Min: left, Max: left})
		return
	}
	if h.Since == 0 {
		h.Since = m.now
	}
	d := doubled(m.config.BackoffMin, h.Attempts, max(healMax, m.config.BackoffMax))
	passed := m.now - h.Since
	m.emit(Effect{Kind: RelistAfter, Min: max(0, d-passed), Max: max(0, 2*d-passed)})
}

// relistDue lists again, to heal, or goes on to the probe that tells whether to.
func (m *Machine) relistDue() {
	if !m.Degraded() || m.Doubtful {
		m.resume()
		return
	}
	m.Heal.Attempts++
	m.why = m.Heal.Cause
	m.because(m.Heal.List)
	m.listAnew()
}

// healed handles a published list. still is whether parts of it were unreadable
// again.
func (m *Machine) healed(still bool) {
	h := &m.Heal
	h.Since = 0
	if !still {
		h.Cause = Failure{}
		h.At = m.now
	}
}
