package torture_test

import (
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"strings"
	"syscall"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// refusal is a class of refusals. Over HTTP it is an answer with code and body, or err
// from the transport if code is 0; a fake returns err.
type refusal struct {
	name string
	code int
	// content is the type of body.
	content, body string
	err           error
}

// refusals returns all classes.
func refusals() []refusal {
	gr := schema.GroupResource{}
	busy := apierrors.NewTooManyRequests("slow down", 0)
	later := apierrors.NewTooManyRequests("slow down", 1)
	gone := &apierrors.StatusError{ErrStatus: metav1.Status{Status: metav1.StatusFailure, Code: http.StatusGone, Reason: metav1.StatusReasonGone}}
	all := []refusal{
		{name: "unauthorized", err: apierrors.NewUnauthorized("no")},
		{name: "forbidden", err: apierrors.NewForbidden(gr, "", errors.New("RBAC: no"))},
		{name: "not found", err: apierrors.NewNotFound(gr, "")},
		{name: "method not supported", err: apierrors.NewMethodNotSupported(gr, "watch")},
		{name: "not acceptable", err: apierrors.NewGenericServerResponse(http.StatusNotAcceptable, "get", gr, "", "", 0, true)},
		{name: "conflict", err: apierrors.NewConflict(gr, "", errors.New("no"))},
		{name: "bad request", err: apierrors.NewBadRequest("no")},
		{name: "invalid", err: apierrors.NewInvalid(schema.GroupKind{}, "", nil)},
		{name: "expired", err: apierrors.NewResourceExpired("too old")},
		{name: "gone", err: gone},
		{name: "throttled", err: busy},
		{name: "throttled, with Retry-After", err: later},
		{name: "internal error", err: apierrors.NewInternalError(errors.New("etcdserver: no leader"))},
		{name: "unavailable", err: apierrors.NewServiceUnavailable("not now")},
		{name: "timeout", err: apierrors.NewTimeoutError("too late", 0)},
		{name: "odd code", err: apierrors.NewGenericServerResponse(http.StatusTeapot, "get", gr, "", "", 0, true)},
	}
	for i := range all {
		st := all[i].err.(apierrors.APIStatus).Status()
		st.Kind, st.APIVersion = "Status", "v1"
		all[i].code, all[i].content, all[i].body = int(st.Code), "application/json", encode(&st)
	}
	odd := errors.New("the answer cannot be read")
	return append(all,
		refusal{name: "plain error", err: errors.New("no")},
		refusal{name: "connection refused", err: syscall.ECONNREFUSED},
		refusal{name: "connection reset", err: syscall.ECONNRESET},
		refusal{name: "closed", err: io.EOF},
		refusal{name: "page of a proxy", code: http.StatusBadGateway, content: "text/html", body: "<html>Bad Gateway</html>", err: odd},
		refusal{name: "page to log in", code: http.StatusOK, content: "text/html", body: "<html>Who are you?</html>", err: odd},
		refusal{name: "403 without a body", code: http.StatusForbidden, err: odd},
		refusal{name: "plain 404", code: http.StatusNotFound, content: "text/plain", body: "404 page not found\n", err: odd},
		refusal{name: "Status with 200", code: http.StatusOK, content: "application/json", err: odd,
			body: `{"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure","message":"no","code":500}` + "\n"},
		refusal{name: "Status without a code", code: http.StatusInternalServerError, content: "application/json", err: odd,
			body: `{"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure"}`},
	)
}

// verbs that can be refused.
const (
	list = iota
	stream
	watches
	verbs
)

// phase is a span in which the roles stay the same.
type phase struct {
	lasts time.Duration
	// refused has what is refused, by verb; nil is granted.
	refused [verbs]*refusal
	// times is how many requests of each verb are refused; 0 for all.
	times int
	// disconnect breaks all connections when the phase begins, compact forgets the
	// history, and restart empties the server between the first list and the watch after
	// it.
	disconnect, compact, restart bool
	// writes are how long after the phase began there is one.
	writes []time.Duration
}

// good reports whether a verb is refused for as long as the phase lasts.
func (p *phase) good(verb int) bool { return p.refused[verb] != nil && p.times == 0 }

// kinds of servers.
const (
	wire     = iota // config maps, read from the wire by what can
	closures        // config maps, by functions over a clientset
	fakes           // config maps of a fake clientset with reactors
	custom          // custom resources, by functions over a dynamic client
	kinds
)

// kinds of history. A server without one sends no bookmarks and knows no watch-lists.
const (
	kept        = iota
	fromNow     // a watch begins when it is opened, whatever its version
	versionless // nothing has a version, and each watch begins with all objects
	histories
)

// rolePlan is determined by a seed.
type rolePlan struct {
	seed uint64
	kind int
	// streams: the server knows watch-lists, or the fake does not say that it has none.
	streams bool
	// proto: in protobuf.
	proto bool
	// opaque: versions are no numbers.
	opaque bool
	// history is what a watch sends of what happened before it.
	history int
	// listKind is the kind of a list; empty for the right one.
	listKind string
	// version is that of custom resources.
	version string
	before  int
	phases  []phase
}

// planOfRoles returns the plan of a seed.
//
// The last phase lasts long enough for every client to have learnt what it can. If
// something is refused for as long as that, then either it is the only phase, or the one
// before grants everything, so that what clients had before does not depend on chance.
func planOfRoles(seed uint64) *rolePlan {
	rnd := rand.New(rand.NewPCG(seed, 7))
	p := &rolePlan{seed: seed, kind: rnd.IntN(kinds), streams: rnd.IntN(3) > 0, before: rnd.IntN(roleKeys)}
	switch p.kind {
	case custom:
		p.version = []string{"v1", "v1alpha1", "v2beta1x", "stable", "2024-01-01", "v2024-01-01"}[rnd.IntN(6)]
	case wire, closures:
		if p.proto = rnd.IntN(2) == 0; !p.proto {
			// Not List: client-go takes that for an empty list, and kinglet refuses it.
			p.listKind = []string{"", "", "", "ConfigMapsList", "Table"}[rnd.IntN(5)]
		}
	}
	p.opaque = p.kind != fakes && !p.proto && rnd.IntN(4) == 0
	if p.kind != fakes && !p.proto && !p.opaque {
		p.history = rnd.IntN(2) * rnd.IntN(histories)
		p.streams = p.streams && p.history == kept
	}
	for range rnd.IntN(4) {
		ph := phaseOf(rnd, p.kind, 3*time.Minute)
		ph.compact, ph.restart = rnd.IntN(4) == 0, p.kind != fakes && rnd.IntN(6) == 0
		p.phases = append(p.phases, ph)
	}
	last := phaseOf(rnd, p.kind, time.Minute)
	if last.times == 0 && len(p.phases) > 0 {
		p.phases = append(p.phases, phase{lasts: 5 * time.Minute})
	}
	last.lasts, last.disconnect = horizon, true
	p.phases = append(p.phases, last)
	for i := range p.phases {
		// A dynamic client reads that as an empty list, and a watch from no version then
		// begins without what exists.
		if r := &p.phases[i].refused[list]; p.history == fromNow && *r != nil && (*r).name == "Status with 200" {
			*r = nil
		}
	}
	return p
}

// horizon is the length of the last phase.
const horizon = 40 * time.Minute

// phaseOf draws a phase whose writes come within a span.
func phaseOf(rnd *rand.Rand, kind int, span time.Duration) phase {
	all := refusals()
	ph := phase{lasts: time.Duration(rnd.Int64N(int64(span))), disconnect: rnd.IntN(4) > 0}
	if rnd.IntN(2) == 0 {
		ph.times = 1 + rnd.IntN(3)
	}
	r := &all[rnd.IntN(len(all))]
	if kind == fakes && errors.Is(r.err, syscall.ECONNREFUSED) {
		// A fake does not return that. Client-go does not list after it either, since a
		// server that restarts has lost nothing.
		r = &all[0]
	}
	switch rnd.IntN(6) {
	case 0, 1:
		ph.refused[stream], ph.refused[watches] = r, r
	case 2:
		ph.refused[list] = r
	case 3:
		ph.refused[stream] = r
	case 4:
		ph.refused = [verbs]*refusal{r, r, r}
		if rnd.IntN(2) == 0 {
			ph.refused[list] = &all[rnd.IntN(len(all))]
		}
	}
	for range rnd.IntN(6) {
		ph.writes = append(ph.writes, time.Duration(rnd.Int64N(int64(min(span, ph.lasts+1)))))
	}
	return ph
}

// String describes the plan.
func (p *rolePlan) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "seed %d: %s", p.seed, [kinds]string{"wire", "closures", "fake clientset", "custom resource " + p.version}[p.kind])
	for _, is := range []struct {
		so   bool
		what string
	}{{!p.streams, "no watch-lists"}, {p.proto, "protobuf"}, {p.opaque, "versions that are no numbers"}, {p.listKind != "", "lists of kind " + p.listKind},
		{p.history == fromNow, "no history"}, {p.history == versionless, "no versions"}} {
		if is.so {
			b.WriteString(", " + is.what)
		}
	}
	fmt.Fprintf(&b, ", %d objects before\n", p.before)
	for i := range p.phases {
		ph := &p.phases[i]
		fmt.Fprintf(&b, "  %v:", ph.lasts.Round(time.Millisecond))
		for verb, r := range ph.refused {
			if r != nil {
				fmt.Fprintf(&b, " %s refused (%s),", [verbs]string{"list", "watch-list", "watch"}[verb], r.name)
			}
		}
		if ph.times > 0 {
			fmt.Fprintf(&b, " %d times,", ph.times)
		}
		fmt.Fprintf(&b, " %d writes", len(ph.writes))
		for _, is := range []struct {
			so   bool
			what string
		}{{ph.disconnect, "connections broken"}, {ph.compact, "compacted"}, {ph.restart, "restarts before a watch"}} {
			if is.so {
				b.WriteString(", " + is.what)
			}
		}
		b.WriteString("\n")
	}
	return b.String()
}
