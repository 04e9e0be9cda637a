package page

import (
	"fmt"
	"html/template"
	"strconv"
	"strings"
	"time"

	"github.com/kinglet-go/kinglet/internal/quantity"
	"github.com/kinglet-go/kinglet/internal/trouble"
	"github.com/kinglet-go/kinglet/reflector"
	"github.com/kinglet-go/kinglet/status"
	"github.com/kinglet-go/kinglet/store"
)

// details are the panels unfolded below a line.
type details struct {
	ID       string
	Problems []problemLine
	Charts   []template.HTML
	Panels   []panel
}

type problemLine struct{ State, Mark, Word, For, What, Do string }

// panel is a table, or pairs, or text as it is, under a title.
type panel struct {
	Title string
	Wide  bool
	Links []textLink
	Heads []head
	Rows  [][]cell
	Pairs []pair
	Pre   []string
	None  string // shown if there is nothing
}

type (
	head     struct{ Text, Class string }
	cell     struct{ Text, Class, URL string }
	pair     struct{ Name, Value string }
	textLink struct{ Text, URL string }
)

func text(s string) cell   { return cell{Text: s} }
func mono(s string) cell   { return cell{Text: s, Class: "mono"} }
func number(s string) cell { return cell{Text: s, Class: "num"} }

func count[N ~int | ~int64 | ~uint64](n N) cell { return number(quantity.Count(int64(n))) }

// heads makes column heads. A name that begins with # is that of a column of numbers.
func heads(names ...string) []head {
	out := make([]head, len(names))
	for k, n := range names {
		out[k].Text = strings.TrimPrefix(n, "#")
		if out[k].Text != n {
			out[k].Class = "num"
		}
	}
	return out
}

func (p *panel) pair(name, value string) { p.Pairs = append(p.Pairs, pair{name, value}) }

// counted adds a pair if n is not 0.
func (p *panel) counted(name string, n uint64) {
	if n > 0 {
		p.pair(name, quantity.Count(int64(n)))
	}
}

func (e *entry) details(now time.Time, q query, h *history, st *stacks) *details {
	d := &details{ID: id(e.name), Problems: problemLines(now, e.problems)}
	if r := h.copyOf(e.name); r != nil {
		for _, c := range []template.HTML{
			chart("Events", "/s", r.series(&r.rate)),
			chart("Pending", "", r.series(&r.pending)),
		} {
			if c != "" {
				d.Charts = append(d.Charts, c)
			}
		}
	}
	d.Panels = append(d.Panels, e.handlers(now, q))
	if q.stack == e.name {
		d.Panels = append(d.Panels, panel{Title: "Stacks", Wide: true, Pre: st.of(e.status.Name),
			None: "No goroutine is labelled as this informer's: it does not run, or it is of another make."})
	}
	d.Panels = append(d.Panels, e.requests(now), e.decoder(now), e.correctness(now))
	if e.source.Inspect != nil {
		in := e.source.Inspect()
		d.Panels = append(d.Panels, watchPanel(now, &in.Watch), e.transitions(now, in.Transitions), indexes(in.Indexes))
		d.Panels = append(d.Panels, memory(now, &in.Memory)...)
		if len(in.Quarantined) > 0 {
			d.Panels = append(d.Panels, e.quarantine(now, in.Quarantined))
		}
	}
	if e.source.Objects != nil {
		d.Panels = append(d.Panels, e.objects(q))
	}
	return d
}

func problemLines(now time.Time, problems []status.Problem) []problemLine {
	out := make([]problemLine, len(problems))
	for k, p := range problems {
		out[k] = problemLine{p.Severity.String(), marks[p.Severity], words(p.Cause), lasting(now, p.Since, p.Over), p.What, p.Do}
	}
	return out
}

// lasting returns how long a problem has lasted, or how long ago it ended.
func lasting(now, at time.Time, over bool) string {
	switch {
	case at.IsZero():
		return ""
	case over:
		return since(now, at) + " ago"
	}
	return "for " + since(now, at)
}

func (e *entry) handlers(now time.Time, q query) panel {
	p := panel{Title: "Handlers", Wide: true, None: "No handler is registered.",
		Heads: heads("Name", "Synced", "#Pending", "#Oldest", "#In call", "About", "#Calls", "#Mean", "Changes", "#Folded", "#Panics", "#Delivered")}
	for k := range e.status.Handlers {
		h := &e.status.Handlers[k]
		name := h.Name
		if name == "" {
			name = "handler " + strconv.Itoa(k+1)
		}
		synced, about := "yes", ""
		if !h.Synced {
			synced = "no"
		}
		if h.Err != nil {
			synced = "ended"
		}
		if !h.CallSince.IsZero() && h.InFlight > 0 {
			about = h.CallKey.String()
			if h.InFlight > 1 {
				about += " and " + quantity.Count(int64(h.InFlight-1)) + " more"
			}
		}
		p.Rows = append(p.Rows, []cell{
			text(name), text(synced), count(h.Pending), number(since(now, h.OldestPending)), number(since(now, h.CallSince)), mono(about),
			count(h.Calls.Count()), number(mean(&h.Calls)), text(changes(h)), count(h.Folded), count(h.Panics), {Text: h.DeliveredThrough, Class: "num mono"},
		})
	}
	if q.stack == e.name {
		p.Links = []textLink{{"Hide stacks", q.with(func(q *query) { q.stack = "" }).url()}}
	} else {
		p.Links = []textLink{{"Show stacks", q.with(func(q *query) { q.stack, q.paused = e.name, true }).url()}}
	}
	return p
}

