package page

import (
	"encoding/json"
	"io"
	"time"

	"github.com/kinglet-go/kinglet/internal/trouble"
	"github.com/kinglet-go/kinglet/reflector"
	"github.com/kinglet-go/kinglet/status"
)

// document is the page for programs. Durations are in seconds, times are RFC 3339, and
// unknown values are left out.
type document struct {
	Time        time.Time      `json:"time"`
	State       string         `json:"state"`
	Headline    string         `json:"headline"`
	Informers   []jsonInformer `json:"informers"`
	Controllers []jsonControl  `json:"controllers"`
}

type jsonProblem struct {
	Severity string    `json:"severity"`
	Cause    string    `json:"cause"`
	Since    time.Time `json:"since,omitzero"`
	What     string    `json:"what"`
	Do       string    `json:"do"`
	Over     bool      `json:"over,omitempty"`
}

type jsonInformer struct {
	Name            string            `json:"name"`
	Group           string            `json:"group"`
	Version         string            `json:"version"`
	Resource        string            `json:"resource"`
	State           string            `json:"state"`
	Problems        []jsonProblem     `json:"problems"`
	Phase           string            `json:"phase"`
	Since           time.Time         `json:"since,omitzero"`
	Synced          bool              `json:"synced"`
	Degraded        bool              `json:"degraded"`
	Objects         int               `json:"objects"`
	Bytes           uint64            `json:"bytes"`
	ResourceVersion string            `json:"resourceVersion"`
	LastContact     time.Time         `json:"lastContact,omitzero"`
	LastEvent       time.Time         `json:"lastEvent,omitzero"`
	LastError       string            `json:"lastError,omitempty"`
	Events          uint64            `json:"events"`
	Bookmarks       uint64            `json:"bookmarks"`
	Lists           map[string]uint64 `json:"listsByCause"`
	WatchEnds       map[string]uint64 `json:"watchEnds"`
	Errors          uint64            `json:"errors"`
	Quarantined     int               `json:"quarantined"`
	Failures        uint64            `json:"failures"`
	ReadPath        string            `json:"readPath"`
	ReadPathWhy     string            `json:"readPathWhy,omitempty"`
	Handlers        []jsonHandler     `json:"handlers"`
	Transitions     []jsonTransition  `json:"transitions,omitempty"`
	Indexes         []jsonIndex       `json:"indexes,omitempty"`
}

type jsonHandler struct {
	Name          string    `json:"name"`
	Synced        bool      `json:"synced"`
	Pending       int       `json:"pending"`
	OldestPending time.Time `json:"oldestPending,omitzero"`
	CallSince     time.Time `json:"callSince,omitzero"`
	Calls         uint64    `json:"calls"`
	CallSeconds   float64   `json:"callSeconds"`
	Panics        uint64    `json:"panics"`
}

type jsonTransition struct {
	At    time.Time `json:"at"`
	From  string    `json:"from"`
	To    string    `json:"to"`
	Error string    `json:"error,omitempty"`
}

type jsonIndex struct {
	Name    string `json:"name"`
	Values  int    `json:"values"`
	Entries int    `json:"entries"`
	Bytes   int64  `json:"bytes"`
}

type jsonControl struct {
	Name         string        `json:"name"`
	State        string        `json:"state"`
	Problems     []jsonProblem `json:"problems"`
	GateOpen     bool          `json:"gateOpen"`
	GateReason   string        `json:"gateReason,omitempty"`
	Workers      int           `json:"workers"`
	Queued       int           `json:"queued"`
	Running      int           `json:"running"`
	Waiting      int           `json:"waiting"`
	Failing      int           `json:"failing"`
	OldestQueued time.Time     `json:"oldestQueued,omitzero"`
	Succeeded    uint64        `json:"succeeded"`
	Failed       uint64        `json:"failed"`
}

