package page

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	_ "embed"
	"encoding/base64"
	"html/template"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/kinglet-go/kinglet/internal/quantity"
	"github.com/kinglet-go/kinglet/status"
)

var (
	//go:embed page.html
	pageText string
	//go:embed page.css
	styleText string
)

// handler is the page.
type handler struct {
	opts    Options
	history history
	stacks  stacks

	once sync.Once
	// template and policy are set by once.
	template *template.Template
	policy   string
}

// New returns the page. It starts nothing and parses nothing.
func New(opts Options) http.Handler {
	h := &handler{opts: opts}
	h.history.read = func() []status.Informer { return statuses(opts.Informers()) }
	return h
}

// prepare parses the template. It is not called at startup, since most programs never
// show the page.
func (h *handler) prepare() {
	h.once.Do(func() {
		sum := sha256.Sum256([]byte(styleText))
		h.policy = "default-src 'none'; style-src 'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) +
			"'; img-src data:; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
		h.template = template.Must(template.New("page").Parse(pageText))
	})
}

// ServeHTTP answers GET and HEAD with the page, or with JSON if the query has
// format=json.
func (h *handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	header := w.Header()
	header.Set("Cache-Control", "no-store")
	header.Set("X-Content-Type-Options", "nosniff")
	header.Set("Referrer-Policy", "no-referrer")
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		header.Set("Allow", "GET, HEAD")
		http.Error(w, "this page only shows", http.StatusMethodNotAllowed)
		return
	}
	q := parse(r.URL.Query())
	now := time.Now()
	var body bytes.Buffer
	if q.json {
		header.Set("Content-Type", "application/json")
		if err := h.writeJSON(&body, now, q); err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
	} else {
		h.prepare()
		header.Set("Content-Type", "text/html; charset=utf-8")
		header.Set("Content-Security-Policy", h.policy)
		if err := h.template.Execute(&body, h.view(now, q)); err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
	}
	if r.Method == http.MethodHead {
		return
	}
	_, _ = w.Write(body.Bytes()) // an error means that the client has gone
}

// view is the data of the template.
type view struct {
	Style                            template.CSS
	Time, State, Mark, Headline      string
	Seconds                          int // 0 while paused
	PauseURL, ResumeURL, JSONURL     string
	SortedBy, WorstURL               string
	Groups                           []*group
	MoreGroups                       string
	Columns                          []columnHead
	Rows                             []row
	MoreRows                         string
	MoreURL                          string
	Controllers                      []controllerRow
	ControllersFirst                 bool // since one is unfolded
	Filter, FilterURL, ClearURL      string
	Paused                           bool
	Hidden                           []pair
	Objects, Events, Bytes, Handlers string
}

// columnHead is the head of a column, a link that sorts by it.
type columnHead struct{ Label, Title, URL, Class, Aria, Arrow string }

func statuses(informers []Informer) []status.Informer {
	out := make([]status.Informer, len(informers))
	for k := range informers {
		out[k] = informers[k].Status()
	}
	return out
}

func (h *handler) view(now time.Time, q query) *view {
	informers := h.opts.Informers()
	read := statuses(informers)
	h.history.look(now, read)
	all := entries(now, informers, read)
	v := &view{Style: template.CSS(styleText), Time: now.UTC().Format("15:04:05") + " UTC", Paused: q.paused, Filter: q.filter}
	if !q.paused {
		v.Seconds = int(refreshEvery / time.Second)
	}
	v.totals(all)
	h.links(v, q)

	v.Controllers = controllerRows(now, q, h.opts.Controllers())
	sum := summary{now: now}
	sorted(all, query{})
	for k := range all {
		sum.add(all[k].name, q.opened(all[k].name).url(), all[k].problems)
	}
	for k := range v.Controllers {
		c := &v.Controllers[k]
		v.ControllersFirst = v.ControllersFirst || c.Open
		sum.add(c.Name, q.opened(":"+c.Name).url(), c.problems)
	}
	var more int
	v.Groups, more = sum.finish()
	if more > 0 {
		v.MoreGroups = "and " + quantity.Of(int64(more), "other problem") + ", below"
	}
	v.State, v.Headline = sum.state(), sum.headline(len(all), len(v.Controllers))
	for s, m := range marks {
		if status.Severity(s).String() == v.State {
			v.Mark = m
		}
	}
	h.rows(v, now, q, all)
	return v
}