func changes(h *status.Handler) string {
	var parts []string
	for r, n := range h.Changes {
		if n > 0 {
			parts = append(parts, strings.ToLower(store.Reason(r).String())+" "+quantity.Count(int64(n)))
		}
	}
	return strings.Join(parts, ", ")
}

func mean(h *status.Histogram) string {
	n := h.Count()
	if n == 0 {
		return ""
	}
	d := h.Sum / time.Duration(n)
	if d < time.Millisecond {
		return d.Round(time.Microsecond).String()
	}
	return quantity.Duration(d)
}

func (e *entry) requests(now time.Time) panel {
	s := e.status
	p := panel{Title: "Requests"}
	for c, n := range s.ListsByCause {
		p.counted("lists: "+reflector.ListCause(c).String(), n)
	}
	p.counted("list requests", s.Lists)
	p.counted("watch-lists", s.Streams)
	p.counted("watches", s.Watches)
	for w, n := range s.WatchEnds {
		p.counted("watches ended: "+reflector.WatchEnd(w).String(), n)
	}
	p.counted("probes", s.Probes)
	for v := range s.ErrorsBy {
		for c, n := range s.ErrorsBy[v] {
			p.counted("errors: "+reflector.Verb(v).String()+" "+reflector.Code(c).String(), n)
		}
	}
	p.counted("errors", s.Errors)
	p.counted("silent watches", s.SilentWatches)
	p.counted("events", s.Events)
	p.counted("bookmarks", s.Bookmarks)
	p.counted("duplicates", s.Duplicates)
	if !s.LastEvent.IsZero() {
		p.pair("last event", since(now, s.LastEvent)+" ago")
	}
	if s.BookmarkInterval > 0 {
		p.pair("bookmarks come every", quantity.Duration(s.BookmarkInterval))
	}
	if r := &s.Recent; r.Last != nil {
		p.pair("last error, "+since(now, r.LastTime)+" ago", describe(r.Last, s))
	}
	p.None = "None yet."
	return p
}

func describe(err error, s *status.Informer) string {
	return trouble.DescribeOf(trouble.Classify(err), err, s.Resource.Resource)
}

func (e *entry) decoder(now time.Time) panel {
	s := e.status
	p := panel{Title: "Decoder"}
	p.pair("read by", s.ReadPath.Path.String())
	if !s.ReadPath.Since.IsZero() {
		p.pair("for", since(now, s.ReadPath.Since))
	}
	if s.ReadPath.Why != nil {
		p.pair("not faster, because", trouble.Line(s.ReadPath.Why))
	}
	if sh := &s.Sharing; sh.MaxBytes > 0 {
		p.pair("shared values", quantity.Count(int64(sh.Values)))
		p.pair("shared bytes", quantity.Bytes(sh.Bytes)+" of "+quantity.Bytes(sh.MaxBytes))
		if all := sh.Hits + sh.Misses; all > 0 {
			p.pair("hit rate", fmt.Sprintf("%.1f %%", 100*float64(sh.Hits)/float64(all)))
		}
	}
	return p
}

func (e *entry) correctness(now time.Time) panel {
	s := e.status
	p := panel{Title: "Correctness"}
	p.pair("quarantined now, failures ever", quantity.Count(int64(s.Quarantined))+", "+quantity.Count(int64(s.Failures)))
	for st, n := range s.FailuresByStage {
		p.counted("failures: "+status.Stage(st).String(), n)
	}
	p.counted("unreadable", s.Unreadable)
	p.counted("epochs of the server", s.Epoch)
	if c := &s.Consistency; c.Checks > 0 {
		p.pair("consistency checks", quantity.Count(int64(c.Checks))+", the last "+since(now, c.Last)+" ago")
		p.pair("compared", quantity.Of(int64(c.Compared), "object"))
		p.pair("differences", quantity.Count(int64(c.Differences)))
	}
	p.counted("objects the program wrote into", s.Mutations)
	w := &s.OwnWrites
	if w.Entries > 0 {
		p.pair("own writes that wait", quantity.Count(int64(w.Entries))+", the oldest for "+since(now, w.Oldest))
	}
	p.counted("own writes confirmed", w.Confirmed)
	p.counted("own writes late", w.Late)
	p.counted("own writes expired", w.Expired)
	p.counted("own writes dropped", w.Dropped)
	return p
}
