package faults_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/kinglet-go/kinglet"
	"github.com/kinglet-go/kinglet/internal/tests/testbubble"
	"github.com/kinglet-go/kinglet/kinglettest/apiserver"
	"github.com/kinglet-go/kinglet/page"
	"github.com/kinglet-go/kinglet/status"
)

// named is a fault, and the name that the page gives it.
type named struct {
	name  string
	setup setup
	// before lets time pass until the fault begins; a second if nil.
	before func(r *rig)
	// begins makes the fault begin. If it is nil, the setup's script does.
	begins func(r *rig)
	// known is how long after its beginning a fault can be told from a server
	// that has nothing to say; 5 s later it must be on the page.
	known time.Duration
	cause status.Cause
	// or is another name, where it depends on how far the watch before had come.
	or status.Cause
	// ends has the server well again.
	ends func(r *rig)
	// typed: package cache takes it for something else.
	typed bool
	// do is a part of what to do about it.
	do string
}

// onWatch has every watch from now on meet a fault.
func onWatch(f apiserver.Fault) func(r *rig) {
	return func(r *rig) {
		r.arm(apiserver.Script{{Match: apiserver.On("watch"), Times: -1, Fault: f}})
		r.disconnect(func() { r.put("o1", "2") })
	}
}

// onAll has every request meet a fault.
func onAll(f apiserver.Fault) func(r *rig) {
	return func(r *rig) {
		r.arm(apiserver.Script{{Times: -1, Fault: f}})
		r.disconnect(func() { r.put("o1", "2") })
	}
}

// first has the first lists meet a fault.
func first(f apiserver.Fault, times int) setup {
	return setup{server: paged, script: apiserver.Script{{Match: apiserver.On("list"), Times: times, Fault: f}}}
}

func answer(err error) apiserver.Fault { return apiserver.Fault{Answer: err} }

// mended has the object written again, as it decodes.
func mended(r *rig) {
	r.arm(nil)
	r.disconnect(func() { r.put("o1", "3") })
}