// writeJSON writes the document of the informers that match the filter, with the
// details of those that the query opens.
func (h *handler) writeJSON(w io.Writer, now time.Time, q query) error {
	informers := h.opts.Informers()
	all := entries(now, informers, statuses(informers))
	sorted(all, q)
	sum := summary{now: now}
	doc := document{Time: now.UTC(), Informers: []jsonInformer{}, Controllers: []jsonControl{}}
	for k := range all {
		e := all[k]
		sum.add(e.name, "", e.problems)
		if q.filter == "" || e.matches(q.filter) {
			doc.Informers = append(doc.Informers, e.json(q.isOpen(e.name)))
		}
	}
	controllers := h.opts.Controllers()
	reports := make([]status.Controller, len(controllers))
	for k := range controllers {
		reports[k] = controllers[k].Report()
	}
	for k, name := range status.ControllerNames(reports) {
		c := &reports[k]
		problems := c.Problems(now)
		sum.add(name, "", problems)
		doc.Controllers = append(doc.Controllers, jsonControl{
			Name: name, State: worst(problems), Problems: jsonProblems(problems), GateOpen: c.GateOpen, GateReason: c.GateReason,
			Workers: c.Workers, Queued: c.Queued, Running: c.Running, Waiting: c.Waiting, Failing: c.Failing,
			OldestQueued: c.OldestQueued, Succeeded: c.Succeeded, Failed: c.Failed,
		})
	}
	doc.State, doc.Headline = sum.state(), sum.headline(len(all), len(controllers))
	return json.NewEncoder(w).Encode(doc)
}

func worst(problems []status.Problem) string {
	if len(problems) == 0 {
		return status.OK.String()
	}
	return problems[0].Severity.String()
}

func jsonProblems(problems []status.Problem) []jsonProblem {
	out := make([]jsonProblem, len(problems))
	for k, p := range problems {
		out[k] = jsonProblem{p.Severity.String(), string(p.Cause), p.Since, p.What, p.Do, p.Over}
	}
	return out
}

func (e *entry) json(open bool) jsonInformer {
	s := e.status
	j := jsonInformer{
		Name: e.name, Group: s.Resource.Group, Version: s.Resource.Version, Resource: s.Resource.Resource,
		State: e.worst.String(), Problems: jsonProblems(e.problems), Phase: phase(s.Phase), Since: s.Since, Synced: s.Synced, Degraded: s.Degraded,
		Objects: s.Objects, Bytes: s.Bytes, ResourceVersion: s.ResourceVersion, LastContact: s.LastContact, LastEvent: s.LastEvent,
		Events: s.Events, Bookmarks: s.Bookmarks, Lists: map[string]uint64{}, WatchEnds: map[string]uint64{}, Errors: s.Errors,
		Quarantined: s.Quarantined, Failures: s.Failures, ReadPath: s.ReadPath.Path.String(), Handlers: []jsonHandler{},
	}
	if s.LastError != nil {
		j.LastError = describe(s.LastError, s)
	}
	if s.ReadPath.Why != nil {
		j.ReadPathWhy = trouble.Line(s.ReadPath.Why)
	}
	for c, n := range s.ListsByCause {
		j.Lists[reflector.ListCause(c).String()] = n
	}
	for w, n := range s.WatchEnds {
		j.WatchEnds[reflector.WatchEnd(w).String()] = n
	}
	for k := range s.Handlers {
		h := &s.Handlers[k]
		j.Handlers = append(j.Handlers, jsonHandler{
			Name: h.Name, Synced: h.Synced, Pending: h.Pending, OldestPending: h.OldestPending, CallSince: h.CallSince,
			Calls: h.Calls.Count(), CallSeconds: h.Calls.Sum.Seconds(), Panics: h.Panics,
		})
	}
	if open && e.source.Inspect != nil {
		in := e.source.Inspect()
		for _, x := range in.Indexes {
			j.Indexes = append(j.Indexes, jsonIndex{x.Name, x.Values, x.Entries, x.Bytes})
		}
		for _, t := range in.Transitions {
			one := jsonTransition{At: t.At, From: t.From.String(), To: t.To.String()}
			if t.Err != nil {
				one.Error = describe(t.Err, s)
			}
			j.Transitions = append(j.Transitions, one)
		}
	}
	return j
}
