package reflector

import (
	"errors"
	"math/rand/v2"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/kinglet-go/kinglet/source"
	"github.com/kinglet-go/kinglet/store"
)

// TestAStageHoldsWhatAMapWould compares it with a map, over random streams.
func TestAStageHoldsWhatAMapWould(t *testing.T) {
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	r := rand.New(rand.NewPCG(seed, 0))
	for range 500 {
		var s stage[*thing]
		twin := map[store.Key]string{}
		nameless := 0
		for version := range r.IntN(200) {
			i := item(strconv.Itoa(r.IntN(30)), strconv.Itoa(version))
			_, known := twin[i.Key]
			switch n := r.IntN(10); {
			case n == 0:
				s.add(source.Item[*thing]{Err: errors.New("nameless")})
				nameless++
			case n < 6 && !known:
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
		items := slices.Concat(s.take()...)
		for _, i := range items {
			if i.Err != nil {
				nameless--
				continue
			}
			if twin[i.Key] != i.ResourceVersion {
				t.Fatalf("holds %v at %s, want %q", i.Key, i.ResourceVersion, twin[i.Key])
			}
			delete(twin, i.Key)
		}
		if len(twin) != 0 || nameless != 0 {
			t.Fatalf("lacks %v, and %d without a name", twin, nameless)
		}
		if s.pages != nil || s.at != nil {
			t.Fatal("not empty after it was taken")
		}
	}
}
