package resourceversion

import (
	"math/big"
	"strings"
	"testing"

	"github.com/kinglet-go/kinglet/internal/tests/testkit"
)

func TestVersionsCompareAsIntegersOfAnyLength(t *testing.T) {
	long := strings.Repeat("9", 400)
	for _, tc := range []struct {
		a, b  string
		order int
	}{
		{"1", "1", 0},
		{"1", "2", -1},
		{"10", "9", +1},
		{"99", "100", -1},
		{"18446744073709551615", "18446744073709551616", -1}, // beyond uint64
		{long, "1" + strings.Repeat("0", 400), -1},
		{long, long, 0},
	} {
		order, ok := Compare(tc.a, tc.b)
		if !ok || order != tc.order {
			t.Errorf("Compare(%.30q, %.30q) = %d, %v; want %d, true", tc.a, tc.b, order, ok, tc.order)
		}
	}
}

func TestWhatIsNoIntegerHasNoOrder(t *testing.T) {
	for _, v := range []string{"", "0", "01", "-1", "+1", "1.0", "1e3", " 1", "1 ", "abc", "1a", "١"} {
		if _, ok := Compare(v, "5"); ok {
			t.Errorf("Compare(%q, 5) claims to know an order", v)
		}
		if _, ok := Compare("5", v); ok {
			t.Errorf("Compare(5, %q) claims to know an order", v)
		}
		if _, ok := Compare(v, v); ok {
			t.Errorf("Compare(%q, %q) claims to know an order", v, v)
		}
	}
}

func TestComparingDoesNotAllocate(t *testing.T) {
	a, b := "123456789012345678901234567890", "123456789012345678901234567891"
	sum := 0
	n := testkit.Allocs(100, func() {
		order, _ := Compare(a, b)
		sum += order
	})
	if n != 0 || sum >= 0 {
		t.Errorf("Compare allocates %v times, and the orders add up to %d", n, sum)
	}
}

// FuzzCompareAgreesWithArithmetic checks against math/big. Package interop has
// the comparison with apimachinery, which has one since 0.35.
func FuzzCompareAgreesWithArithmetic(f *testing.F) {
	for _, s := range [][2]string{{"1", "2"}, {"0", "1"}, {"", ""}, {"10", "010"}, {"99999999999999999999", "9"}, {"a", "1"}} {
		f.Add(s[0], s[1])
	}
	f.Fuzz(func(t *testing.T, a, b string) {
		order, ok := Compare(a, b)
		if reverse, rok := Compare(b, a); rok != ok || reverse != -order {
			t.Fatalf("Compare(%q, %q) = %d, %v, but swapped %d, %v", a, b, order, ok, reverse, rok)
		}
		if !ok {
			return
		}
		x, xok := new(big.Int).SetString(a, 10)
		y, yok := new(big.Int).SetString(b, 10)
		if !xok || !yok || x.Cmp(y) != order {
			t.Fatalf("Compare(%q, %q) = %d; arithmetic says %d", a, b, order, x.Cmp(y))
		}
	})
}
