package page

import (
	"bytes"
	"cmp"
	"fmt"
	"runtime/pprof"
	"strconv"
	"strings"
	"time"

	"github.com/kinglet-go/kinglet"
	"github.com/kinglet-go/kinglet/internal/diagnostics/quantity"
	"github.com/kinglet-go/kinglet/internal/diagnostics/trouble"
	"github.com/kinglet-go/kinglet/reflector"
	"github.com/kinglet-go/kinglet/status"
	"github.com/kinglet-go/kinglet/store"
)

// details are the panels unfolded below a line.
type details struct {
	Problems []problemLine
	Panels   []panel
}

type problemLine struct{ State, Mark, Word, For, What, Do string }

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

// panel is a table, or pairs, or text as it is, under a title.
type panel struct {
	Title string
	Wide  bool
	Link  *pair // an address by its text
	Heads []pair
	Rows  [][]pair // text by its class
	Pairs []pair
	Pre   []string
	None  string // shown if there is nothing
}

type pair struct{ Name, Value string }

// tabular makes a panel with a table. A head that begins with # is that of a column of
// numbers.
func tabular(title string, heads ...string) panel {
	p := panel{Title: title, Wide: len(heads) > 3}
	for _, h := range heads {
		name, numbers := strings.CutPrefix(h, "#")
		class := ""
		if numbers {
			class = "num"
		} else if name == "Key" || name == "About" || name == "Object" || name == "Namespace" || name == "Largest value" {
			class = "mono"
		}
		p.Heads = append(p.Heads, pair{name, class})
	}
	return p
}

func (p *panel) row(cells ...string) {
	row := make([]pair, len(cells))
	for k, text := range cells {
		row[k] = pair{trouble.Printable(text), p.Heads[k].Value} // keys are others' texts
	}
	p.Rows = append(p.Rows, row)
}

func (p *panel) pair(name, value string) { p.Pairs = append(p.Pairs, pair{name, value}) }

// counted adds a pair if n is not 0.
func (p *panel) counted(name string, n uint64) {
	if n > 0 {
		p.pair(name, number(n))
	}
}

func (i *informer) details(now time.Time, q query, h *handler) *details {
	d := &details{Problems: problemLines(now, i.problems), Panels: []panel{i.handlers(now, q)}}
	if q.stack == i.name {
		d.Panels = append(d.Panels, panel{Title: "Stacks", Wide: true, Pre: h.stacksOf(i.status.Name),
			None: "No goroutine is labelled as this informer's: it does not run, or it is of another make."})
	}
	d.Panels = append(d.Panels, i.requests(now), i.decoder(now), i.correctness(now))
	if inspectable, ok := i.source.(kinglet.Inspectable); ok {
		in := inspectable.Inspect()
		d.Panels = append(d.Panels, request(now, &in.Watch), i.transitions(now, in.Transitions), i.indexes(in.Indexes))
		d.Panels = append(d.Panels, memory(now, &in.Memory)...)
		if len(in.Quarantined) > 0 {
			d.Panels = append(d.Panels, i.quarantine(now, in.Quarantined))
		}
	}
	return d
}

func (i *informer) handlers(now time.Time, q query) panel {
	p := tabular("Handlers", "Name", "Synced", "#Pending", "#Oldest", "#In call", "About", "#Calls", "#Mean", "Changes", "#Folded", "#Panics", "#Delivered")
	p.None = "No handler is registered."
	for k := range i.status.Handlers {
		h := &i.status.Handlers[k]
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
				about += " and " + number(h.InFlight-1) + " more"
			}
		}
		var changes []string
		for r, n := range h.Changes {
			if n > 0 {
				changes = append(changes, strings.ToLower(store.Reason(r).String())+" "+number(n))
			}
		}
		p.row(cmp.Or(h.Name, "handler "+strconv.Itoa(k+1)), synced, number(h.Pending), since(now, h.OldestPending), since(now, h.CallSince), about,
			number(h.Calls.Count()), mean(&h.Calls), strings.Join(changes, ", "), number(h.Folded), number(h.Panics), h.DeliveredThrough)
	}
	p.Link = &pair{"Show stacks", q.with(func(q *query) { q.stack, q.paused = i.name, true }).url()}
	if q.stack == i.name {
		p.Link = &pair{"Hide stacks", q.with(func(q *query) { q.stack = "" }).url()}
	}
	return p
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

