package stats

import (
	"slices"
	"strings"
	"testing"
)

func TestTheMedianIsInTheMiddle(t *testing.T) {
	for _, c := range []struct {
		xs   []float64
		want float64
	}{{nil, 0}, {[]float64{3}, 3}, {[]float64{9, 1, 5}, 5}, {[]float64{4, 1, 3, 2}, 3}} {
		if got := Median(c.xs); got != c.want {
			t.Errorf("the median of %v is %v, want %v", c.xs, got, c.want)
		}
	}
}

func TestRowsAreChosenByNameInTheListsOrder(t *testing.T) {
	rows := []string{"a", "b", "c"}
	same := func(s string) string { return s }
	for list, want := range map[string][]string{"": rows, "c,a": {"c", "a"}} {
		if got, err := Choose(rows, same, list); err != nil || !slices.Equal(got, want) {
			t.Errorf("%q chooses %v, %v", list, got, err)
		}
	}
	if _, err := Choose(rows, same, "a,x"); err == nil || !strings.Contains(err.Error(), "a, b, c") {
		t.Errorf("an unknown row: %v", err)
	}
}
