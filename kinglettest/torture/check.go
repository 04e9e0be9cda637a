package torture

import (
	"fmt"
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/types"

	"github.com/kinglet-go/kinglet/kinglettest/apiserver"
)

// mostViolations limits the violations that are kept of one trial. One fault often
// causes many alike.
const mostViolations = 50

// violated records a broken guarantee: its number, a comma, its name, a colon, and the
// evidence.
func (w *world) violated(format string, args ...any) {
	if len(w.broken) < mostViolations {
		w.broken = append(w.broken, fmt.Sprintf(format, args...))
	}
}

// check returns all violations. The informer and its handlers must have ended.
func (w *world) check() []string {
	t := truthOf(w.past, w.history(), w.restoration)
	for _, h := range w.handlers {
		w.checkHandler(t, h)
	}
	w.checkLooks(t)
	w.checkPrints(t)
	return w.broken
}

// atRest compares store, server and handlers after the trial.
func (w *world) atRest() {
	objs, _ := w.storage.List(apiserver.ConfigMaps.GroupResource())
	want := map[string]version{}
	for _, o := range objs {
		want[o.(Object).Name] = versionOf(o.(Object))
	}
	v := w.inf.View()
	have := map[string]version{}
	for _, o := range v.Objects {
		have[o.Name] = versionOf(o)
	}
	for i := range keys {
		name := nameOf(i)
		switch {
		case slices.Contains(v.Quarantined, name):
			// Guarantee 7: the last good version stays until the next one.
			w.quarantined++
		case want[name] != have[name]:
			w.violated("1, eventual equality: the server has %s at %s, the store %s", name, want[name], have[name])
		}
	}
	for _, h := range w.handlers {
		w.lastWords(h, have)
	}
}

// nameOf is the name of an object.
func nameOf(i int) string { return fmt.Sprintf("object-%d", i) }

// lastWords checks that the last events of a handler are what the store has.
func (w *world) lastWords(h *Recorder, have map[string]version) {
	h.mu.Lock()
	defer h.mu.Unlock()
	all := maps.Clone(have)
	maps.Copy(all, h.knows)
	for _, name := range sorted(all) {
		if a, b := have[name], h.knows[name]; a != b {
			w.violated("4, legal history: in the end the store has %s at %s, %s was told %s", name, a, h.Name, b)
		}
	}
	if !h.reg.Synced() {
		w.violated("6, synced means synced: %s never synced", h.Name)
	}
}

// account is what a handler knows of one key.
type account struct {
	known       version
	told, shown progress
}

// checkHandler checks all events that a handler received.
func (w *world) checkHandler(t *truth, h *Recorder) {
	events, lied := h.told()
	for _, l := range lied {
		w.violated("6, synced means synced: %s said so before %s", h.Name, l)
	}
	accounts := map[types.NamespacedName]*account{}
	var collection progress
	for i := range events {
		e := &events[i]
		a := accounts[e.key]
		if a == nil {
			a = &account{}
			accounts[e.key] = a
		}
		w.checkLegal(t, h, e, a)
		w.checkStore(t, h, e, a)
		if e.kind == "delete" {
			a.known = version{}
		} else {
			a.known = e.now
		}
		if before := collection.at; e.at != "" && !t.reach(&collection, number(e.at), e.when) {
			w.violated("2, order: %s saw the store at %s after %d", h.Name, e.at, before)
		}
	}
}

// checkLegal checks that an event follows from what the handler knew before, and from
// what happened on the server.
func (w *world) checkLegal(t *truth, h *Recorder, e *event, a *account) {
	s, real := t.states[e.key][e.now]
	known := a.known != (version{})
	switch {
	case !real:
		w.violated("2, order: %s was told of what never was: %v", h.Name, e)
	case e.kind == "add" && known:
		w.violated("4, legal history: %s was told %v, and knew %s", h.Name, e, a.known)
	case e.kind != "add" && !known:
		w.violated("4, legal history: %s was told %v, and knew of none", h.Name, e)
	case e.kind == "update" && e.old != a.known:
		w.violated("4, legal history: %s was told %v, and knew %s", h.Name, e, a.known)
	case e.kind == "update" && e.old.uid != e.now.uid:
		w.violated("4, legal history: %s was told %v, which are two objects", h.Name, e)
	case e.kind == "delete" && e.now.uid != a.known.uid:
		w.violated("4, legal history: %s was told %v, and knew %s", h.Name, e, a.known)
	case e.kind == "delete" && !e.unknown && !s.last:
		w.violated("4, legal history: %s was told %v, which is not the final state", h.Name, e)
	case e.kind != "delete" && s.last:
		w.violated("4, legal history: %s was told %v, which is a final state", h.Name, e)
	case e.kind == "delete" && t.ends[e.key][e.now.uid] == (end{}):
		w.violated("11, what is refused is not deleted: %s was told %v, which was never deleted", h.Name, e)
	}
	n := s.number
	if e.kind == "delete" {
		n = t.endFor(&a.told, e)
	}
	if before := a.told.at; n > 0 && !t.reach(&a.told, n, e.when) {
		w.violated("2, order: %s was told %v after version %d", h.Name, e, before)
	}
}

// endFor returns the version at which a deleted object ended, in the line of history
// that the handler has reached.
func (t *truth) endFor(p *progress, e *event) int64 {
	ends := t.ends[e.key][e.now.uid]
	if p.present || ends.past == 0 {
		return ends.present
	}
	return ends.past
}

// checkStore checks that the store was not behind the handler, and did not go back.
func (w *world) checkStore(t *truth, h *Recorder, e *event, a *account) {
	held, there := t.states[e.key][e.held]
	told := t.states[e.key][e.now].number
	switch {
	case e.kind == "delete":
		if e.held.uid == e.now.uid && !t.restored() {
			w.violated("10, the store is never behind the handler: %s was told %v", h.Name, e)
		}
	case there && t.behind(held.number, told), !there && t.ends[e.key][e.now.uid] == (end{}):
		w.violated("10, the store is never behind the handler: %s was told %v", h.Name, e)
	}
	if before := a.shown.at; there && !t.reach(&a.shown, held.number, e.when) {
		w.violated("2, order: the store showed %v after version %d", e, before)
	}
}
