package torture

import (
	"cmp"
	"maps"
	"slices"
	"sync"
	"testing/synctest"
	"time"
)

// looks are the observed states of the store, in order.
type looks struct {
	mu   sync.Mutex
	seen []look // guarded by mu
}

// look is one of them.
type look struct {
	version string
	has     map[string]version
	when    time.Time
	// rest: nothing was under way.
	rest        bool
	quarantined []string
	// degraded: the informer reports that its state may not be that of its version.
	degraded bool
	wrong    string
}

// glance observes a store that may be busy, if the engine has snapshots.
func (w *world) glance() {
	v := w.inf.View()
	w.note(&v, false)
}

// look waits until all goroutines are idle, and observes the store.
func (w *world) look() {
	synctest.Wait()
	v := w.inf.View()
	has := w.note(&v, true)
	w.checkTrouble(&v)
	if v.Version == "" {
		return // before the first list
	}
	for _, h := range w.handlers {
		w.checkPrompt(h, has)
	}
}

// note records a state.
func (w *world) note(v *View, rest bool) map[string]version {
	l := look{version: v.Version, has: map[string]version{}, when: time.Now(), rest: rest, quarantined: v.Quarantined, degraded: v.Degraded}
	for _, o := range v.Objects {
		l.has[o.Name] = versionOf(o)
		w.prints.take(o)
	}
	switch {
	case v.Err != nil:
		l.wrong = v.Err.Error()
	case !rest && !w.engine.Snapshots:
	default:
		l.wrong = wrongIndex(v)
	}
	w.looks.mu.Lock()
	defer w.looks.mu.Unlock()
	w.looks.seen = append(w.looks.seen, l)
	return l.has
}

// wrongIndex compares the index with the objects.
func wrongIndex(v *View) string {
	filed := map[Object]string{}
	for value, objs := range v.ByValue {
		for _, o := range objs {
			if was, twice := filed[o]; twice {
				return o.Name + " stands under " + was + " and " + value + " in the index"
			}
			filed[o] = value
		}
	}
	for _, o := range v.Objects {
		if got := filed[o]; got != o.Data["value"] {
			return o.Name + " has the value " + o.Data["value"] + " and stands under " + cmp.Or(got, "nothing") + " in the index"
		}
	}
	if len(filed) > len(v.Objects) {
		return "the index has objects that the store has not"
	}
	return ""
}

// checkTrouble checks that every version that could not be decoded was reported, and that
// no other was refused.
func (w *world) checkTrouble(v *View) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if v.Reported >= 0 && v.Failures != v.Reported {
		w.violated("7, nothing is dropped in silence: %d versions could not be taken in, and %d were reported", v.Failures, v.Reported)
	}
	var sent int64
	for _, n := range w.damaged {
		sent += n
	}
	// Duplicate sends an event twice, and asks once whether to damage it.
	if v.Failures > 2*sent+w.strangers {
		w.violated("7, nothing is dropped in silence: %d versions could not be taken in, and %d were damaged, and %d of another kind", v.Failures, sent, w.strangers)
	}
	for _, name := range v.Quarantined {
		if w.damaged[name] == 0 {
			w.violated("7, nothing is dropped in silence: %s is in quarantine, and was never damaged", name)
		}
	}
}

// checkPrompt checks that a handler that returns at once knows what the store has and
// has nothing pending, however slow the others are, and that what is pending for a slow
// one is bounded.
func (w *world) checkPrompt(h *Recorder, has map[string]version) {
	h.mu.Lock()
	defer h.mu.Unlock()
	synced := h.reg.Synced()
	if h.slow == 0 {
		if !synced {
			w.violated("6, synced means synced: %s has nothing to do and is not", h.Name)
		} else if !maps.Equal(h.knows, has) {
			w.violated("5, a stalled handler delays nobody: the store has %v, %s was told %v", inWords(has), h.Name, inWords(h.knows))
		}
	}
	if h.reg.Pending == nil {
		return
	}
	// Until the initial list has been handled, it is pending beside the queue.
	most := keys
	if !synced {
		most = 2 * keys
	}
	if n := h.reg.Pending(); n > most || h.slow == 0 && n > 0 {
		w.violated("5, bounded memory: %d records wait for %s, of %d keys", n, h.Name, keys)
	}
}

// inWords returns versions by name, in order.
func inWords(m map[string]version) []string {
	var out []string
	for _, name := range sorted(m) {
		out = append(out, name+" "+m[name].String())
	}
	return out
}

func sorted[K cmp.Ordered, V any](m map[K]V) []K { return slices.Sorted(maps.Keys(m)) }

// checkLooks compares the observed states with the server's.
func (w *world) checkLooks(t *truth) {
	w.looks.mu.Lock()
	defer w.looks.mu.Unlock()
	known := map[string]map[string]version{}
	var p progress
	for i := range w.looks.seen {
		l := &w.looks.seen[i]
		if l.wrong != "" {
			w.violated("3, consistent snapshots: %s", l.wrong)
		}
		if l.version == "" {
			continue
		}
		if before := p.at; l.rest && !t.reach(&p, number(l.version), l.when) {
			w.violated("2, order: a reader saw the store at %s after %d", l.version, before)
		}
		if w.plan.Restarts && t.restored() && !l.when.Before(t.at) && (l.degraded || !l.rest) {
			continue // until it has listed again, it has what is lost
		}
		if known[l.version] == nil {
			known[l.version] = t.contents(number(l.version))
		}
		w.compare(l, known[l.version])
	}
}

// compare checks that an observed state is the server's at its version.
func (w *world) compare(l *look, was map[string]version) {
	for i := range keys {
		name := nameOf(i)
		if was[name] == l.has[name] || slices.Contains(l.quarantined, name) || !l.rest && w.damaged[name] > 0 {
			continue
		}
		// A handler observes the store at another moment than the list of quarantined
		// objects.
		if w.damaged[name] > 0 {
			w.violated("7, nothing is dropped in silence: at %s the server had %s at %s, the store has %s, and nobody says that it was damaged",
				l.version, name, was[name], l.has[name])
			continue
		}
		w.violated("3, consistent snapshots: at %s the server had %s at %s, the store has %s", l.version, name, was[name], l.has[name])
	}
}
