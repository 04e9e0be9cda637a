package page

import (
	"cmp"
	"hash/fnv"
	"html/template"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/kinglet-go/kinglet/internal/quantity"
	"github.com/kinglet-go/kinglet/internal/trouble"
	"github.com/kinglet-go/kinglet/reflector"
	"github.com/kinglet-go/kinglet/status"
)

// entry is an informer with the results derived from its status.
type entry struct {
	source   Informer
	name     string // unique
	status   *status.Informer
	problems []status.Problem
	// worst is the severity of the first problem.
	worst   status.Severity
	pending int
	oldest  time.Time
	rates   []float32
}

// row is a line of the table, as text that the method html escapes.
type row struct {
	ID, Name, Resource, OpenURL     string
	Open                            bool
	State, Mark, Word, For          string
	Phase, Since                    string
	Objects, Read, Version, Contact string
	Rate, Lists, Relists            string
	Pending, Oldest, Quarantined    string
	Path, PathWhy                   string
	Spark                           template.HTML
	Details                         *details
	Line                            template.HTML // what html returns
}

func entries(now time.Time, informers []Informer, statuses []status.Informer) []*entry {
	out := make([]*entry, len(informers))
	all := make([]entry, len(informers))
	for k, name := range status.Names(statuses) {
		e := &all[k]
		out[k] = e
		e.source, e.name, e.status = informers[k], name, &statuses[k]
		e.problems = e.status.Problems(now)
		if len(e.problems) > 0 {
			e.worst = e.problems[0].Severity
		}
		e.pending, e.oldest = pendingOf(e.status)
	}
	return out
}

// column is a column by which rows can be sorted. The first click on a column of
// numbers sorts the largest first.
type column struct {
	key, label, title string
	number            bool
	compare           func(a, b *entry) int
}

func columns() []column {
	count := func(of func(*entry) uint64) func(a, b *entry) int {
		return func(a, b *entry) int { return cmp.Compare(of(a), of(b)) }
	}
	return []column{
		{"state", "State", "what is wrong, and for how long", false, func(a, b *entry) int { return cmp.Compare(b.worst, a.worst) }},
		{"name", "Informer", "its name, and the resource", false, func(a, b *entry) int { return strings.Compare(a.name, b.name) }},
		{"phase", "Phase", "what it is doing, and for how long", false, func(a, b *entry) int { return cmp.Compare(a.status.Phase, b.status.Phase) }},
		{"objects", "Objects", "objects in the store", true, func(a, b *entry) int { return cmp.Compare(a.status.Objects, b.status.Objects) }},
		{"read", "Read", "bytes read from the server since the start", true, count(func(e *entry) uint64 { return e.status.Bytes })},
		{"version", "Version", "the resource version that the store equals", true, compareVersions},
		{"contact", "Contact", "when the server was last heard of", true, func(a, b *entry) int { return b.status.LastContact.Compare(a.status.LastContact) }},
		{"rate", "Events/s", "events a second, and the last ten minutes of it", true, func(a, b *entry) int { return cmp.Compare(a.rate(), b.rate()) }},
		{"lists", "Lists", "the first list, and those after it by cause", true, count(relists)},
		{"pending", "Pending", "changes that wait for a handler, and for how long the oldest has", true, func(a, b *entry) int { return cmp.Compare(a.pending, b.pending) }},
		{"bad", "Bad", "objects that could not be stored", true, func(a, b *entry) int { return cmp.Compare(a.status.Quarantined, b.status.Quarantined) }},
		{"path", "Read by", "how objects are read: kinglet's decoder on the wire, or the client's", false, func(a, b *entry) int { return cmp.Compare(a.status.ReadPath.Path, b.status.ReadPath.Path) }},
	}
}

func compareVersions(a, b *entry) int {
	x, y := a.status.ResourceVersion, b.status.ResourceVersion
	if d := cmp.Compare(len(x), len(y)); d != 0 {
		return d // decimal numbers without leading zeros
	}
	return strings.Compare(x, y)
}

func relists(e *entry) uint64 { return max(e.status.Published, 1) - 1 }

// rate returns the rate of the last sample.
func (e *entry) rate() float32 {
	if len(e.rates) == 0 {
		return 0
	}
	return e.rates[len(e.rates)-1]
}

