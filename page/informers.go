package page

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/kinglet-go/kinglet"
	"github.com/kinglet-go/kinglet/internal/diagnostics/quantity"
	"github.com/kinglet-go/kinglet/internal/diagnostics/trouble"
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
	observed, names := h.set.Observed()
	all := make([]*informer, len(observed))
	for k, name := range names {
		st := observed[k].Status()
		i := &informer{subject: newSubject(name, name, st.Problems(now)), source: observed[k], status: &st}
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
	return []column[*informer]{
		{"Phase", "what it is doing, and for how long", false, func(now time.Time, i *informer) cell {
			return cell{text: phase(i.status.Phase), more: since(now, i.status.Since)}
		}},
		{"Objects", "objects in the store", true, func(_ time.Time, i *informer) cell { return cell{text: number(i.status.Objects)} }},
		{"Read", "bytes read from the server since the start", true, func(_ time.Time, i *informer) cell {
			if i.status.Bytes == 0 {
				return cell{text: "–"}
			}
			return cell{text: quantity.Bytes(int64(i.status.Bytes))}
		}},
		{"Version", "the resource version that the store equals", true, func(_ time.Time, i *informer) cell { return cell{text: cmp.Or(i.status.ResourceVersion, "–")} }},
		{"Contact", "when the server was last heard of", true, func(now time.Time, i *informer) cell {
			return cell{text: cmp.Or(since(now, i.status.LastContact), "never")}
		}},
		{"Events", "events of watches since the start", true, func(_ time.Time, i *informer) cell { return cell{text: number(i.status.Events)} }},
		{"Lists", "the first list, and those after it by cause", true, func(_ time.Time, i *informer) cell {
			return cell{text: number(min(i.status.Published, 1)), more: i.relists()}
		}},
		{"Pending", "changes that wait for a handler, and for how long the oldest has", true, func(now time.Time, i *informer) cell {
			return cell{text: number(i.pending), more: since(now, i.oldest)}
		}},
		{"Bad", "objects that could not be stored", true, func(_ time.Time, i *informer) cell { return cell{text: number(i.status.Quarantined)} }},
		{"Read by", "how objects are read: kinglet's decoder on the wire, or the client's", false, func(_ time.Time, i *informer) cell {
			c := cell{text: i.status.ReadPath.Path.String()}
			if i.status.ReadPath.Lost() {
				c.why = trouble.Line(i.status.ReadPath.Why)
			}
			return c
		}},
	}
}

// sortInformers sorts the unfolded first, then the worst, then by name. A link leads to
// the top of a page: a fragment in the address would lead to the line, but keep the page
// from refreshing.
func sortInformers(all []*informer, q query) {
	slices.SortStableFunc(all, func(a, b *informer) int {
		if x, y := q.isOpen(a.opens), q.isOpen(b.opens); x != y {
			if x {
				return -1
			}
			return 1
		}
		return cmp.Or(cmp.Compare(b.worst, a.worst), strings.Compare(a.name, b.name))
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
