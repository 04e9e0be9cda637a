package page

import (
	"slices"
	"strings"
	"time"

	"github.com/kinglet-go/kinglet/internal/diagnostics/quantity"
	"github.com/kinglet-go/kinglet/status"
)

// group is a problem of one or more informers or controllers. An unreachable server
// is one problem, not one for each of a thousand informers.
type group struct {
	State, Mark, Word, For string
	Names                  []groupName
	More                   string // how many other names
	What, Do               string
	severity               status.Severity
	since                  time.Time
	count                  int
	over                   bool
}

type groupName struct{ Name, URL string }

const (
	// maxGroups is how many problems are shown above the table, and maxNames how many
	// names each has.
	maxGroups = 8
	maxNames  = 6
)

// summary gathers the worst problem of each.
type summary struct {
	now    time.Time
	groups []*group
	by     map[groupKey]*group
	counts [status.Broken + 1]int
}

// summarize gathers the problems of all.
func summarize(now time.Time, q query, informers []*informer, controllers []*controller) *summary {
	s := &summary{now: now, by: map[groupKey]*group{}}
	for _, i := range informers {
		s.add(&i.subject, q)
	}
	for _, c := range controllers {
		s.add(&c.subject, q)
	}
	return s
}

// groupKey identifies problems that are grouped as one. Problems that differ only in
// numbers are the same: of a thousand silent watches, each has been silent for a
// different time.
type groupKey struct {
	severity status.Severity
	cause    status.Cause
	what, do string // what without numbers
}

// withoutNumbers leaves out counts and durations: 7, 1,904, 3.2s, 1m6s.
func withoutNumbers(s string) string {
	var b strings.Builder
	number := false
	for i := range len(s) {
		c := s[i]
		number = '0' <= c && c <= '9' || number && strings.IndexByte(".,hms", c) >= 0
		if !number {
			b.WriteByte(c)
		}
	}
	return b.String()
}

func (s *summary) add(of *subject, q query) {
	s.counts[of.worst]++
	for _, p := range of.problems {
		// Of each, count all problems that are as severe as its worst.
		if p.Severity >= status.Warning && p.Severity == of.worst {
			s.group(groupName{of.name, q.opened(of.opens).url()}, p)
		}
	}
}

func (s *summary) group(name groupName, p status.Problem) {
	key := groupKey{p.Severity, p.Cause, withoutNumbers(p.What), p.Do}
	g := s.by[key]
	if g == nil {
		g = &group{State: p.Severity.String(), Mark: marks[p.Severity], Word: words(p.Cause), What: p.What, Do: p.Do, severity: p.Severity, since: p.Since, over: p.Over}
		s.by[key] = g
		s.groups = append(s.groups, g)
	}
	g.count++
	if len(g.Names) < maxNames {
		g.Names = append(g.Names, name)
	}
	if !p.Since.IsZero() && (g.since.IsZero() || p.Since.Before(g.since)) {
		g.since, g.What = p.Since, p.What // the numbers of the one that began first
	}
}

// finish returns the worst groups, and how many more there are in words.
func (s *summary) finish() (groups []*group, more string) {
	slices.SortStableFunc(s.groups, func(a, b *group) int { return int(b.severity) - int(a.severity) })
	for _, g := range s.groups {
		g.For = lasting(s.now, g.since, g.over)
		if n := g.count - len(g.Names); n > 0 {
			g.More = "and " + number(n) + " more"
		}
	}
	if n := len(s.groups) - maxGroups; n > 0 {
		return s.groups[:maxGroups], "and " + quantity.Of(int64(n), "other problem") + ", below"
	}
	return s.groups, ""
}

// headline summarises the state in one line.
func (s *summary) headline(informers, controllers int) string {
	what := quantity.Of(int64(informers), "informer")
	if controllers > 0 {
		what += " and " + quantity.Of(int64(controllers), "controller")
	}
	var parts []string
	if n := s.counts[status.Broken]; n > 0 {
		parts = append(parts, number(n)+" broken")
	}
	if n := s.counts[status.Warning]; n > 0 {
		parts = append(parts, quantity.Of(int64(n), "warning"))
	}
	switch {
	case informers+controllers == 0:
		return "No informers"
	case parts != nil:
		return strings.Join(parts, ", ") + " among " + what
	case s.counts[status.Note] > 0:
		return "Nothing is wrong with " + what + "; " + quantity.Of(int64(s.counts[status.Note]), "note")
	}
	return "All " + what + " follow the server"
}

func (s *summary) state() status.Severity {
	for severity := status.Broken; severity > status.OK; severity-- {
		if s.counts[severity] > 0 {
			return severity
		}
	}
	return status.OK
}