func (i *informer) requests(now time.Time) panel {
	s := i.status
	p := panel{Title: "Requests", None: "None yet."}
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
		p.pair("last error, "+since(now, r.LastTime)+" ago", i.describe(r.Last))
	}
	return p
}

func (i *informer) describe(err error) string {
	return trouble.DescribeOf(trouble.Classify(err), err, i.status.Secrets)
}

func (i *informer) decoder(now time.Time) panel {
	s := i.status
	p := panel{Title: "Decoder"}
	p.pair("read by", s.ReadPath.Path.String())
	if !s.ReadPath.Since.IsZero() {
		p.pair("for", since(now, s.ReadPath.Since))
	}
	if s.ReadPath.Why != nil {
		p.pair("not faster, because", trouble.Line(s.ReadPath.Why))
	}
	if sh := &s.Sharing; sh.MaxBytes > 0 {
		p.pair("shared values", number(sh.Values))
		p.pair("shared bytes", quantity.Bytes(sh.Bytes)+" of "+quantity.Bytes(sh.MaxBytes))
		if all := sh.Hits + sh.Misses; all > 0 {
			p.pair("hit rate", fmt.Sprintf("%.1f %%", 100*float64(sh.Hits)/float64(all)))
		}
	}
	return p
}

func (i *informer) correctness(now time.Time) panel {
	s := i.status
	p := panel{Title: "Correctness"}
	p.pair("quarantined now, failures ever", number(s.Quarantined)+", "+number(s.Failures))
	for st, n := range s.FailuresByStage {
		p.counted("failures: "+status.Stage(st).String(), n)
	}
	if b := &s.Budget; b.Bytes > 0 {
		p.pair("budget of whole objects", quantity.Bytes(b.Used)+" of "+quantity.Bytes(b.Bytes)+" used, "+quantity.Bytes(b.Whole)+" by these")
		p.counted("metadata for want of room", uint64(b.Short))
	}
	p.counted("unreadable", s.Unreadable)
	p.counted("epochs of the server", s.Epoch)
	if c := &s.Consistency; c.Checks > 0 {
		p.pair("consistency checks", number(c.Checks)+", the last "+since(now, c.Last)+" ago")
		p.pair("compared", quantity.Of(int64(c.Compared), "object"))
		p.pair("differences", number(c.Differences))
	}
	p.counted("objects the program wrote into", s.Mutations)
	w := &s.OwnWrites
	if w.Entries > 0 {
		p.pair("own writes that wait", number(w.Entries)+", the oldest for "+since(now, w.Oldest))
	}
	p.counted("own writes confirmed", w.Confirmed)
	p.counted("own writes late", w.Late)
	p.counted("own writes expired", w.Expired)
	p.counted("own writes dropped", w.Dropped)
	return p
}

func request(now time.Time, r *reflector.Request) panel {
	p := panel{Title: "Request", None: "None was sent."}
	if r.At.IsZero() {
		return p
	}
	state := "the last one, which has ended"
	if r.UnderWay {
		state = "under way"
	}
	p.pair("verb", r.Verb.String())
	p.pair("state", state)
	p.pair("sent", since(now, r.At)+" ago")
	if r.Continued {
		p.pair("continued", "yes")
	} else {
		p.pair("resourceVersion", "\""+r.ResourceVersion+"\"")
	}
	if r.Limit > 0 {
		p.pair("limit", number(r.Limit))
	}
	if r.Timeout > 0 {
		p.pair("timeout", quantity.Duration(r.Timeout))
	}
	return p
}

