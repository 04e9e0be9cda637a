package consistency

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kinglet-go/kinglet/internal/tests/testkit"
	"github.com/kinglet-go/kinglet/store"
)

func TestCursorsAreOrderedAsTheBytesOfNamespaceAndName(t *testing.T) {
	seed := testkit.Seed(t)
	rnd := rand.New(rand.NewPCG(seed, 0))
	for range 10_000 {
		a, b := randomCursor(rnd), randomCursor(rnd)
		if got, want := a.compare(b), strings.Compare(path(a), path(b)); got != want {
			t.Fatalf("%s and %s: %d, want %d", path(a), path(b), got, want)
		}
	}
}

// The naive twin sorts all paths and takes those in the range.
func TestKeysInARangeAreExactlyThoseTheStoreHas(t *testing.T) {
	seed := testkit.Seed(t)
	for n := range uint64(60) {
		rnd := rand.New(rand.NewPCG(seed, n))
		s, err := store.New(store.Options[*metav1.PartialObjectMetadata]{RememberKeys: true})
		if err != nil {
			t.Fatal(err)
		}
		have := map[string]bool{}
		for range rnd.IntN(600) {
			p := randomCursor(rnd)
			have[path(p)] = true
			obj := &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{Namespace: p.namespace, Name: p.name}}
			if err := s.Write(store.Op[*metav1.PartialObjectMetadata]{Key: store.Key{Namespace: p.namespace, Name: p.name}, Object: obj}); err != nil {
				t.Fatal(err)
			}
		}
		for range 50 {
			after, last, open := randomCursor(rnd), randomCursor(rnd), rnd.IntN(3) == 0
			if rnd.IntN(4) == 0 {
				after = cursor{}
			}
			var want, got []string
			for p := range have {
				if (after == cursor{} || p > path(after)) && (open || p <= path(last)) {
					want = append(want, p)
				}
			}
			slices.Sort(want)
			for key := range keysIn(s.Snapshot(), after, last, open) {
				got = append(got, path(cursorOf(key)))
			}
			if !slices.Equal(got, want) {
				t.Fatalf("seed %d, store %d, from %v to %v, open %v: %q, want %q", seed, n, after, last, open, got, want)
			}
		}
	}
}

func path(p cursor) string { return p.namespace + "/" + p.name }

func randomCursor(rnd *rand.Rand) cursor {
	namespaces := []string{"a", "a-b", "a.b", "a0", "ab", "a-b-c", "b"}
	return cursor{namespaces[rnd.IntN(len(namespaces))], fmt.Sprintf("n%d", rnd.IntN(200))}
}
