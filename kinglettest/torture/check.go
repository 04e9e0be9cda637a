package torture

import (
	"fmt"
	"maps"
	"slices"
	"strconv"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/kinglet-go/kinglet/kinglettest/apiserver"
)

// truth is what really was: the number of each version of each object, in the
// order of the writes.
type truth struct {
	states map[types.NamespacedName]map[version]int64
	ends   map[types.NamespacedName]map[types.UID]int64
}

func truthOf(changes []apiserver.Change) *truth {
	t := &truth{map[types.NamespacedName]map[version]int64{}, map[types.NamespacedName]map[types.UID]int64{}}
	for i := range changes {
		ch := &changes[i]
		key := ch.Key()
		if t.states[key] == nil {
			t.states[key], t.ends[key] = map[version]int64{}, map[types.UID]int64{}
		}
		v := versionOf(ch.Object.(Object))
		t.states[key][v] = ch.Revision
		if ch.Type == watch.Deleted {
			t.ends[key][v.uid] = ch.Revision
		}
	}
	return t
}

// atRest compares store, server and handlers once all is over.
func (w *world) atRest() {
	objs, _ := w.storage.List(apiserver.ConfigMaps.GroupResource())
	want := map[types.NamespacedName]Object{}
	for _, o := range objs {
		cm := o.(Object)
		want[types.NamespacedName{Namespace: cm.Namespace, Name: cm.Name}] = cm
	}
	have := map[types.NamespacedName]Object{}
	for _, o := range w.inf.List() {
		have[types.NamespacedName{Namespace: o.Namespace, Name: o.Name}] = o
	}
	for _, key := range slices.SortedFunc(maps.Keys(merged(want, have)), byName) {
		a, b := want[key], have[key]
		if w.inf.Quarantined(key.Namespace, key.Name) {
			// Guarantee 7: the last good version stays until the next one.
			w.quarantined++
		} else if versionOf(a) != versionOf(b) {
			w.violated("1, eventual equality: the server has %s at %s, the store %s", key.Name, versionOf(a), versionOf(b))
		} else if a != nil && !equality.Semantic.DeepEqual(a.Data, b.Data) {
			w.violated("1, eventual equality: %s differs at one version", key.Name)
		}
	}
	for _, h := range w.handlers {
		w.lastWords(h, have)
	}
}

func merged(a, b map[types.NamespacedName]Object) map[types.NamespacedName]Object {
	m := maps.Clone(a)
	maps.Copy(m, b)
	return m
}

func byName(a, b types.NamespacedName) int {
	if a.Name < b.Name {
		return -1
	}
	return 1
}

// lastWords says that a handler knows in the end what the store has.
func (w *world) lastWords(h *Recorder, have map[types.NamespacedName]Object) {
	told, _ := h.told()
	knows := map[types.NamespacedName]version{}
	for _, e := range told {
		if e.kind == "delete" {
			delete(knows, e.key)
		} else {
			knows[e.key] = e.now
		}
	}
	all := maps.Clone(have)
	for key := range knows {
		if _, ok := all[key]; !ok {
			all[key] = nil
		}
	}
	for _, key := range slices.SortedFunc(maps.Keys(all), byName) {
		if a, b := versionOf(have[key]), knows[key]; a != b {
			w.violated("4, legal history: in the end the store has %s at %s, %s was told %s", key.Name, a, h.Name, b)
		}
	}
	if h.synced != nil && !h.synced() {
		w.violated("6, synced means synced: %s never synced", h.Name)
	}
}

func (w *world) violated(format string, args ...any) {
	w.broken = append(w.broken, fmt.Sprintf(format, args...))
}

// check returns everything that was wrong.
func (w *world) check() []string {
	t := truthOf(w.history())
	for _, h := range w.handlers {
		w.checkHandler(t, h)
	}
	w.checkVersions("a reader", w.seen)
	return w.broken
}

// checkVersions says that the version of the store never goes backwards.
func (w *world) checkVersions(who string, versions []string) {
	last := int64(0)
	for _, v := range versions {
		n, _ := strconv.ParseInt(v, 10, 64)
		if n < last {
			w.violated("2, order: %s saw the store at %d after %d", who, n, last)
			return
		}
		last = n
	}
}

// checkHandler goes through what a handler was told, key by key.
func (w *world) checkHandler(t *truth, h *Recorder) {
	told, lied := h.told()
	for _, l := range lied {
		w.violated("6, synced means synced: %s said so before %s", h.Name, l)
	}
	knows := map[types.NamespacedName]version{}
	at := map[types.NamespacedName]int64{}
	shown := map[types.NamespacedName]int64{}
	var versions []string
	for _, e := range told {
		before, known := knows[e.key]
		number, real := t.states[e.key][e.now]
		switch {
		case e.kind != "delete" && !real:
			w.violated("2, order: %s was told of what never was: %v", h.Name, e)
		case e.kind == "add" && known:
			w.violated("4, legal history: %s was told %v, and knew %s", h.Name, e, before)
		case e.kind == "update" && !known:
			w.violated("4, legal history: %s was told %v, and knew of none", h.Name, e)
		case e.kind == "update" && e.old != before:
			w.violated("4, legal history: %s was told %v, and knew %s", h.Name, e, before)
		case e.kind == "update" && e.old.uid != e.now.uid:
			w.violated("4, legal history: %s was told %v, which are two objects", h.Name, e)
		case e.kind == "delete" && !known:
			w.violated("4, legal history: %s was told %v, and knew of none", h.Name, e)
		case e.kind == "delete" && e.now.uid != before.uid:
			w.violated("4, legal history: %s was told %v, and knew %s", h.Name, e, before)
		case e.kind == "delete" && t.ends[e.key][e.now.uid] == 0:
			w.violated("11, what is refused is not deleted: %s was told %v, which was never deleted", h.Name, e)
		case e.kind != "delete" && number < at[e.key]:
			w.violated("2, order: %s was told %v after version %d", h.Name, e, at[e.key])
		}
		if e.kind == "delete" {
			delete(knows, e.key)
			at[e.key] = max(at[e.key], t.ends[e.key][e.now.uid])
		} else {
			knows[e.key] = e.now
			at[e.key] = max(at[e.key], number)
		}
		w.checkStore(t, h, e, number, shown)
		versions = append(versions, e.at)
	}
	w.checkVersions(h.Name, versions)
}

// checkStore says that the store was not behind the handler, and did not go
// backwards itself.
func (w *world) checkStore(t *truth, h *Recorder, e event, number int64, shown map[types.NamespacedName]int64) {
	held := t.states[e.key][e.held]
	switch {
	case e.kind != "delete" && e.held != (version{}) && held < number:
		w.violated("10, the store is never behind the handler: %s was told %v", h.Name, e)
	case e.kind != "delete" && e.held == (version{}) && t.ends[e.key][e.now.uid] == 0:
		w.violated("10, the store is never behind the handler: %s was told %v", h.Name, e)
	case e.kind == "delete" && e.held.uid == e.now.uid:
		w.violated("10, the store is never behind the handler: %s was told %v", h.Name, e)
	case held != 0 && held < shown[e.key]:
		w.violated("2, order: the store showed %v after version %d", e, shown[e.key])
	}
	shown[e.key] = max(shown[e.key], held)
}
