package own

import (
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/kinglet-go/kinglet/internal/tests/testkit"
	"github.com/kinglet-go/kinglet/store"
)

// item is the object of these tests.
type item struct {
	name    string
	uid     types.UID
	version string
	values  []string
}

func itemKey(i *item) (store.Key, error) { return keyOf(i.name), nil }

func keyOf(name string) store.Key { return store.Key{Namespace: name[:1], Name: name} }

var rules = Rules[*item]{
	UID:      func(i *item) types.UID { return i.uid },
	Version:  func(i *item) string { return i.version },
	Deleting: func(*item) bool { return false },
}

func newStore(t *testing.T) *store.Store[*item] {
	s, err := store.New(store.Options[*item]{KeyFunc: itemKey, Indexers: map[string]store.IndexFunc[*item]{
		"values": func(i *item) ([]string, error) { return i.values, nil },
	}})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// TestAViewIsTheSnapshotMergedWithNewerWrites merges random overlays, of which a part
// has been passed by the store and not been taken out, with random stores of three
// scopes, each at a version of its own, and compares every read with a map.
func TestAViewIsTheSnapshotMergedWithNewerWrites(t *testing.T) {
	seed := testkit.Seed(t)
	for trial := range uint64(2000) {
		rnd := rand.New(rand.NewPCG(seed, trial))
		s := newStore(t)
		at := map[string]int{}
		for _, scope := range []string{"a", "b", "c"} {
			at[scope] = 100 + rnd.IntN(100)
			_, _ = s.Apply(store.Batch[*item]{Scope: store.Scope{ID: scope}, ResourceVersion: strconv.Itoa(at[scope]), Reported: true}, nil)
		}
		want := map[string]*item{}
		for range rnd.IntN(20) {
			it := randomItem(rnd, func(scope string) int { return rnd.IntN(at[scope]) + 1 })
			want[it.name] = it
			if err := s.Put(it); err != nil {
				t.Fatal(err)
			}
		}
		over := randomOverlay(t, rnd, at, want)
		if over == nil {
			continue
		}
		base := s.Snapshot()
		view := View[*item]{base, &merged[*item]{base: base, over: over, r: &rules, generation: uint64(rnd.IntN(2))}}
		if err := compare(view, want, rnd); err != nil {
			t.Fatalf("seed %d, trial %d: %v", seed, trial, err)
		}
	}
}

// scopeOf is the scope of a name: its namespace.
func scopeOf(name string) string { return keyOf(name).Namespace }

func randomItem(rnd *rand.Rand, version func(scope string) int) *item {
	it := &item{name: fmt.Sprintf("%c-%d", 'a'+rune(rnd.IntN(3)), rnd.IntN(5)), uid: types.UID(fmt.Sprint(rnd.IntN(3)))}
	it.version = strconv.Itoa(version(scopeOf(it.name)))
	for range rnd.IntN(3) {
		it.values = append(it.values, fmt.Sprint(rnd.IntN(4)))
	}
	slices.Sort(it.values)
	it.values = slices.Compact(it.values)
	return it
}

// randomOverlay writes and removes at random, and does the same to want unless
// the store, with the scopes at these versions, has passed it.
func randomOverlay(t *testing.T, rnd *rand.Rand, versions map[string]int, want map[string]*item) (over *overlay[*item]) {
	has := maps.Clone(want)
	latest := map[string]int{}
	for range rnd.IntN(12) {
		it := randomItem(rnd, func(scope string) int { return versions[scope] - 20 + rnd.IntN(60) })
		scope := scopeOf(it.name)
		at := versions[scope]
		version, _ := strconv.Atoi(it.version)
		if version <= latest[it.name] || latest[it.name] < 0 {
			continue // what comes late is for the trials of package torture
		}
		w := Write[*item]{Key: keyOf(it.name), UID: it.uid, Version: it.version, Object: it, Time: time.Unix(1, 0), generation: 1}
		w.values = map[string][]string{"values": it.values}
		if rnd.IntN(5) == 0 {
			w.Object, w.Absent = nil, true
		}
		h, ok := has[it.name]
		// Told while the store was at 1, or at the version that it is at.
		told, was := "1", (*item)(nil)
		if rnd.IntN(2) == 0 {
			told, was = strconv.Itoa(at), h
		}
		next := over.wrote(&rules, &w, held[*item]{scope, told, was, was != nil && ok, true})
		if next == over {
			continue
		}
		over, latest[it.name] = next, version
		switch {
		case version <= at:
			setTo(want, has, it.name)
		case w.Absent:
			delete(want, it.name)
		default:
			want[it.name] = it
		}
		if rnd.IntN(4) > 0 {
			continue
		}
		removed, err := over.removed(&rules, &Removal{Key: w.Key, UID: it.uid, Sent: time.Unix(1, 0), Time: time.Unix(1, 0)},
			held[*item]{scope, strconv.Itoa(at), h, ok, true}, func(*Removal, types.UID, bool) (string, bool) { return "", false })
		if err != nil {
			t.Fatal(err)
		}
		over, latest[it.name] = removed, -1
		if version > at || ok && h.uid == it.uid {
			delete(want, it.name)
		}
	}
	return over
}

// setTo makes want have what held has under a name.
func setTo(want, held map[string]*item, name string) {
	if h, ok := held[name]; ok {
		want[name] = h
	} else {
		delete(want, name)
	}
}

// compare compares every read of a view with what there is.
func compare(view View[*item], want map[string]*item, rnd *rand.Rand) error {
	names := slices.SortedFunc(maps.Keys(want), func(a, b string) int { return keyOf(a).Compare(keyOf(b)) })
	if view.Len() != len(want) {
		return fmt.Errorf("a length of %d, want %d", view.Len(), len(want))
	}
	for c := 'a'; c <= 'c'; c++ {
		for n := range 5 {
			name := fmt.Sprintf("%c-%d", c, n)
			if got, _ := view.Get(keyOf(name)); got != want[name] {
				return fmt.Errorf("Get of %s: %+v, want %+v", name, got, want[name])
			}
		}
	}
	from, to := keyOf(fmt.Sprintf("%c-%d", 'a'+rune(rnd.IntN(3)), rnd.IntN(5))), keyOf(fmt.Sprintf("%c-%d", 'a'+rune(rnd.IntN(3)), rnd.IntN(5)))
	for _, span := range []store.Span{{}, {From: &from}, {To: &to}, {From: &from, After: true, To: &to}, store.PrefixSpan(store.Key{Namespace: "b", Name: "b"})} {
		var got, keys, in []string
		for _, name := range names {
			if span.Has(keyOf(name)) {
				in = append(in, name)
			}
		}
		seq := view.merged.span(span)
		for range 2 { // an iterator begins anew each time
			got = nil
			for it := range seq {
				if got = append(got, it.name); want[it.name] != it {
					return fmt.Errorf("iteration shows %+v, want %+v", it, want[it.name])
				}
			}
		}
		for key := range view.SpanKeys(span) {
			keys = append(keys, key.Name)
		}
		if !slices.Equal(got, in) || !slices.Equal(keys, in) {
			return fmt.Errorf("a span from %v to %v has %v and the keys %v, want %v", span.From, span.To, got, keys, in)
		}
		for range view.merged.span(span) {
			break
		}
	}
	return compareIndex(view, want)
}

func compareIndex(view View[*item], want map[string]*item) error {
	index := map[string][]string{}
	for name, it := range want {
		for _, v := range it.values {
			if !slices.Contains(index[v], name) {
				index[v] = append(index[v], name)
			}
		}
	}
	values, err := view.IndexValues("values")
	if err != nil {
		return err
	}
	if got := slices.Sorted(values); !slices.Equal(got, slices.Sorted(maps.Keys(index))) {
		return fmt.Errorf("values %v, want %v", got, slices.Sorted(maps.Keys(index)))
	}
	for _, v := range []string{"0", "1", "2", "3", "unheard of"} {
		var got, keys []string
		objs, err := view.ByIndex("values", v)
		if err != nil {
			return err
		}
		for it := range objs {
			if got = append(got, it.name); want[it.name] != it {
				return fmt.Errorf("the index shows %+v, want %+v", it, want[it.name])
			}
		}
		keyed, _ := view.ByIndexKeyed("values", v)
		for key := range keyed {
			keys = append(keys, key.Name)
		}
		n, _ := view.IndexCount("values", v)
		slices.Sort(got)
		slices.Sort(keys)
		slices.Sort(index[v])
		if !slices.Equal(got, index[v]) || !slices.Equal(keys, index[v]) || n != len(got) {
			return fmt.Errorf("under %s: %v, keys %v, count %d, want %v", v, got, keys, n, index[v])
		}
	}
	for _, v := range []string{"0", "1", "2"} {
		for _, w := range []string{"1", "3", "unheard of"} {
			var got, both []string
			found, err := view.ByIndexes(store.IndexMatch{Index: "values", Value: v}, store.IndexMatch{Index: "values", Value: w})
			if err != nil {
				return err
			}
			for key, it := range found {
				if got = append(got, key.Name); want[key.Name] != it {
					return fmt.Errorf("two values show %+v, want %+v", it, want[key.Name])
				}
			}
			for _, name := range index[v] {
				if slices.Contains(index[w], name) {
					both = append(both, name)
				}
			}
			slices.Sort(got)
			if slices.Sort(both); !slices.Equal(got, both) {
				return fmt.Errorf("under %s and %s: %v, want %v", v, w, got, both)
			}
		}
	}
	if _, err := view.ByIndexes(store.IndexMatch{Index: "none"}); err == nil {
		return errors.New("no error of an index that is not there")
	}
	if _, err := view.ByIndex("none", "1"); err == nil || !strings.Contains(err.Error(), "none") {
		return fmt.Errorf("an index that is not there: %v", err)
	}
	return nil
}
