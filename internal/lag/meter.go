package lag

import (
	"time"

	"github.com/kinglet-go/kinglet/reflector/resourceversion"
)

const (
	// grace is how long the store may take to reach an answer before proof is
	// requested. Most stores reach it within milliseconds.
	grace = time.Second
	// patience is how long an answer without proof, for or against, is given
	// before the store counts as behind.
	patience = 6 * time.Second
	// maxAnswers bounds the remembered answers. With an answer every few seconds it
	// is minutes of lag; beyond it the newest are dropped, since the oldest one
	// determines the lag.
	maxAnswers = 256
)

// Meter computes the lag of one collection. It is not safe for concurrent use.
type Meter struct {
	stored string // the version that the store equals; empty before the first list
	// answers that the store has not reached, oldest first.
	// Invariant: each is newer than stored, and both at and version rise.
	answers []answer
	// missing is a change, not newer than answers[0], that the server has and
	// the store has not; empty if none is known.
	missing string
	asked   time.Time // when the last answered question was asked; zero for never
	odd     bool      // versions came that cannot be compared
	worst   time.Duration
}

type answer struct {
	version string
	at      time.Time
	counts  bool // it was proven once; so it counts until the contrary is
}

// Reading is the result of a Meter.
type Reading struct {
	// Known is false if the lag is unknown; Why is then the reason.
	Known bool
	Why   string
	Lag   time.Duration
}

// Asked tells that the server, asked at the given time, answered with version.
func (m *Meter) Asked(version string, at time.Time) {
	m.asked = at
	if !m.comparable(version) {
		return
	}
	if m.stored != "" && !newer(version, m.stored) {
		// The server is at the store's version, or behind it. It may have been
		// restored to an older state; then old answers mean nothing.
		m.answers, m.missing = m.answers[:0], ""
		return
	}
	if n := len(m.answers); n > 0 && !newer(version, m.answers[n-1].version) {
		return
	}
	if len(m.answers) < maxAnswers {
		m.answers = append(m.answers, answer{version: version, at: at})
	}
}

// Stored tells which version the store equals now.
func (m *Meter) Stored(version string, now time.Time) {
	if version == "" || version == m.stored || !m.comparable(version) {
		return
	}
	m.note(now)
	m.stored = version
	if m.missing != "" && !newer(m.missing, version) {
		m.missing = ""
	}
	m.drop(version)
}

// Delivered tells of a live change with this version, which the store did not have
// before. So the change was missing since the first answer with its version or a
// later one.
func (m *Meter) Delivered(version string, now time.Time) {
	if version == "" || !m.comparable(version) || !newer(version, m.stored) {
		return // told late: the store has had it for a while
	}
	for i := range m.answers {
		if !newer(version, m.answers[i].version) {
			m.worst = max(m.worst, now.Sub(m.answers[i].at))
			break
		}
	}
	m.Stored(version, now)
}

// Lag reads the meter.
func (m *Meter) Lag(now time.Time) Reading {
	switch {
	case m.odd:
		return Reading{Why: "resource versions cannot be compared"}
	case m.stored == "":
		return Reading{Why: "not synced"}
	case m.asked.IsZero():
		return Reading{Why: "the server has not answered"}
	}
	// The server's version since its last answer is unknown; but
	// what is known to be missing stays missing.
	if m.missing == "" && now.Sub(m.asked) > 2*patience {
		return Reading{Why: "the server does not answer"}
	}
	if len(m.answers) == 0 {
		return Reading{Known: true}
	}
	oldest := m.answers[0]
	age := now.Sub(oldest.at)
	if !oldest.counts && age < patience {
		return Reading{Known: true}
	}
	m.note(now)
	return Reading{Known: true, Lag: age}
}

// Worst returns the greatest lag seen so far.
func (m *Meter) Worst() time.Duration { return m.worst }

// Level reports that every answer is in the store, or was proven to miss nothing.
func (m *Meter) Level() bool {
	return !m.odd && m.stored != "" && !m.asked.IsZero() && len(m.answers) == 0
}

// Doubt returns the version of the store from which to look for missing changes, if
// an answer needs proof.
func (m *Meter) Doubt(now time.Time) (from string, ok bool) {
	if m.stored == "" || len(m.answers) == 0 || m.missing != "" {
		return "", false
	}
	oldest := m.answers[0]
	return m.stored, oldest.counts || now.Sub(oldest.at) >= grace
}

// Found tells of the first change after the version that Doubt returned. The server
// has it; if the store still has not, it is behind.
func (m *Meter) Found(version string) {
	if !m.comparable(version) || !newer(version, m.stored) {
		return // the store got it in the meantime
	}
	// Nothing happened to the collection before this change.
	for len(m.answers) > 0 && newer(version, m.answers[0].version) {
		m.answers = m.answers[1:]
	}
	if len(m.answers) > 0 {
		m.answers[0].counts = true
		m.missing = version
	}
}

// Nothing tells that nothing happened to the collection between the version
// that Doubt returned and this one.
func (m *Meter) Nothing(until string) {
	if m.comparable(until) && m.missing == "" {
		m.drop(until)
	}
}

// note records the lag so far, if it is proven.
func (m *Meter) note(now time.Time) {
	if m.missing != "" && len(m.answers) > 0 {
		m.worst = max(m.worst, now.Sub(m.answers[0].at))
	}
}

func (m *Meter) drop(until string) {
	for len(m.answers) > 0 && !newer(m.answers[0].version, until) {
		m.answers = m.answers[1:]
	}
	if len(m.answers) == 0 {
		m.missing = ""
	}
}

func (m *Meter) comparable(version string) bool {
	if !resourceversion.Ordered(version) {
		m.odd = true
		return false
	}
	return true
}

// newer compares two versions of which comparable holds.
func newer(a, b string) bool {
	order, ok := resourceversion.Compare(a, b)
	return ok && order > 0
}

// newest returns the version of the latest answer that the store has not reached.
func (m *Meter) newest() string {
	if len(m.answers) == 0 {
		return ""
	}
	return m.answers[len(m.answers)-1].version
}
