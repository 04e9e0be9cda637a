package store_test

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kinglet-go/kinglet/store"
)

// compareSpans reads random spans of a snapshot, most of them with ends at or
// beside keys that there are.
func compareSpans(t testing.TB, v *store.Snapshot[*item], m *model, d dice) {
	t.Helper()
	probe := &pair{dice: d, names: 1000}
	end := func() *store.Key {
		ids := m.IDs()
		var k store.Key
		switch n := d.IntN(8); {
		case n == 0:
			return nil
		case n < 3 || len(ids) == 0:
			k = store.Key(probe.id())
		default:
			k = store.Key(ids[d.IntN(len(ids))])
			if n == 3 {
				k.Name += "\x00"
			}
		}
		return &k
	}
	for range 10 {
		span := store.Span{From: end(), After: d.IntN(2) == 0, To: end()}
		var want, got, keys []store.Key
		for _, id := range m.IDs() {
			if span.Has(store.Key(id)) {
				want = append(want, store.Key(id))
			}
		}
		for obj := range v.Span(span) {
			got = append(got, store.Key(obj.id))
		}
		for key := range v.SpanKeys(span) {
			keys = append(keys, key)
		}
		if !slices.Equal(got, want) || !slices.Equal(keys, want) {
			t.Fatalf("span from %v (after: %v) to %v: objects %s, keys %s", span.From, span.After, span.To, cmp.Diff(want, got), cmp.Diff(want, keys))
		}
	}
}

// compareKeyed reads one index with keys, and asks for the values of objects.
func compareKeyed(t testing.TB, v *store.Snapshot[*item], name string, want map[string][]itemID) {
	t.Helper()
	filed := map[store.Key][]string{}
	for value := range want {
		objs, err := v.ByIndexKeyed(name, value)
		if err != nil {
			t.Fatal(err)
		}
		for key, obj := range objs {
			if key != store.Key(obj.id) {
				t.Fatalf("%s=%q: %v under the key %v", name, value, obj, key)
			}
			filed[key] = append(filed[key], value)
		}
	}
	for obj := range v.All() {
		values, err := v.ValuesOf(name, obj)
		if got := filed[store.Key(obj.id)]; err == nil && !slices.Equal(values, slices.Sorted(slices.Values(got))) {
			t.Fatalf("values of %v in %s: %v, filed under %v", obj, name, values, got)
		}
	}
}
