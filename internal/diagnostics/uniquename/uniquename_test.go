package uniquename

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/kinglet-go/kinglet/internal/tests/testkit"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestTheFirstOfANameHasItAndTheOthersAreNumbered(t *testing.T) {
	var n Names
	var got []string
	for _, name := range strings.Split("pods pods pods#2 nodes pods pods#2 pods#2#2  ", " ") {
		got = append(got, n.Of(name))
	}
	want := "pods pods#2 pods#2#2 nodes pods#3 pods#2#3 pods#2#2#2  #2"
	if text := strings.Join(got, " "); text != want {
		t.Errorf("\n got %s\nwant %s", text, want)
	}
}

func TestNobodyHasANameThatAnotherHasAndTheLeastIsGivenOut(t *testing.T) {
	for range testkit.Trials(200) {
		seed := testkit.Seed(t)
		r := rand.New(rand.NewPCG(seed, 0))
		var n Names
		var have []string
		for range 100 {
			if len(have) > 0 && r.IntN(2) == 0 {
				i := r.IntN(len(have))
				n.Free(have[i])
				have = slices.Delete(have, i, i+1)
				continue
			}
			name := []string{"a", "a#2", "b"}[r.IntN(3)]
			least := name
			for i := 2; slices.Contains(have, least); i++ {
				least = fmt.Sprint(name, "#", i)
			}
			if got := n.Of(name); got != least {
				t.Fatalf("seed %d: %s for %s, beside %v; want %s", seed, got, name, have, least)
			}
			have = append(have, least)
		}
		for _, name := range have {
			n.Free(name)
		}
		if len(n.given)+len(n.shared) > 0 {
			t.Fatalf("seed %d: %v and %v are left", seed, n.given, n.shared)
		}
	}
}
