package machine

// Backoff is how far the backoff of a machine has come.
type Backoff struct {
	// Attempts counts the waits in a row that doubled the next one.
	Attempts int
	// Asked counts those since then that were as long as the server asked for.
	Asked int
	// ListFailed is whether a list that is needed was refused, and none has come since.
	ListFailed bool
	// Lists counts the lists in a row, of which none came HealthAfter after the one before. The
	// last came at ListAt.
	Lists  int
	ListAt Nanos
}

// delay is the lower end of the next wait.
func (m *Machine) delay() Nanos {
	return doubled(m.config.BackoffMin, m.Backoff.Attempts, m.config.BackoffMax)
}

// doubled returns d doubled n times, and at most limit.
func doubled(d Nanos, n int, limit Nanos) Nanos {
	for ; n > 0 && d < limit; n-- {
		d *= 2
	}
	return min(d, limit)
}

// held reports whether the watch that ends has held for longer than a first wait.
func (m *Machine) held() bool { return m.age() >= 2*m.config.BackoffMin }

// endRow makes the next wait a first one if watches hold. A list that is refused goes on with its
// row over the watches between.
func (m *Machine) endRow(hold bool) {
	if b := &m.Backoff; hold && !b.ListFailed {
		b.Attempts, b.Asked = 0, 0
	}
}

// countList counts a list that has come.
func (m *Machine) countList() {
	b := &m.Backoff
	if m.now-b.ListAt >= m.config.HealthAfter {
		b.Lists = 0
	}
	b.Lists, b.ListAt, b.ListFailed = b.Lists+1, m.now, false
}

// inRow reports whether lists are in a row. The second need not wait for the sake of the first.
func (m *Machine) inRow() bool {
	return m.Backoff.Lists >= 2 && m.now-m.Backoff.ListAt < m.config.HealthAfter
}

// untilList is how long another list has to wait for the sake of those before it: watches that
// hold in between do not make lists cheaper.
func (m *Machine) untilList() Nanos {
	b := &m.Backoff
	if !m.inRow() {
		return 0
	}
	return max(0, b.ListAt+doubled(m.config.BackoffMin, b.Lists-2, m.config.BackoffMax)-m.now)
}

// wait reports f, gives up what is under way, and waits before the next
// request: a list if relist is set, else a watch.
func (m *Machine) wait(f Failure, relist bool) {
	// Watches that have followed each other for long hold, however short each was.
	m.endRow(m.Phase == Watching && m.now-m.Since >= m.config.HealthAfter)
	m.fail(f)
	m.leave()
	d, asked := m.delay(), min(f.RetryAfter, maxRetryAfter)
	if asked > 0 && m.last.Once() && m.Backoff.Asked < askedRetries {
		m.Backoff.Asked++
		d = min(max(asked/4, m.config.BackoffMin), m.config.BackoffMax)
	} else {
		m.Backoff.Asked = 0
		m.Backoff.Attempts++
	}
	m.Relist = relist
	m.enter(BackingOff)
	// A Retry-After is a minimum. Jitter is added to it, so that clients that
	// were told the same time do not come back together.
	least := max(d, asked)
	if relist {
		least = max(least, m.untilList())
	}
	m.emit(Effect{Kind: Wait, Min: least, Max: least + d})
}

// fail reports f, and remembers it until the machine is healthy again.
func (m *Machine) fail(f Failure) {
	if m.Failure.Class == NoFailure {
		m.FailingSince = m.now
	}
	m.Failure = m.report(f)
}

// report completes f, reports it to the user and returns it.
func (m *Machine) report(f Failure) Failure {
	f = m.completed(f)
	m.why = f
	m.Counts.Failures++
	m.Counts.Errors[f.Request.Verb-VerbList][f.code()]++
	m.Recent.add(f, m.Failure.Class == NoFailure)
	m.emit(Effect{Kind: Report, Failure: f})
	return f
}

// completed returns f with its time and its request filled in.
func (m *Machine) completed(f Failure) Failure {
	if f.Class == NoFailure || f.Request.Verb != NoRequest {
		return f
	}
	f.At, f.Request = m.now, m.Request
	if f.Request.Verb == NoRequest {
		f.Request = m.last
	}
	return f
}
