package page

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/kinglet-go/kinglet"
	"github.com/kinglet-go/kinglet/internal/quantity"
	"github.com/kinglet-go/kinglet/internal/trouble"
	"github.com/kinglet-go/kinglet/reflector"
	"github.com/kinglet-go/kinglet/status"
)

// informer is an informer with the results derived from its status.
type informer struct {
	subject
	source  kinglet.Observable
	status  *status.Informer
	pending int       // changes that wait for all handlers
	oldest  time.Time // of them
}

// informers returns the informers of the set, the worst first, then by name.
func (h *handler) informers(now time.Time) []*informer {
	observed := h.set.Observed()
	statuses := make([]status.Informer, len(observed))
	for k := range observed {
		statuses[k] = observed[k].Status()
	}
	all := make([]*informer, len(observed))
	for k, name := range status.Names(statuses) {
		i := &informer{subject: newSubject(name, name, statuses[k].Problems(now)), source: observed[k], status: &statuses[k]}
		for k := range i.status.Handlers {
			h := &i.status.Handlers[k]
			i.pending += h.Pending
			if !h.OldestPending.IsZero() && (i.oldest.IsZero() || h.OldestPending.Before(i.oldest)) {
				i.oldest = h.OldestPending
			}
		}
		all[k] = i
	}
	sortInformers(all, query{})
	return all
}

func informerColumns() []column[*informer] {
	count := func(of func(*status.Informer) uint64) func(a, b *informer) int {
		return func(a, b *informer) int { return cmp.Compare(of(a.status), of(b.status)) }
	}
	return []column[*informer]{
		{"phase", "Phase", "what it is doing, and for how long", false, func(a, b *informer) int { return cmp.Compare(a.status.Phase, b.status.Phase) },
			func(now time.Time, i *informer) cell {
				return cell{text: phase(i.status.Phase), more: since(now, i.status.Since)}
			}},
		{"objects", "Objects", "objects in the store", true, func(a, b *informer) int { return cmp.Compare(a.status.Objects, b.status.Objects) },
			func(_ time.Time, i *informer) cell { return cell{text: number(i.status.Objects)} }},
		{"read", "Read", "bytes read from the server since the start", true, count(func(s *status.Informer) uint64 { return s.Bytes }),
			func(_ time.Time, i *informer) cell {
				if i.status.Bytes == 0 {
					return cell{text: "–"}
				}
				return cell{text: quantity.Bytes(int64(i.status.Bytes))}
			}},
		{"version", "Version", "the resource version that the store equals", true, func(a, b *informer) int {
			x, y := a.status.ResourceVersion, b.status.ResourceVersion // decimal numbers without leading zeros
			return cmp.Or(cmp.Compare(len(x), len(y)), strings.Compare(x, y))
		}, func(_ time.Time, i *informer) cell { return cell{text: or(i.status.ResourceVersion, "–")} }},
		{"contact", "Contact", "when the server was last heard of", true, func(a, b *informer) int { return b.status.LastContact.Compare(a.status.LastContact) },
			func(now time.Time, i *informer) cell {
				return cell{text: or(since(now, i.status.LastContact), "never")}
			}},
		{"events", "Events", "events of watches since the start", true, count(func(s *status.Informer) uint64 { return s.Events }),
			func(_ time.Time, i *informer) cell { return cell{text: number(i.status.Events)} }},
		{"lists", "Lists", "the first list, and those after it by cause", true, count(func(s *status.Informer) uint64 { return s.Published }),
			func(_ time.Time, i *informer) cell {
				return cell{text: number(min(i.status.Published, 1)), more: i.relists()}
			}},
		{"pending", "Pending", "changes that wait for a handler, and for how long the oldest has", true, func(a, b *informer) int { return cmp.Compare(a.pending, b.pending) },
			func(now time.Time, i *informer) cell {
				return cell{text: number(i.pending), more: since(now, i.oldest)}
			}},
		{"bad", "Bad", "objects that could not be stored", true, func(a, b *informer) int { return cmp.Compare(a.status.Quarantined, b.status.Quarantined) },
			func(_ time.Time, i *informer) cell { return cell{text: number(i.status.Quarantined)} }},
		{"path", "Read by", "how objects are read: kinglet's decoder on the wire, or the client's", false, func(a, b *informer) int { return cmp.Compare(a.status.ReadPath.Path, b.status.ReadPath.Path) },
			func(_ time.Time, i *informer) cell {
				c := cell{text: i.status.ReadPath.Path.String()}
				if i.status.ReadPath.Lost() {
					c.why = trouble.Line(i.status.ReadPath.Why)
				}
				return c
			}},
	}
}

// sortInformers sorts as q asks; by default the worst first, then by name. Equal ones keep
// the default order, so that lines do not jump. Unfolded ones come first, since a link
// leads to the top of a page: a fragment in the address would lead to the line, but keep
// the page from refreshing.
func sortInformers(all []*informer, q query) {
	worst := func(a, b *informer) int { return cmp.Compare(b.worst, a.worst) }
	name := func(a, b *informer) int { return strings.Compare(a.name, b.name) }
	wanted := func(_, _ *informer) int { return 0 }
	switch q.sort {
	case "state":
		wanted = worst
	case "name":
		wanted = name
	}
	for _, c := range informerColumns() {
		if c.key == q.sort {
			wanted = c.compare
		}
	}
	sign := 1
	if q.desc {
		sign = -1
	}
	slices.SortStableFunc(all, func(a, b *informer) int {
		if x, y := q.isOpen(a.opens), q.isOpen(b.opens); x != y {
			if x {
				return -1
			}
			return 1
		}
		return cmp.Or(sign*wanted(a, b), worst(a, b), name(a, b))
	})
}

func (i *informer) row(q query) row {
	r := i.subject.row(q)
	r.dim = i.status.Resource.GroupVersion().String()
	if name := i.status.Resource.Resource; name == "" {
		r.dim = ""
	} else if name != i.status.Name {
		r.dim = name + " " + r.dim
	}
	return r
}

// matches reports whether a line matches the filter.
func (i *informer) matches(filter string) bool {
	text := i.row(query{}).dim + " " + i.name + " " + phase(i.status.Phase) + " " + i.worst.String()
	for _, p := range i.problems {
		text += " " + words(p.Cause)
	}
	return strings.Contains(strings.ToLower(text), strings.ToLower(filter))
}

func phase(p reflector.Phase) string {
	switch p {
	case reflector.BackingOff:
		return "backing off"
	case reflector.Streaming:
		return "listing (stream)"
	}
	return strings.ToLower(p.String())
}

// relists returns the lists after the first, and the most frequent cause: "+2 expired".
func (i *informer) relists() string {
	if i.status.Published < 2 {
		return ""
	}
	text, most := "", uint64(0)
	for c, n := range i.status.ListsByCause {
		if reflector.ListCause(c) != reflector.ListStart && n > most {
			most, text = n, " "+strings.ReplaceAll(reflector.ListCause(c).String(), "_", " ")
		}
	}
	return "+" + number(i.status.Published-1) + text
}
