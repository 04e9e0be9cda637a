package store_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/kinglet-go/kinglet/internal/tests/testkit"
	"github.com/kinglet-go/kinglet/store"
)

// tagged is an object with values for three indexes.
type tagged struct {
	name string
	tags [3]int
}

// TestByIndexesYieldsWhatEachIndexHolds compares with a look at every object, for
// values of a few objects and of thousands.
func TestByIndexesYieldsWhatEachIndexHolds(t *testing.T) {
	rnd := rand.New(rand.NewPCG(testkit.Seed(t), 0))
	// The values of the first index are of 2 or 3 objects, those of the last of 2,000.
	spread := [3]int{2000, 40, 3}
	indexers := map[string]store.IndexFunc[*tagged]{}
	for i := range spread {
		indexers[fmt.Sprint(i)] = func(o *tagged) ([]string, error) { return []string{fmt.Sprint(o.tags[i])}, nil }
	}
	s, err := store.New(store.Options[*tagged]{
		KeyFunc:  func(o *tagged) (store.Key, error) { return store.Key{Name: o.name}, nil },
		Indexers: indexers,
	})
	if err != nil {
		t.Fatal(err)
	}
	objs := map[string]*tagged{}
	for range 8000 {
		o := &tagged{name: fmt.Sprint(rnd.IntN(6000))}
		for i, n := range spread {
			o.tags[i] = rnd.IntN(n)
		}
		objs[o.name] = o
		if err := s.Write(store.Op[*tagged]{Key: store.Key{Name: o.name}, Object: o}); err != nil {
			t.Fatal(err)
		}
	}
	snap := s.Snapshot()
	some := 0
	for range 2000 {
		var matches []store.IndexMatch
		var wanted [3]int
		used := rnd.Perm(3)[:1+rnd.IntN(3)]
		for _, i := range used {
			wanted[i] = rnd.IntN(spread[i] + 1) // one more than there are
			matches = append(matches, store.IndexMatch{Index: fmt.Sprint(i), Value: fmt.Sprint(wanted[i])})
		}
		var want, got []string
		for name, o := range objs {
			if !slices.ContainsFunc(used, func(i int) bool { return o.tags[i] != wanted[i] }) {
				want = append(want, name)
			}
		}
		found, err := snap.ByIndexes(matches...)
		if err != nil {
			t.Fatal(err)
		}
		for key, o := range found {
			if key.Name != o.name {
				t.Errorf("%s came with the key %s", o.name, key)
			}
			got = append(got, o.name)
		}
		slices.Sort(want)
		slices.Sort(got)
		if !slices.Equal(got, want) {
			t.Fatalf("%v: %v, want %v", matches, got, want)
		}
		some += len(want)
	}
	if some == 0 {
		t.Error("nothing was found by any")
	}
}

func TestByIndexesWithoutAnIndexOrAMatch(t *testing.T) {
	s, err := store.New(store.Options[*tagged]{KeyFunc: func(o *tagged) (store.Key, error) { return store.Key{Name: o.name}, nil }})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Snapshot().ByIndexes(store.IndexMatch{Index: "none"}); !errors.Is(err, store.ErrNoIndex) {
		t.Errorf("an index that is not there: %v", err)
	}
	none, err := s.Snapshot().ByIndexes()
	if err != nil {
		t.Fatal(err)
	}
	for key := range none {
		t.Errorf("no match found %s", key)
	}
}
