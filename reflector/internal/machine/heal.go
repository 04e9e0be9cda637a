package machine

// Heal is about what could not be taken in and only a list can tell.
type Heal struct {
	// Cause is why the store may differ from its version; Class is NoFailure
	// while it does not.
	Cause Failure
	// Since is when the wait for the next attempt began; 0 if none is needed.
	Since Nanos
	// Attempts is how many relists there were in a row for this.
	Attempts int
	// At is when the store was last found to be whole.
	At Nanos
	// Armed is whether an alarm is set on the watch under way.
	// Invariant: only while Watching.
	Armed bool
}

// Degraded is whether the store may differ from the version that it names.
func (s *State) Degraded() bool { return s.Heal.Cause.Class != NoFailure }

// lost takes that a change in the live stream could not be told. The watch
// goes on; a relist is arranged.
func (m *Machine) lost(f Failure) {
	m.degrade(f, 1)
	m.arm()
}

// lostInList takes that n objects of the list under way could not be told
// apart. Once it is published, another one is arranged.
func (m *Machine) lostInList(f Failure, n int64) {
	m.List.Unreadable += n
	m.degrade(f, n)
}

func (m *Machine) degrade(f Failure, n int64) {
	if f.Class == NoFailure {
		f.Class, f.Err = Protocol, Unreadable
	}
	m.Counts.Unreadable += uint64(n)
	m.expect(m.report(f))
}

// expect notes that the store may differ from its version, because of f.
func (m *Machine) expect(f Failure) {
	h := &m.Heal
	if !m.Degraded() && m.now-h.At >= m.config.HealthAfter {
		h.Attempts = 0
	}
	h.Cause = f
}

// differs takes that the store was found to differ from the server. Who found
// it has told the user. The first time in a row it is healed at once, later
// ones are an alarm away, so that what no list mends costs no storm of them.
func (m *Machine) differs(f Failure) {
	f.Class, f.At, f.Request = Protocol, m.now, m.last
	m.expect(f)
	m.calm()
	if m.Backoff.Hurried {
		m.resume()
		return
	}
	m.hurry(f)
}

// arm sets the alarm for the next attempt, on the watch under way. Where a list
// follows that watch anyway, the alarm is only for one that outlives its timeout.
func (m *Machine) arm() {
	h := &m.Heal
	if !m.Degraded() || h.Armed || m.Phase != Watching {
		return
	}
	if m.Renumbered {
		h.Armed = true
		left := max(0, m.config.WatchTimeoutMax+watchGrace-m.age())
		m.emit(Effect{Kind: SetAlarm, Min: left, Max: left})
		return
	}
	if h.Since == 0 {
		h.Since = m.now
	}
	h.Armed = true
	d := doubled(m.config.BackoffMin, h.Attempts, max(healMax, m.config.BackoffMax))
	passed := m.now - h.Since
	m.emit(Effect{Kind: SetAlarm, Min: max(0, d-passed), Max: max(0, 2*d-passed)})
}

// alarm lists again, to be whole.
func (m *Machine) alarm() {
	if !m.Degraded() {
		m.resume()
		return
	}
	m.Heal.Attempts++
	m.leave()
	m.sync()
}

// healed takes that a list was published; still is whether some of it could
// not be read either.
func (m *Machine) healed(still bool) {
	h := &m.Heal
	h.Since = 0
	if !still {
		h.Cause = Failure{}
		h.At = m.now
	}
}