func (v *view) totals(all []*entry) {
	var objects, events, read uint64
	handlers := 0
	for k := range all {
		s := all[k].status
		objects += uint64(s.Objects)
		events += s.Events
		read += s.Bytes
		handlers += len(s.Handlers)
	}
	v.Objects, v.Events = quantity.Of(int64(objects), "object"), quantity.Of(int64(events), "event")
	v.Bytes, v.Handlers = quantity.Bytes(int64(read))+" read", quantity.Of(int64(handlers), "handler")
}

func (h *handler) links(v *view, q query) {
	v.PauseURL = q.with(func(q *query) { q.paused = true }).url()
	v.ResumeURL = q.with(func(q *query) { q.paused = false }).url()
	v.JSONURL = query{json: true, filter: q.filter, open: q.open}.url()
	v.WorstURL = q.with(func(q *query) { q.sort, q.desc = "", false }).url()
	v.ClearURL = q.with(func(q *query) { q.filter = "" }).url()
	for _, c := range columns() {
		head := columnHead{Label: c.label, Title: "sort by " + c.title, Aria: "none"}
		if c.number {
			head.Class = "num"
		}
		next := q.with(func(q *query) { q.sort, q.desc = c.key, c.number })
		if c.key == q.sort {
			next.desc = !q.desc
			v.SortedBy = c.label
			head.Aria, head.Arrow = "ascending", "▲"
			if q.desc {
				head.Aria, head.Arrow = "descending", "▼"
			}
		}
		head.URL = next.url()
		v.Columns = append(v.Columns, head)
	}
	// A form's own fields replace the query, so hidden fields carry the rest of it.
	hide := func(name, value string) {
		if value != "" {
			v.Hidden = append(v.Hidden, pair{name, value})
		}
	}
	hide("sort", q.sort)
	if q.desc {
		hide("desc", "1")
	}
	for _, o := range q.open {
		hide("open", o)
	}
}

func (h *handler) rows(v *view, now time.Time, q query, all []*entry) {
	names := make([]string, len(all))
	for k := range all {
		names[k] = all[k].name
	}
	for k, rates := range h.history.rates(names) {
		all[k].rates = rates
	}
	sorted(all, q)
	// The unfolded informer comes first, since a link leads to the top of a page. A
	// fragment in the address would lead to the line, but keeps the page from refreshing.
	slices.SortStableFunc(all, func(a, b *entry) int { return cmp.Compare(fold(q, b), fold(q, a)) })
	left := 0
	for k := range all {
		e := all[k]
		open := q.isOpen(e.name)
		if q.filter != "" && !e.matches(q.filter) && !open {
			continue
		}
		if !q.all && len(v.Rows) >= manyRows && !open {
			left++
			continue
		}
		r := e.row(now, q)
		if open {
			r.Details = e.details(now, q, &h.history, &h.stacks)
		}
		r.Line = r.html()
		v.Rows = append(v.Rows, r)
	}
	if left > 0 {
		v.MoreRows = quantity.Of(int64(left), "more informer") + ": show all"
		v.MoreURL = q.with(func(q *query) { q.all = true }).url()
	}
}

func fold(q query, e *entry) int {
	if q.isOpen(e.name) {
		return 1
	}
	return 0
}

// matches reports whether a line matches the filter.
func (e *entry) matches(filter string) bool {
	filter = strings.ToLower(filter)
	if strings.Contains(strings.ToLower(e.name+" "+resource(e.status)+" "+phase(e.status.Phase)+" "+e.worst.String()), filter) {
		return true
	}
	for _, p := range e.problems {
		if strings.Contains(words(p.Cause), filter) {
			return true
		}
	}
	return false
}
