package store_test

import (
	"errors"
	"maps"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kinglet-go/kinglet/store"
)

// compare reads all that can be read.
func compare(t testing.TB, d dice, r store.Reader[*item], m *model) {
	t.Helper()
	ids := m.IDs()
	if r.Len() != len(ids) {
		t.Fatalf("%d objects, want %d", r.Len(), len(ids))
	}
	var keys []itemID
	for k := range r.Keys() {
		keys = append(keys, itemID(k))
	}
	if !slices.Equal(keys, ids) {
		t.Fatalf("keys: %s", cmp.Diff(ids, keys))
	}
	i := 0
	for obj := range r.All() {
		if want := m.objects[ids[i]]; obj != want {
			t.Fatalf("%v is %v, want %v", ids[i], obj, want)
		}
		i++
	}
	if s, ok := r.(*store.Store[*item]); ok && !slices.Equal(s.AppendAll(nil), slices.Collect(r.All())) {
		t.Fatal("AppendAll appends other objects than All has")
	}
	probe := &pair{dice: d, names: 1000}
	for range 20 {
		id := probe.id()
		want, ok := m.objects[id]
		if got, has := r.Get(store.Key(id)); has != ok || got != want {
			t.Fatalf("Get(%v) = %v, %v; want %v, %v", id, got, has, want, ok)
		}
	}
	for _, id := range ids {
		if got, _ := r.Get(store.Key(id)); got == nil || got.id != id {
			t.Fatalf("Get(%v) = %v", id, got)
		}
	}
	if s, ok := r.(*store.Store[*item]); ok {
		compareStrings(t, s, m)
	}
	for range 10 {
		prefix := probe.id()
		prefix.Name = prefix.Name[:d.IntN(len(prefix.Name)+1)]
		if d.IntN(4) == 0 {
			prefix.Namespace, prefix.Name = "", ""
		}
		var got []itemID
		for obj := range r.Prefix(store.Key(prefix)) {
			got = append(got, obj.id)
		}
		if want := m.Prefix(prefix); !slices.Equal(got, want) {
			t.Fatalf("Prefix(%q): %s", prefix, cmp.Diff(want, got))
		}
	}
	for _, scope := range []string{"", "0", "1", "2", "default", "unheard of"} {
		if got := r.ResourceVersion(scope); got != m.versions[scope] {
			t.Fatalf("version of %q: %q, want %q", scope, got, m.versions[scope])
		}
	}
	if got, want := r.Indexes(), slices.Sorted(maps.Keys(m.indexes)); !slices.Equal(got, want) {
		t.Fatalf("indexes %v, want %v", got, want)
	}
	for name := range m.indexes {
		compareIndex(t, r, name, m.Index(name))
		if v, ok := r.(*store.Snapshot[*item]); ok {
			compareKeyed(t, v, name, m.Index(name))
		}
	}
	if v, ok := r.(*store.Snapshot[*item]); ok {
		compareSpans(t, v, m, d)
	}
	if _, err := r.ByIndex("unheard of", ""); !errors.Is(err, store.ErrNoIndex) {
		t.Fatalf("ByIndex of no index: %v", err)
	}
}

// compareStrings reads by the text of every key, also of keys that ParseKey
// does not make of it, and by texts that are nearly such.
func compareStrings(t testing.TB, s *store.Store[*item], m *model) {
	t.Helper()
	for _, id := range m.IDs() {
		text := store.Key(id).String()
		for _, text := range []string{text, "/" + text, text + "/", text[:len(text)/2]} {
			want, ok := m.objects[itemID(store.ParseKey(text))]
			if got, has := s.GetString(text); has != ok || got != want {
				t.Fatalf("GetString(%q) = %v, %v; want %v, %v", text, got, has, want, ok)
			}
		}
	}
}

func compareIndex(t testing.TB, r store.Reader[*item], name string, want map[string][]itemID) {
	t.Helper()
	values, err := r.IndexValues(name)
	if err != nil {
		t.Fatal(err)
	}
	if got, want := slices.Sorted(values), slices.Sorted(maps.Keys(want)); !slices.Equal(got, want) {
		t.Fatalf("values of %s: %s", name, cmp.Diff(want, got))
	}
	for value, ids := range want {
		objs, err := r.ByIndex(name, value)
		if err != nil {
			t.Fatal(err)
		}
		var got []store.Key
		for obj := range objs {
			got = append(got, store.Key(obj.id))
		}
		slices.SortFunc(got, store.Key.Compare)
		if !slices.EqualFunc(got, ids, func(k store.Key, id itemID) bool { return k == store.Key(id) }) {
			t.Fatalf("%s=%q: got %v, want %v", name, value, got, ids)
		}
		if n, err := r.IndexCount(name, value); n != len(ids) || err != nil {
			t.Fatalf("IndexCount(%s, %q) = %d, %v; want %d", name, value, n, err, len(ids))
		}
	}
	if n, _ := r.IndexCount(name, "no such value"); n != 0 {
		t.Fatalf("IndexCount of a value that is not there: %d", n)
	}
}