func faults() []named {
	resource := apiserver.ConfigMaps.GroupResource()
	forbidden := apierrors.NewForbidden(resource, "", errors.New(`User "system:serviceaccount:shop:reader" cannot list resource "configmaps" in API group "" at the cluster scope`))
	notFound := apierrors.NewGenericServerResponse(http.StatusNotFound, "list", resource, "", "", 0, false)
	invalid := apierrors.NewBadRequest("field label not supported")
	// Three bookmarks are to be seen before a missing one says anything.
	aged := func(r *rig) {
		for range 6 {
			r.storage.Skip(1) // which the next bookmark says
			testbubble.Elapse(time.Minute)
		}
	}
	return []named{
		{name: "a list is forbidden", setup: first(answer(forbidden), -1), cause: status.CauseForbidden, do: "grant list and watch on configmaps to system:serviceaccount:shop:reader (a ClusterRole"},
		{name: "access is revoked", begins: onAll(answer(forbidden)), cause: status.CauseForbidden, do: "grant list and watch on configmaps"},
		{name: "authentication expires", setup: setup{server: apiserver.Options{Token: "first"}}, cause: status.CauseUnauthorized, do: "renew", begins: func(r *rig) {
			r.server.SetToken("second")
			r.server.Disconnect()
		}, ends: func(r *rig) { r.server.SetToken("first") }},
		{name: "the definition is deleted", begins: onAll(answer(notFound)), cause: status.CauseNotFound, do: "install the definition of"},
		{name: "the request is refused", setup: first(answer(invalid), -1), cause: status.CauseInvalidRequest, do: "selectors"},
		{name: "connections are refused", begins: onAll(apiserver.Fault{Refuse: true}), cause: status.CauseUnreachable, do: "API server runs"},
		{name: "the server was never there", setup: setup{script: apiserver.Script{{Times: -1, Fault: apiserver.Fault{Refuse: true}}}}, cause: status.CauseUnreachable, do: "API server runs"},
		{name: "a list is reset in its middle", setup: first(apiserver.Fault{CutAfter: 50}, 3), cause: status.CauseUnreachable, do: "reaches"},
		{name: "initial events are reset in their middle", cause: status.CauseUnreachable, do: "reaches",
			setup: setup{script: apiserver.Script{{Match: apiserver.On("watch-list"), Times: 3, Fault: apiserver.Fault{CutAfter: 50}}}}},
		{name: "watches are reset", begins: onWatch(apiserver.Fault{CutAfter: -1}), cause: status.CauseUnreachable, do: "reaches"},
		{name: "a 410 on list", setup: first(answer(expired()), 1), cause: status.CauseExpired, do: "lists again"},
		{name: "a 410 on watch", cause: status.CauseExpired, do: "lists again", begins: func(r *rig) {
			r.arm(apiserver.Script{{Match: apiserver.On("watch"), Fault: answer(expired())}})
			r.disconnect(func() { r.put("o0", "2") })
		}},
		{name: "a compaction", cause: status.CauseExpired, do: "history", begins: func(r *rig) {
			r.disconnect(func() {
				r.put("o0", "2")
				r.put("o0", "3")
				r.storage.Compact(r.storage.Revision())
			})
		}},
		{name: "a 429 on list", setup: first(answer(throttled()), 3), cause: status.CauseThrottled, do: "priority_and_fairness"},
		{name: "a 429 on watch-list", cause: status.CauseThrottled, do: "priority_and_fairness",
			setup: setup{script: apiserver.Script{{Match: apiserver.On("watch-list"), Times: 2, Fault: answer(throttled())}}}},
		{name: "a 429 on watch", begins: onWatch(answer(throttled())), cause: status.CauseThrottled, do: "priority_and_fairness"},
		{name: "500 on list", setup: first(answer(internal()), 3), cause: status.CauseServerError, do: "etcd"},
		{name: "502 on list", setup: first(answer(badGateway()), 3), cause: status.CauseServerError, do: "etcd"},
		{name: "503 on watch", begins: onWatch(answer(unavailable())), cause: status.CauseServerError, do: "log"},
		{name: "an error event", begins: onWatch(apiserver.Fault{EndAfter: -1, End: internal()}), cause: status.CauseServerError, do: "etcd"},
		{name: "watches end at once", begins: onWatch(apiserver.Fault{EndAfter: -1}), cause: status.CauseShortWatch, do: "ends watches at once"},
		{name: "initial events whose end never comes", known: 10 * time.Second, cause: status.CauseStalled, do: "passes nothing on",
			setup: setup{script: apiserver.Script{{Match: apiserver.On("watch-list"), Times: -1, Fault: apiserver.Fault{NoBookmarks: true}}}}},
		{name: "a half-open connection under initial events", known: 10 * time.Second, cause: status.CauseStalled, do: "keeps the connection",
			setup: setup{script: apiserver.Script{{Match: apiserver.On("watch-list"), Times: -1, Fault: apiserver.Fault{StallAfter: -1}}}}},
		{name: "a half-open connection under a list", cause: status.CauseNotSynced, do: "wait", setup: first(apiserver.Fault{StallAfter: -1}, 1)},
		// What is missing first is the next bookmark, a minute after the last.
		{name: "a watch that falls silent", before: aged, known: time.Minute + 5*time.Second, cause: status.CauseSilent, do: "new watch",
			begins: onWatch(apiserver.Fault{NoBookmarks: true})},
		{name: "a half-open connection under a resumed watch", before: aged, known: time.Minute + 5*time.Second, cause: status.CauseSilent, or: status.CauseUnreachable, do: "API server",
			begins: func(r *rig) {
				onWatch(apiserver.Fault{StallAfter: -1})(r)
				testbubble.Elapse(3 * time.Second) // the next watch has begun: until then the disconnect is named
			}},
		{name: "an object that does not decode", cause: status.CauseQuarantine, do: "Quarantine",
			setup: setup{json: true, server: paged, script: apiserver.Script{{Match: apiserver.On("list"), Times: -1, Fault: damaged}}}, ends: mended},
		{name: "an event that does not decode", setup: setup{json: true}, begins: onWatch(damaged), ends: mended, cause: status.CauseQuarantine, do: "the reason"},
		{name: "an object without a name", typed: true, cause: status.CauseDegraded, do: "lists again", begins: onWatch(apiserver.Fault{
			Stranger: stranger(func(_, version string) runtime.Object {
				return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "default", ResourceVersion: version}}
			})})},
		{name: "an unknown type of event", begins: onWatch(apiserver.Fault{EndAfter: 1, Type: "EXPLODED"}), cause: status.CauseDegraded, do: "lists again"},
		{name: "a version that is too large", setup: setup{server: paged}, cause: status.CauseRelisting, do: "state of before", begins: func(r *rig) {
			r.arm(apiserver.Script{
				{Match: func(q *apiserver.Request) bool { return q.Verb == "list" && name(q) != "probe" }, Times: 8, Fault: answer(tooLarge())},
				{Match: apiserver.On("watch"), Fault: answer(expired())},
			})
			r.disconnect(func() { r.put("o0", "2") })
		}},
		{name: "a server that lags behind", cause: status.CauseProtocol, do: "behind the others", begins: func(r *rig) {
			r.put("o0", "2")
			r.put("o3", "1")
			r.remove("o1")
			testbubble.Elapse(time.Second)
			r.arm(apiserver.Script{
				{Match: func(q *apiserver.Request) bool { return q.Verb == "list" || q.WatchList() }, Times: 2, Fault: apiserver.Fault{Behind: 3}},
				{Match: apiserver.On("watch"), Fault: answer(expired())},
			})
			r.server.Disconnect()
		}},
		// It is told from a server that is late by four lists and the waits between.
		{name: "a restored server", known: 2*time.Minute + 15*time.Second, cause: status.CauseRestored, do: "after the backup", begins: func(r *rig) {
			backup := r.restorable()
			r.disconnect(func() {
				r.restore(backup)
				r.put("o4", "1")
			})
		}},
		{name: "a handler that stands still", cause: status.CauseHandlerStalled, do: "stack", begins: func(r *rig) {
			r.told.stall(time.Minute)
			r.put("o0", "2")
		}},
	}
}