// sorted sorts entries as q asks; by default the worst first, then by name. Equal
// entries keep the default order, so that lines do not jump.
func sorted(all []*entry, q query) {
	byName := func(a, b *entry) int { return strings.Compare(a.name, b.name) }
	less := func(a, b *entry) int { return cmp.Or(cmp.Compare(b.worst, a.worst), byName(a, b)) }
	for _, c := range columns() {
		if c.key != q.sort {
			continue
		}
		ordered, then := c.compare, less
		sign := 1
		if q.desc {
			sign = -1
		}
		less = func(a, b *entry) int { return cmp.Or(sign*ordered(a, b), then(a, b)) }
	}
	slices.SortStableFunc(all, less)
}

// marks are shown before a word, and convey the same as its colour.
var marks = [...]string{status.OK: "✓", status.Note: "·", status.Warning: "!", status.Broken: "✗"}

func (e *entry) row(now time.Time, q query) row {
	s := e.status
	r := row{
		ID: id(e.name), Name: e.name, Resource: resource(s), Open: q.isOpen(e.name), OpenURL: q.toggled(e.name).url(),
		State: e.worst.String(), Mark: marks[e.worst], Word: "ok",
		Phase: phase(s.Phase), Since: since(now, s.Since), Objects: quantity.Count(int64(s.Objects)),
		Read: "–", Version: orDash(s.ResourceVersion), Contact: ago(now, s.LastContact),
		Rate: "", Lists: quantity.Count(int64(min(s.Published, 1))), Relists: relistText(s),
		Pending: quantity.Count(int64(e.pending)), Oldest: since(now, e.oldest), Quarantined: quantity.Count(int64(s.Quarantined)),
		Path: s.ReadPath.Path.String(), Spark: spark(e.rates),
	}
	if len(e.problems) > 0 {
		r.Word, r.For = state(now, &e.problems[0])
	}
	if s.Bytes > 0 {
		r.Read = quantity.Bytes(int64(s.Bytes))
	}
	if len(e.rates) > 1 {
		r.Rate = quantity.Rate(float64(e.rate()))
	}
	if s.ReadPath.Lost() {
		r.PathWhy = trouble.Line(s.ReadPath.Why)
	}
	return r
}

// state is a problem in a column: "forbidden" and "3m12s".
func state(now time.Time, p *status.Problem) (word, duration string) {
	if p.Over {
		return "over: " + words(p.Cause), ago(now, p.Since) + " ago"
	}
	return words(p.Cause), since(now, p.Since)
}

// words returns a cause with spaces in place of underscores.
func words(c status.Cause) string { return strings.ReplaceAll(string(c), "_", " ") }

func phase(p reflector.Phase) string {
	switch p {
	case reflector.BackingOff:
		return "backing off"
	case reflector.Streaming:
		return "listing (stream)"
	}
	return strings.ToLower(p.String())
}

func resource(s *status.Informer) string {
	r := s.Resource
	if r.Resource == "" {
		return ""
	}
	if r.Resource == s.Name {
		return r.GroupVersion().String()
	}
	return r.Resource + " " + r.GroupVersion().String()
}

// relistText returns the lists after the first, by cause: "+2 expired".
func relistText(s *status.Informer) string {
	if s.Published < 2 {
		return ""
	}
	text, most := "", uint64(0)
	for c, n := range s.ListsByCause {
		if reflector.ListCause(c) != reflector.ListStart && n > most {
			most, text = n, " "+strings.ReplaceAll(reflector.ListCause(c).String(), "_", " ")
		}
	}
	return "+" + quantity.Count(int64(s.Published-1)) + text
}

func orDash(s string) string {
	if s == "" {
		return "–"
	}
	return s
}

// since returns how long ago a time was, empty for the zero time.
func since(now, at time.Time) string {
	if at.IsZero() {
		return ""
	}
	return coarse(max(0, now.Sub(at)))
}

// ago returns how long ago a time was, "never" for the zero time.
func ago(now, at time.Time) string {
	if at.IsZero() {
		return "never"
	}
	return coarse(max(0, now.Sub(at)))
}

// coarse formats a duration with days, and without needless fractions of a second.
func coarse(d time.Duration) string {
	switch {
	case d < time.Minute-time.Second/2:
		return strconv.Itoa(int(d.Round(time.Second)/time.Second)) + "s"
	case d < 48*time.Hour:
		return quantity.Duration(d)
	}
	return strconv.Itoa(int(d/(24*time.Hour))) + "d" + strconv.Itoa(int(d%(24*time.Hour)/time.Hour)) + "h"
}

// id returns an identifier for a line's address, for any characters in its name.
func id(name string) string {
	h := fnv.New64a()
	h.Write([]byte(name))
	return "i" + strconv.FormatUint(h.Sum64(), 36)
}
