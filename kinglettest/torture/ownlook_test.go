package torture_test

import (
	"maps"
	"slices"
	"time"

	"github.com/kinglet-go/kinglet"
)

// look takes a snapshot, holds every key of it against the truth, and every way
// to read it against the objects themselves.
func (w *ownWorld) look() {
	began := time.Now()
	least := w.truth.floors()
	snap := w.inf.Snapshot()
	at := number(snap.ResourceVersion(""))
	shown := map[string]configMap{}
	var names, keys []string
	for obj := range snap.All() {
		shown[obj.Name] = obj
		names = append(names, obj.Name)
	}
	for key := range snap.Keys() {
		keys = append(keys, key.Name)
	}
	if !slices.IsSorted(names) || len(names) != len(shown) || !slices.Equal(names, keys) || snap.Len() != len(names) {
		w.truth.violated("a snapshot has the objects %v, the keys %v, and a length of %d", names, keys, snap.Len())
	}
	w.lookByPrefix(snap, names)
	w.lookByIndex(snap, shown)
	for name, obj := range shown {
		if got, ok := snap.Get(kinglet.Key{Namespace: "default", Name: name}); !ok || got != obj {
			w.truth.violated("a snapshot has two states of %s", name)
		}
	}
	if took := time.Since(began); took > 0 {
		w.truth.violated("reads of a snapshot waited for %v", took)
	}
	for name := range w.truth.floors() {
		obj, ok := shown[name]
		w.truth.check("snapshot", name, obj, ok, least[name], at)
	}
}

// lookByPrefix compares what has a prefix with what there is.
func (w *ownWorld) lookByPrefix(snap kinglet.Snapshot[configMap], names []string) {
	var got []string
	for obj := range snap.Prefix(kinglet.Key{Namespace: "default", Name: "object-1"}) {
		got = append(got, obj.Name)
	}
	want := slices.DeleteFunc(slices.Clone(names), func(name string) bool { return len(name) < 8 || name[:8] != "object-1" })
	if !slices.Equal(got, want) {
		w.truth.violated("a snapshot has %v under a prefix, and the objects %v", got, names)
	}
	from := kinglet.Key{Namespace: "default", Name: "object-3"}
	got = nil
	for key := range snap.KeysFrom(from) {
		got = append(got, key.Name)
	}
	if want := slices.DeleteFunc(slices.Clone(names), func(name string) bool { return name < from.Name }); !slices.Equal(got, want) {
		w.truth.violated("a snapshot has the keys %v from %v on, and the objects %v", got, from, names)
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