func (i *informer) transitions(now time.Time, ts []reflector.Transition) panel {
	p := tabular("Transitions", "At (UTC)", "#Ago", "Phase", "Because")
	p.None = "None yet."
	for k := len(ts) - 1; k >= 0; k-- { // the newest first
		t := &ts[k]
		why := ""
		if t.Err != nil {
			why = i.describe(t.Err)
		}
		p.row(t.At.UTC().Format("15:04:05.000"), since(now, t.At), phase(t.From)+" → "+phase(t.To), why)
	}
	return p
}

func (i *informer) indexes(all []status.Index) panel {
	p := tabular("Indexes", "Name", "#Values", "#Entries", "#Bytes", "Largest value", "#Objects")
	p.None = "There is none."
	for k := range all {
		x := &all[k]
		largest := trouble.OneLine(x.Largest)
		if i.status.Secrets && x.Name != "namespace" { // it may be of the data
			largest = "not shown: these may be Secrets"
		}
		p.row(x.Name, number(x.Values), number(x.Entries), quantity.Bytes(x.Bytes), largest, number(x.LargestObjects))
	}
	return p
}

func memory(now time.Time, m *status.Memory) []panel {
	if m.Sampled == 0 {
		return nil
	}
	sum := panel{Title: "Memory"}
	sum.pair("objects, about", quantity.Bytes(m.Objects))
	sum.pair("keys", quantity.Bytes(m.Keys))
	sum.pair("from a sample of", quantity.Of(int64(m.Sampled), "object")+", "+since(now, m.At)+" ago")
	objects, namespaces := tabular("Largest objects of the sample", "Object", "#Bytes"), tabular("Largest namespaces of the sample", "Namespace", "#Bytes")
	const most = 20
	for _, s := range m.LargestObjects[:min(len(m.LargestObjects), most)] {
		objects.row(s.Key.String(), quantity.Bytes(s.Bytes))
	}
	for _, s := range m.LargestNamespaces[:min(len(m.LargestNamespaces), most)] {
		namespaces.row(s.Key.Namespace, quantity.Bytes(s.Bytes))
	}
	return []panel{sum, objects, namespaces}
}

func (i *informer) quarantine(now time.Time, all []status.Quarantined) panel {
	p := tabular("Quarantine", "Key", "Stage", "#For", "Reads have", "Because")
	for k := range all[:min(len(all), 100)] {
		x := &all[k]
		has, why := "nothing", trouble.OneLine(x.Err)
		if x.Stale {
			has = "an older version"
		}
		if i.status.Secrets {
			why = "not shown: these may be Secrets"
		}
		p.row(x.Key.String(), x.Stage.String(), since(now, x.Since), has, why)
	}
	return p
}

// stacksOf returns the stacks of the goroutines of an informer, which have its name as a
// label, from a profile in the format of pprof's debug=1: blocks of lines, one of which has
// the labels as quoted strings.
func (h *handler) stacksOf(informer string) (found []string) {
	const most = 16
	h.stacks.Lock()
	defer h.stacks.Unlock()
	var profile bytes.Buffer
	if err := pprof.Lookup("goroutine").WriteTo(&profile, 1); err != nil {
		return nil
	}
	wanted := ", " + strconv.Quote("kinglet.informer") + ":" + strconv.Quote(informer) + ", "
	for block := range strings.SplitSeq(profile.String(), "\n\n") {
		stack, labelled := "", false
		for line := range strings.SplitSeq(block, "\n") {
			if labels, ok := strings.CutPrefix(line, "# labels: {"); ok {
				// Labels are quoted, so a name with braces or commas does not match another.
				labelled = strings.Contains(", "+strings.TrimSuffix(labels, "}")+", ", wanted)
				stack += "{" + labels + "\n"
			} else if _, frame, ok := strings.Cut(strings.TrimPrefix(line, "#\t"), "\t"); ok && line[0] == '#' {
				stack += "  " + strings.TrimSpace(strings.ReplaceAll(frame, "\t", "  ")) + "\n"
			}
		}
		if labelled && len(found) < most {
			found = append(found, stack)
		}
	}
	return found
}
