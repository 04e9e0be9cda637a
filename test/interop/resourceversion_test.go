package interop

import (
	"math/rand/v2"
	"testing"

	apimachinery "k8s.io/apimachinery/pkg/util/resourceversion"

	"github.com/kinglet-go/kinglet/reflector/resourceversion"
)

// TestResourceVersionsCompareAsInApimachinery, which has the comparison of
// KEP-5504 since 0.35, on versions that are equal, close, long and none at all.
func TestResourceVersionsCompareAsInApimachinery(t *testing.T) {
	const letters = "0011299 a-+.\u0661"
	r := rand.New(rand.NewPCG(1, 2))
	version := func() string {
		b := make([]rune, r.IntN(24))
		for i := range b {
			if b[i] = rune('0' + r.IntN(10)); r.IntN(40) == 0 {
				b[i] = []rune(letters)[r.IntN(len([]rune(letters)))]
			}
		}
		return string(b)
	}
	ordered := 0
	for range 200_000 {
		a, b := version(), version()
		if r.IntN(4) == 0 {
			b = a
		}
		order, ok := resourceversion.Compare(a, b)
		theirs, err := apimachinery.CompareResourceVersion(a, b)
		if ok != (err == nil) || ok && order != theirs {
			t.Fatalf("Compare(%q, %q) = %d, %v; apimachinery says %d, %v", a, b, order, ok, theirs, err)
		}
		if ok {
			ordered++
		}
	}
	if ordered < 50_000 {
		t.Errorf("only %d pairs had an order", ordered)
	}
}
