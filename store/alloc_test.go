package store_test

import (
	"strings"
	"testing"

	"github.com/kinglet-go/kinglet/internal/tests/testkit"
	"github.com/kinglet-go/kinglet/store"
)

func full(t testing.TB, n int) (*store.Store[*item], []*item) {
	values := map[string][]string{}
	one := func(v string) []string {
		if values[v] == nil {
			values[v] = []string{v}
		}
		return values[v]
	}
	s := newStore(t, func(o *store.Options[*item]) {
		// Their own slices are not the store's allocations.
		o.Indexers = map[string]store.IndexFunc[*item]{
			"namespace": func(i *item) ([]string, error) { return one(i.id.Namespace), nil },
			"node":      func(i *item) ([]string, error) { return one(i.node), nil },
		}
	})
	items := make([]*item, n)
	for i := range items {
		items[i] = pod(i, 1)
		put(t, s, items[i])
	}
	return s, items
}

func TestAllocationCeilings(t *testing.T) {
	s, items := full(t, 5000)
	fresh := pod(7, 6) // same node
	rs := newStore(t, remembering)
	put(t, rs, fresh)
	text, long := store.Key(fresh.id).String(), store.Key{Namespace: "n", Name: strings.Repeat("n", 200)}
	missing := store.Key{Name: "missing"}
	var moved [2]*item
	moved[0], moved[1] = pod(9, 1), pod(9, 2)
	// A value that comes and goes may take a node of the trie each time.
	put(t, s, pod(12, 2), pod(13, 2), pod(14, 2))
	key := store.Key(fresh.id)
	i := 0
	list := make([]*item, 0, len(items)+1)
	for _, c := range []struct {
		what string
		most float64
		do   func()
	}{
		{"Get", 0, func() { s.Get(key) }},
		{"Get of keys that are remembered", 0, func() { rs.Get(key); rs.Get(long) }},
		{"GetString", 0, func() { rs.GetString(text); rs.GetString("missing") }},
		{"Get of a missing key", 0, func() { s.Get(missing) }},
		{"Held", 0, func() { s.Held(key) }},
		{"Snapshot", 0, func() { s.Snapshot() }},
		{"Update", 0, func() { put(t, s, fresh) }},
		{"Update after a Get", 0, func() { s.Get(key); put(t, s, fresh) }},
		{"Update after as many Helds as a batch brings", 0, func() {
			for range 256 {
				s.Held(key)
			}
			put(t, s, fresh)
		}},
		{"Update that moves an index", 0, func() { i++; put(t, s, moved[i%2]) }},
		{"Update after lists", 0, func() {
			list = s.AppendAll(list[:0])
			list, _ = s.AppendIndex(list[:0], "node", "node-1")
			put(t, s, fresh)
		}},
		{"Update after a Snapshot", 4, func() { s.Snapshot(); put(t, s, fresh) }},
		{"All", 5, func() { count(s.All()) }},
		{"ByIndex", 5, func() {
			objs, _ := s.ByIndex("node", "node-1")
			count(objs)
		}},
		{"Delete and insert", 1, func() { s.Delete(store.Key(items[11].id)); put(t, s, items[11]) }},
	} {
		// The version may have been taken by what was measured before.
		put(t, s, fresh, moved[1])
		if got := testkit.Allocs(200, c.do); got > c.most {
			t.Errorf("%s: %v allocations, at most %v are promised", c.what, got, c.most)
		}
	}
}

func TestMemosCostNothingWhileNoneIsGiven(t *testing.T) {
	s, _ := full(t, 100)
	b := batchOf(pod(7, 6))
	changes := make([]store.Change[*item], 0, 4)
	if got := testkit.Allocs(100, func() { s.Apply(b, changes[:0]) }); got != 0 {
		t.Errorf("Apply: %v allocations", got)
	}
}
