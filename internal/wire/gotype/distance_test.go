package gotype

import (
	"math/rand/v2"
	"testing"
)

// naive is the definition.
func naive(a, b string) int {
	switch {
	case a == "":
		return len(b)
	case b == "":
		return len(a)
	case a[0] == b[0]:
		return naive(a[1:], b[1:])
	}
	return 1 + min(naive(a[1:], b), naive(a, b[1:]), naive(a[1:], b[1:]))
}

func TestTheDistanceIsThatOfTheDefinition(t *testing.T) {
	text := func() string {
		b := make([]byte, rand.IntN(7))
		for i := range b {
			b[i] = "abc"[rand.IntN(3)]
		}
		return string(b)
	}
	for range 3000 {
		a, b := text(), text()
		if got, want := distance(a, b), naive(a, b); got != want {
			t.Fatalf("from %q to %q: %d, want %d", a, b, got, want)
		}
	}
}
