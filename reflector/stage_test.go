package reflector

import (
	"errors"
	"math/rand/v2"
	"slices"
	"strconv"
	"testing"

	"github.com/kinglet-go/kinglet/internal/tests/testkit"
	"github.com/kinglet-go/kinglet/source"
	"github.com/kinglet-go/kinglet/store"
)

// TestAStageHoldsWhatAMapWould compares it with a map, over random streams.
func TestAStageHoldsWhatAMapWould(t *testing.T) {
	seed := testkit.Seed(t)
	r := rand.New(rand.NewPCG(seed, 0))
	for range 500 {
		var s stage[*thing]
		twin := map[store.Key]string{}
		nameless := 0
		for version := range r.IntN(200) {
			i := item(strconv.Itoa(r.IntN(30)), strconv.Itoa(version))
			switch n := r.IntN(11); {
			case n == 0:
				s.add(source.Item[*thing]{Err: errors.New("nameless")})
				nameless++
			case n == 10:
				// Of another kind under the same key: of another object.
				s.add(source.Item[*thing]{Key: i.Key, Err: &source.ItemError{Key: i.Key, Err: &source.KindError{}}})
				nameless++
			case n < 6:
				s.add(i)
				twin[i.Key] = i.ResourceVersion
			case n < 8:
				s.replace(i)
				twin[i.Key] = i.ResourceVersion
			default:
				s.remove(i.Key)
				delete(twin, i.Key)
			}
		}
		if s.items < int64(len(twin)+nameless) {
			t.Fatalf("counts %d items, and has %d", s.items, len(twin)+nameless)
		}
		indexed := s.at != nil
		items := slices.Concat(s.take()...)
		// Of two items of a key, which there may be without an index, a sink
		// takes the later one.
		latest := map[store.Key]string{}
		for _, i := range items {
			if i.Err == nil {
				if _, twice := latest[i.Key]; twice && indexed {
					t.Fatalf("holds %v twice", i.Key)
				}
				latest[i.Key] = i.ResourceVersion
			}
		}
		for _, i := range items {
			if i.Err != nil {
				nameless--
				continue
			}
		}
		for key, version := range latest {
			if twin[key] != version {
				t.Fatalf("seed %d: holds %v at %s, want %q", seed, key, version, twin[key])
			}
			delete(twin, key)
		}
		if len(twin) != 0 || nameless != 0 {
			t.Fatalf("lacks %v, and %d without a name", twin, nameless)
		}
		if s.pages != nil || s.at != nil {
			t.Fatal("not empty after it was taken")
		}
	}
}
