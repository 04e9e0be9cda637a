package fifo_test

import (
	"maps"
	"slices"
)

// The twins say what the queues mean, as plainly as possible and without
// anything of the package under test: slices, searched from the front.

type twinEntry[V any] struct {
	key       string
	value     V
	initial   bool
	forgotten bool
}

type twin[V any] struct {
	waiting, flying []twinEntry[V]
	populated       bool
}

func find[V any](list []twinEntry[V], key string) int {
	return slices.IndexFunc(list, func(e twinEntry[V]) bool { return e.key == key })
}

func (t *twin[V]) synced() bool {
	initial := func(e twinEntry[V]) bool { return e.initial }
	return t.populated && !slices.ContainsFunc(t.waiting, initial) && !slices.ContainsFunc(t.flying, initial)
}

func (t *twin[V]) keys() []string {
	keys := []string{}
	for _, e := range t.waiting {
		keys = append(keys, e.key)
	}
	return keys
}

func (t *twin[V]) get(key string) (v V, ok bool) {
	if i := find(t.waiting, key); i >= 0 {
		return t.waiting[i].value, true
	}
	return v, false
}

func (t *twin[V]) put(key string, v V) {
	if i := find(t.waiting, key); i >= 0 {
		t.waiting[i].value = v
		return
	}
	t.waiting = append(t.waiting, twinEntry[V]{key: key, value: v})
}

func (t *twin[V]) firstReplaceEnds() {
	if t.populated {
		return
	}
	t.populated = true
	for i := range t.waiting {
		t.waiting[i].initial = true
	}
}

func (t *twin[V]) canTake() bool {
	return slices.ContainsFunc(t.waiting, func(e twinEntry[V]) bool { return find(t.flying, e.key) < 0 })
}

// take moves the first entry of a key that is not in flight.
func (t *twin[V]) take() []twinEntry[V] {
	i := slices.IndexFunc(t.waiting, func(e twinEntry[V]) bool { return find(t.flying, e.key) < 0 })
	taken := t.waiting[i]
	t.waiting = slices.Delete(t.waiting, i, i+1)
	t.flying = append(t.flying, taken)
	return []twinEntry[V]{taken}
}

func (t *twin[V]) settle(taken []twinEntry[V], back bool, merge func(older, newer V) V) {
	for _, e := range taken {
		i := find(t.flying, e.key)
		forgotten := t.flying[i].forgotten
		t.flying = slices.Delete(t.flying, i, i+1)
		if !back || forgotten {
			continue
		}
		if newer, ok := t.get(e.key); ok {
			t.put(e.key, merge(e.value, newer))
		} else {
			t.put(e.key, e.value)
		}
	}
}

// twinFIFO holds versions of objects.
type twinFIFO struct{ twin[int] }

func (t *twinFIFO) add(key string, v int) {
	t.populated = true
	t.put(key, v)
}

func (t *twinFIFO) addIfNotPresent(key string, v int) {
	t.populated = true
	if _, ok := t.get(key); !ok {
		t.put(key, v)
	}
}

func (t *twinFIFO) delete(key string) {
	t.populated = true
	if i := find(t.waiting, key); i >= 0 {
		t.waiting = slices.Delete(t.waiting, i, i+1)
	}
	if i := find(t.flying, key); i >= 0 {
		t.flying[i].forgotten = true
	}
}

func (t *twinFIFO) replace(keys []string, versions []int) {
	before := t.waiting
	t.waiting = nil
	for i, key := range keys {
		t.put(key, versions[i])
	}
	for i, e := range t.waiting {
		if j := find(before, e.key); j >= 0 {
			t.waiting[i].initial = before[j].initial
		}
	}
	for i := range t.flying {
		t.flying[i].forgotten = true
	}
	t.firstReplaceEnds()
}

// twinDelta has the version 0 for "no object".
type twinDelta struct {
	what    string
	unknown bool
	version int
}

// twinKnown is the consumer's store; keys in broken cannot be looked up.
type twinKnown struct {
	objects map[string]int
	broken  map[string]bool
}

func (k *twinKnown) keys() []string { return slices.Sorted(maps.Keys(k.objects)) }

type twinDeltaFIFO struct {
	twin[[]twinDelta]
	known *twinKnown // may be nil
}

func twinWith(list []twinDelta, d twinDelta) []twinDelta {
	list = slices.Clone(list)
	n := len(list)
	if d.what != "Deleted" || n == 0 || list[n-1].what != "Deleted" {
		return append(list, d)
	}
	switch last := list[n-1]; {
	case !last.unknown: // the final state is known already
	case d.unknown && d.version == 0 && last.version != 0: // knows less
	default:
		list[n-1] = d
	}
	return list
}

func twinMerge(older, newer []twinDelta) []twinDelta {
	for _, d := range newer {
		older = twinWith(older, d)
	}
	return older
}

func (t *twinDeltaFIFO) append(key string, d twinDelta) {
	list, _ := t.get(key)
	t.put(key, twinWith(list, d))
}

func (t *twinDeltaFIFO) change(key string, d twinDelta) {
	t.populated = true
	t.append(key, d)
}

func (t *twinDeltaFIFO) addIfNotPresent(key string, list []twinDelta) {
	t.populated = true
	if _, ok := t.get(key); !ok {
		t.put(key, list)
	}
}

// inFlight says whether key is in flight, and if its delete is.
func (t *twinDeltaFIFO) inFlight(key string) (flying, deleted bool) {
	i := find(t.flying, key)
	if i < 0 {
		return false, false
	}
	list := t.flying[i].value
	return true, list[len(list)-1].what == "Deleted"
}

// delete reports whether it was not ignored.
func (t *twinDeltaFIFO) delete(key string, d twinDelta) bool {
	t.populated = true
	_, queued := t.get(key)
	flying, deleted := t.inFlight(key)
	there := queued || flying && !deleted
	if !queued && !flying && t.known != nil {
		there = t.known.broken[key] || t.known.objects[key] != 0
	}
	if there {
		t.append(key, d)
	}
	return there
}

func (t *twinDeltaFIFO) replace(what string, keys []string, versions []int) {
	for i, key := range keys {
		t.append(key, twinDelta{what: what, version: versions[i]})
	}
	for _, e := range t.waiting {
		if !slices.Contains(keys, e.key) {
			t.append(e.key, twinDelta{"Deleted", true, e.value[len(e.value)-1].version})
		}
	}
	for _, e := range t.flying {
		_, queued := t.get(e.key)
		if _, deleted := t.inFlight(e.key); !queued && !deleted {
			t.append(e.key, twinDelta{"Deleted", true, e.value[len(e.value)-1].version})
		}
	}
	for _, key := range t.unheard() {
		version := t.known.objects[key]
		if t.known.broken[key] {
			version = 0
		}
		t.append(key, twinDelta{"Deleted", true, version})
	}
	t.firstReplaceEnds()
}

func (t *twinDeltaFIFO) resync() {
	for _, key := range t.unheard() {
		if !t.known.broken[key] {
			t.append(key, twinDelta{what: "Sync", version: t.known.objects[key]})
		}
	}
}

// unheard returns what is known and neither queued nor in flight.
func (t *twinDeltaFIFO) unheard() (keys []string) {
	if t.known == nil {
		return nil
	}
	for _, key := range t.known.keys() {
		_, queued := t.get(key)
		if flying, _ := t.inFlight(key); !queued && !flying {
			keys = append(keys, key)
		}
	}
	return keys
}