// view is what somebody sees of an informer.
type view struct {
	// wrong says what is wrong, if anything is, before the fault begins.
	wrong func() string
	// named reports whether the fault is named.
	named func() bool
	// seen says what was seen in its place.
	seen func() string
}

// eachFaultIsNamed plays each fault, and fails unless a view of its informer names it
// within five seconds of when it can be known, and not before it begins.
func eachFaultIsNamed(t *testing.T, open func(r *rig, f *named, set *kinglet.Set) view) {
	for _, f := range faults() {
		t.Run(f.name, func(t *testing.T) {
			tried := engines()
			if f.typed {
				tried = tried[:1]
			}
			over(t, tried, f.setup, func(r *rig) {
				if f.ends != nil {
					defer f.ends(r)
				}
				set := kinglet.NewSet()
				defer set.Observe(r.inf)()
				v := open(r, &f, set)
				if f.begins != nil {
					testbubble.Elapse(time.Second)
					if !r.inf.HasSynced() {
						t.Fatal("has not synced")
					}
					if f.before != nil {
						f.before(r)
					}
					if wrong := v.wrong(); wrong != "" {
						t.Fatalf("before anything is wrong, it says: %s", wrong)
					}
					f.begins(r)
				}
				for began := time.Now(); time.Since(began) < f.known+5*time.Second; {
					testbubble.Elapse(200 * time.Millisecond)
					if v.named() {
						t.Logf("named after %v", time.Since(began))
						return
					}
				}
				t.Errorf("%s is not named, but %s", f.cause, v.seen())
			})
		})
	}
}

// It holds through HTTP, for the page and for its document.
func TestThePageNamesEachFaultWithinFiveSecondsOfWhenItCanBeKnown(t *testing.T) {
	eachFaultIsNamed(t, func(r *rig, f *named, set *kinglet.Set) view {
		shown := page.Handler(set)
		var seen []string
		return view{
			wrong: func() string { return strings.Join(onPage(r.t, shown, ""), ", ") },
			named: func() bool {
				causes := onPage(r.t, shown, f.do)
				if slices.Contains(causes, string(f.cause)) || f.or != "" && slices.Contains(causes, string(f.or)) {
					return true
				}
				st := r.inf.Status()
				if text := fmt.Sprintf("%v %+v", st.BookmarkInterval, st.Problems(time.Now())); !slices.Contains(seen, text) {
					seen = append(seen, text)
				}
				return false
			},
			seen: func() string { return strings.Join(seen, "\n") },
		}
	})
}

// onPage returns the causes that the page's document names, and checks that the page
// says the same, and what to do about it if that has a part.
func onPage(t *testing.T, h http.Handler, do string) (causes []string) {
	t.Helper()
	get := func(target string) string {
		w := httptest.NewRecorder()
		h.ServeHTTP(w, httptest.NewRequest(http.MethodGet, target, nil))
		if w.Code != http.StatusOK {
			t.Fatalf("%s: %d", target, w.Code)
		}
		return w.Body.String()
	}
	var doc struct {
		Informers []struct {
			Name     string
			Problems []struct{ Cause, Do string }
		}
	}
	if err := json.Unmarshal([]byte(get("/?format=json")), &doc); err != nil {
		t.Fatal(err)
	}
	// All that it says of an informer stands where that is unfolded.
	page := get("/?open=" + strings.ReplaceAll(doc.Informers[0].Name, "/", "%2F"))
	for _, p := range doc.Informers[0].Problems {
		if words := strings.ReplaceAll(p.Cause, "_", " "); !strings.Contains(page, "<b>"+words+"</b>") {
			t.Errorf("the page does not name %s", words)
		}
		if strings.Contains(p.Do, do) {
			causes = append(causes, p.Cause)
		}
	}
	return causes
}
