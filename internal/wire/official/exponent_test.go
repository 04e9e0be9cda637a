package official

import (
	"math/rand"
	"regexp"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/kinglet-go/kinglet/internal/wire/scan"
)

func TestAChangedExponentIsNoQuantityAndATameOneIs(t *testing.T) {
	for _, text := range []string{"1e2000000000", "0.5E-2000000", "-1.e+2000000", ".5e2000000", "7e2147483647", "+3e999999 "} {
		at := scan.LargeExponent([]byte(text))
		if at < 0 {
			t.Errorf("%q has none", text)
			continue
		}
		for _, c := range []change{broken, beyond} {
			if with := string(c([]byte(text), at)); !fails(with) {
				t.Errorf("%q for %q is a Quantity", with, text)
			}
		}
		with := string(tame([]byte(text), at))
		if fails(strings.TrimSpace(with)) || len(with) != len(text) {
			t.Errorf("%q for %q is no Quantity", with, text)
		}
	}
}

func fails(text string) bool {
	_, err := resource.ParseQuantity(text)
	return err != nil
}

func TestEveryLongExponentIsFound(t *testing.T) {
	naive := regexp.MustCompile(`[eE][+-]?[0-9]{6,}`)
	r := rand.New(rand.NewSource(1))
	for range 200_000 {
		b := make([]byte, r.Intn(40))
		for i := range b {
			b[i] = "00123456789eE+-x"[r.Intn(16)]
		}
		from := r.Intn(len(b) + 1)
		want := -1
		if found := naive.FindIndex(b[from:]); found != nil {
			want = from + found[0]
		}
		if got := exponentIn(b, from); got != want {
			t.Fatalf("%q from %d: %d, want %d", b, from, got, want)
		}
	}
}
