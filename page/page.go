package page

import (
	"bytes"
	"crypto/sha256"
	_ "embed"
	"encoding/base64"
	"html/template"
	"net"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/kinglet-go/kinglet"
	"github.com/kinglet-go/kinglet/internal/diagnostics/quantity"
	"github.com/kinglet-go/kinglet/status"
)

var (
	//go:embed page.html
	pageText string
	//go:embed page.css
	styleText string
)

const (
	// refreshEvery is how often the browser reloads the page.
	refreshEvery = 2 * time.Second
	// manyRows is how many informers are shown at once unless all are requested; the
	// worst are among them.
	manyRows = 250
)

// parsed returns the template, and the policy that goes with it. It is not called at
// startup, since most programs never show the page.
var parsed = sync.OnceValues(func() (*template.Template, string) {
	sum := sha256.Sum256([]byte(styleText))
	return template.Must(template.New("page").Parse(pageText)), "default-src 'none'; style-src 'sha256-" +
		base64.StdEncoding.EncodeToString(sum[:]) + "'; img-src data:; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
})

// handler is the page.
type handler struct {
	set    *kinglet.Set
	stacks sync.Mutex // held while a profile is made, which stops the program for a moment
}

// Handler returns a page of every informer and controller that the set runs or observes,
// the worst first: what is wrong, since when, and what to do; then, unfolded, what each
// does and holds. With ?format=json it is a document for programs.
//
// Handler may be called before Run, any number of times, and is safe for concurrent use.
// The page answers GET and HEAD alone, changes nothing, and checks no permissions: serve
// it where only those who may see names of objects and errors can reach it. It never shows
// objects.
//
// On a connection to a loopback address it answers only if the request's Host is localhost
// or an IP address. Otherwise any web site could read it through the browser of whoever
// visits the site, by a name that it resolves to 127.0.0.1 (DNS rebinding). On other
// addresses it cannot know its names: there, put something in front that authenticates
// requests, or compare the Host with the names that it is served under. A proxy on the
// same machine has to send localhost as the Host.
func Handler(set *kinglet.Set) http.Handler { return &handler{set: set} }

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
	if foreign(r) {
		http.Error(w, "on this machine's own addresses, the page is served to localhost only", http.StatusForbidden)
		return
	}
	q := parse(r.URL.Query())
	var body bytes.Buffer
	var err error
	if q.json {
		header.Set("Content-Type", "application/json")
		err = h.writeJSON(&body, time.Now(), q)
	} else {
		page, policy := parsed()
		header.Set("Content-Type", "text/html; charset=utf-8")
		header.Set("Content-Security-Policy", policy)
		err = page.Execute(&body, h.view(time.Now(), q))
	}
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	if r.Method == http.MethodGet {
		_, _ = w.Write(body.Bytes()) // an error means that the client has gone
	}
}

// foreign reports whether a request to a loopback address names a host that may be
// another's.
func foreign(r *http.Request) bool {
	if !loopback(r) {
		return false
	}
	host := r.Host
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	host = strings.Trim(host, "[]")
	return !strings.EqualFold(host, "localhost") && net.ParseIP(host) == nil
}

// loopback reports whether a request came to a loopback address.
func loopback(r *http.Request) bool {
	local, _ := r.Context().Value(http.LocalAddrContextKey).(*net.TCPAddr)
	return local != nil && local.IP.IsLoopback()
}

// view is the data of the template.
type view struct {
	Style                            template.CSS
	Time, State, Mark, Headline      string
	Seconds                          int // 0 while paused
	PauseURL, ResumeURL, JSONURL     string
	Groups                           []*group
	MoreGroups                       string
	Informers, Controllers           table
	MoreRows, MoreURL                string
	ControllersFirst                 bool // since one is unfolded
	Filter, ClearURL                 string
	Paused                           bool
	Hidden                           []pair
	Objects, Events, Bytes, Handlers string
}

func (h *handler) view(now time.Time, q query) *view {
	informers, controllers := h.informers(now), h.controllers(now)
	v := &view{Style: template.CSS(styleText), Time: now.UTC().Format("15:04:05") + " UTC", Paused: q.paused, Filter: q.filter}
	if !q.paused {
		v.Seconds = int(refreshEvery / time.Second)
	}
	v.totals(informers)
	v.links(q)
	sum := summarize(now, q, informers, controllers)
	v.Groups, v.MoreGroups = sum.finish()
	v.State, v.Mark, v.Headline = sum.state().String(), marks[sum.state()], sum.headline(len(informers), len(controllers))
	h.informerRows(v, now, q, informers)
	v.Controllers = table{Title: "Controllers", Class: "controllers", Heads: heads("Controller", "its name", controllerColumns())}
	for _, c := range controllers {
		r := c.row(q)
		for _, column := range controllerColumns() {
			r.Cells = append(r.Cells, column.of(now, c))
		}
		if r.Open {
			v.ControllersFirst = true
			r.Details = c.details(now)
		}
		v.Controllers.add(now, r)
	}
	return v
}

