package page

import (
	"encoding/json"
	"io"
	"time"

	"github.com/kinglet-go/kinglet"
	"github.com/kinglet-go/kinglet/reflector"
)

// document is the page for programs. Times are RFC 3339, and unknown values are left out.
type document struct {
	Time        time.Time        `json:"time"`
	State       string           `json:"state"`
	Headline    string           `json:"headline"`
	Informers   []jsonInformer   `json:"informers"`
	Controllers []jsonController `json:"controllers"`
}

// jsonSubject is what informers and controllers have in common.
type jsonSubject struct {
	Name     string        `json:"name"`
	State    string        `json:"state"`
	Problems []jsonProblem `json:"problems"`
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
	jsonSubject
	Group           string            `json:"group"`
	Version         string            `json:"version"`
	Resource        string            `json:"resource"`
	Phase           string            `json:"phase"`
	Since           time.Time         `json:"since,omitzero"`
	Synced          bool              `json:"synced"`
	Objects         int               `json:"objects"`
	ResourceVersion string            `json:"resourceVersion"`
	LastContact     time.Time         `json:"lastContact,omitzero"`
	LastError       string            `json:"lastError,omitempty"`
	Events          uint64            `json:"events"`
	Lists           map[string]uint64 `json:"listsByCause"`
	Errors          uint64            `json:"errors"`
	Quarantined     int               `json:"quarantined"`
	ReadPath        string            `json:"readPath"`
	Handlers        []jsonHandler     `json:"handlers"`
	Transitions     []jsonTransition  `json:"transitions,omitempty"`
}

type jsonHandler struct {
	Name          string    `json:"name"`
	Synced        bool      `json:"synced"`
	Pending       int       `json:"pending"`
	OldestPending time.Time `json:"oldestPending,omitzero"`
	CallSince     time.Time `json:"callSince,omitzero"`
	Calls         uint64    `json:"calls"`
	Panics        uint64    `json:"panics"`
}

type jsonTransition struct {
	At    time.Time `json:"at"`
	From  string    `json:"from"`
	To    string    `json:"to"`
	Error string    `json:"error,omitempty"`
}

type jsonController struct {
	jsonSubject
	GateOpen  bool   `json:"gateOpen"`
	Workers   int    `json:"workers"`
	Queued    int    `json:"queued"`
	Running   int    `json:"running"`
	Waiting   int    `json:"waiting"`
	Failing   int    `json:"failing"`
	Succeeded uint64 `json:"succeeded"`
	Failed    uint64 `json:"failed"`
}

// writeJSON writes the document of the informers that match the filter, with the
// details of those that the query opens.
func (h *handler) writeJSON(w io.Writer, now time.Time, q query) error {
	informers, controllers := h.informers(now), h.controllers(now)
	sum := summarize(now, q, informers, controllers)
	doc := document{
		Time: now.UTC(), State: sum.state().String(), Headline: sum.headline(len(informers), len(controllers)),
		Informers: []jsonInformer{}, Controllers: []jsonController{},
	}
	sortInformers(informers, q)
	for _, i := range informers {
		if q.filter == "" || i.matches(q.filter) {
			doc.Informers = append(doc.Informers, i.json(q.isOpen(i.opens)))
		}
	}
	for _, c := range controllers {
		s := c.status
		doc.Controllers = append(doc.Controllers, jsonController{c.subject.json(), s.GateOpen, s.Workers, s.Queued, s.Running, s.Waiting, s.Failing, s.Succeeded, s.Failed})
	}
	return json.NewEncoder(w).Encode(doc)
}

func (s *subject) json() jsonSubject {
	out := jsonSubject{Name: s.name, State: s.worst.String(), Problems: []jsonProblem{}}
	for _, p := range s.problems {
		out.Problems = append(out.Problems, jsonProblem{p.Severity.String(), string(p.Cause), p.Since, p.What, p.Do, p.Over})
	}
	return out
}

func (i *informer) json(open bool) jsonInformer {
	s := i.status
	j := jsonInformer{
		jsonSubject: i.subject.json(), Group: s.Resource.Group, Version: s.Resource.Version, Resource: s.Resource.Resource,
		Phase: phase(s.Phase), Since: s.Since, Synced: s.Synced, Objects: s.Objects, ResourceVersion: s.ResourceVersion, LastContact: s.LastContact,
		Events: s.Events, Lists: map[string]uint64{}, Errors: s.Errors, Quarantined: s.Quarantined, ReadPath: s.ReadPath.Path.String(), Handlers: []jsonHandler{},
	}
	if s.LastError != nil {
		j.LastError = i.describe(s.LastError)
	}
	for c, n := range s.ListsByCause {
		j.Lists[reflector.ListCause(c).String()] = n
	}
	for k := range s.Handlers {
		h := &s.Handlers[k]
		j.Handlers = append(j.Handlers, jsonHandler{h.Name, h.Synced, h.Pending, h.OldestPending, h.CallSince, h.Calls.Count(), h.Panics})
	}
	if inspectable, ok := i.source.(kinglet.Inspectable); ok && open {
		for _, t := range inspectable.Inspect().Transitions {
			one := jsonTransition{At: t.At, From: t.From.String(), To: t.To.String()}
			if t.Err != nil {
				one.Error = i.describe(t.Err)
			}
			j.Transitions = append(j.Transitions, one)
		}
	}
	return j
}
