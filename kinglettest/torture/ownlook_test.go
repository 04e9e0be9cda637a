package torture_test

import (
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/kinglet-go/kinglet"
)

// look takes a snapshot, holds every key of it against the truth, and every way
// to read it against the objects themselves.
func (w *ownWorld) look() {
	began := time.Now()
	least := w.truth.floors()
	snap := w.inf.Snapshot()
	shown := map[string]configMap{}
	var of, keys []kinglet.Key
	for obj := range snap.All() {
		shown[obj.Name] = obj
		of = append(of, w.key(obj.Name))
	}
	for key := range snap.Keys() {
		keys = append(keys, key)
	}
	if !slices.IsSortedFunc(keys, kinglet.Key.Compare) || len(of) != len(shown) || !slices.Equal(of, keys) || snap.Len() != len(of) {
		w.truth.violated("a snapshot has the objects %v, the keys %v, and a length of %d", of, keys, snap.Len())
	}
	w.lookByPrefix(snap, keys)
	w.lookByIndex(snap, shown)
	for name, obj := range shown {
		if got, ok := snap.Get(w.key(name)); !ok || got != obj {
			w.truth.violated("a snapshot has two states of %s", name)
		}
	}
	if took := time.Since(began); took > 0 {
		w.truth.violated("reads of a snapshot waited for %v", took)
	}
	for name := range w.truth.floors() {
		obj, ok := shown[name]
		w.truth.check("snapshot", name, obj, ok, least[name], number(snap.ResourceVersion(w.scope(name))))
	}
}

// lookByPrefix compares what has a prefix, and what follows a key, with what there is.
func (w *ownWorld) lookByPrefix(snap kinglet.Snapshot[configMap], keys []kinglet.Key) {
	for _, name := range []string{"object-1", "object-2", "object-3"} {
		prefix := w.key(name)
		var got, want []kinglet.Key
		for obj := range snap.Prefix(prefix) {
			got = append(got, w.key(obj.Name))
		}
		for _, key := range keys {
			if key.Namespace == prefix.Namespace && strings.HasPrefix(key.Name, prefix.Name) {
				want = append(want, key)
			}
		}
		if !slices.Equal(got, want) {
			w.truth.violated("a snapshot has %v under the prefix %v, and the objects %v", got, prefix, keys)
		}
	}
}

// lookByIndex compares the index with the objects.
func (w *ownWorld) lookByIndex(snap kinglet.Snapshot[configMap], shown map[string]configMap) {
	want := map[string]int{}
	for _, obj := range shown {
		want[obj.Data["value"]]++
	}
	values, err := snap.IndexValues("value")
	if err != nil {
		w.truth.violated("index values: %v", err)
		return
	}
	if got := slices.Sorted(values); !slices.Equal(got, slices.Sorted(maps.Keys(want))) {
		w.truth.violated("a snapshot has the values %v, want %v", got, want)
	}
	for value := range maps.Keys(map[string]bool{"0": true, "1": true, "2": true, "3": true}) {
		objs, _ := snap.ByIndex("value", value)
		n := 0
		for obj := range objs {
			if n++; shown[obj.Name] != obj || obj.Data["value"] != value {
				w.truth.violated("a snapshot has %s@%s under %s", obj.Name, obj.ResourceVersion, value)
			}
		}
		keyed, _ := snap.IndexKeys("value", value)
		k := 0
		for range keyed {
			k++
		}
		if count, err := snap.IndexCount("value", value); n != want[value] || k != n || count != n || err != nil {
			w.truth.violated("a snapshot has %d objects and %d keys under %s, counts %d (%v), and there are %d", n, k, value, count, err, want[value])
		}
	}
}