func (h *handler) informerRows(v *view, now time.Time, q query, all []*informer) {
	v.Informers = table{Title: "Informers", Class: "informers", Heads: heads("Informer", "its name, and the resource", informerColumns())}
	sortInformers(all, q)
	left := 0
	for _, i := range all {
		r := i.row(q)
		if q.filter != "" && !i.matches(q.filter) && !r.Open {
			continue
		}
		if !q.all && len(v.Informers.Rows) >= manyRows && !r.Open {
			left++
			continue
		}
		for _, column := range informerColumns() {
			r.Cells = append(r.Cells, column.of(now, i))
		}
		if r.Open {
			r.Details = i.details(now, q, h)
		}
		v.Informers.add(now, r)
	}
	if left > 0 {
		v.MoreRows = quantity.Of(int64(left), "more informer") + ": show all"
		v.MoreURL = q.with(func(q *query) { q.all = true }).url()
	}
}

func (v *view) totals(all []*informer) {
	var objects, events, read uint64
	handlers := 0
	for _, i := range all {
		objects += uint64(i.status.Objects)
		events += i.status.Events
		read += i.status.Bytes
		handlers += len(i.status.Handlers)
	}
	v.Objects, v.Events = quantity.Of(int64(objects), "object"), quantity.Of(int64(events), "event")
	v.Bytes, v.Handlers = quantity.Bytes(int64(read))+" read", quantity.Of(int64(handlers), "handler")
}

func (v *view) links(q query) {
	v.PauseURL = q.with(func(q *query) { q.paused = true }).url()
	v.ResumeURL = q.with(func(q *query) { q.paused = false }).url()
	v.JSONURL = query{json: true, filter: q.filter, open: q.open}.url()
	v.ClearURL = q.with(func(q *query) { q.filter = "" }).url()
	// A form's own fields replace the query, so hidden fields carry the rest of it.
	for _, o := range q.open {
		v.Hidden = append(v.Hidden, pair{"open", o})
	}
}

// subject is what a line is about, as far as informers and controllers are alike.
type subject struct {
	name     string // unique among those of its kind
	opens    string // its name in addresses: those of controllers have a colon before them
	problems []status.Problem
	worst    status.Severity // of the first problem
}

func newSubject(name, opens string, problems []status.Problem) subject {
	s := subject{name: name, opens: opens, problems: problems}
	if len(problems) > 0 {
		s.worst = problems[0].Severity
	}
	return s
}

func (s *subject) row(q query) row {
	return row{subject: s, Open: q.isOpen(s.opens), openURL: q.toggled(s.opens).url()}
}

// Mux returns one handler for the HTTP port of a program, to which it may add more:
//
//   - /healthz answers 200 as long as the program serves, for a liveness probe.
//   - /readyz answers 200 once every informer has synced, and else 503 with what is wrong
//     and what to do: see [kinglet.Set.Ready].
//   - /metrics is metrics, unless it is nil: promhttp's handler of a registry with a
//     Collector of module prometheus.
//   - /debug/kinglet/ is the page, for loopback connections alone, as those of kubectl
//     port-forward: probes and metrics need a port that others reach, and the page shows
//     names of objects. To serve it elsewhere, see Handler.
//
// It is safe for concurrent use, before, during and after Run.
func Mux(set *kinglet.Set, metrics http.Handler) *http.ServeMux {
	mux := http.NewServeMux()
	mux.HandleFunc("/healthz", func(w http.ResponseWriter, _ *http.Request) { writeText(w, http.StatusOK, "ok") })
	mux.HandleFunc("/readyz", func(w http.ResponseWriter, r *http.Request) {
		if err := set.Ready(r); err != nil {
			writeText(w, http.StatusServiceUnavailable, err.Error())
			return
		}
		writeText(w, http.StatusOK, "ok")
	})
	if metrics != nil {
		mux.Handle("/metrics", metrics)
	}
	page := Handler(set)
	mux.HandleFunc("/debug/kinglet/", func(w http.ResponseWriter, r *http.Request) {
		if !loopback(r) {
			http.Error(w, "the page is served on this machine's loopback address only: use kubectl port-forward", http.StatusForbidden)
			return
		}
		page.ServeHTTP(w, r)
	})
	return mux
}

func writeText(w http.ResponseWriter, code int, text string) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.Header().Set("X-Content-Type-Options", "nosniff")
	w.WriteHeader(code)
	_, _ = w.Write([]byte(text + "\n")) // an error means that the client has gone
}
