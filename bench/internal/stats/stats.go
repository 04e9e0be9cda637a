// Package stats is what benchmarks do with rows and their figures.
package stats

import (
	"fmt"
	"slices"
	"strings"
)

// Median is the middle of xs, the upper one of two, and 0 of none.
func Median(xs []float64) float64 {
	if len(xs) == 0 {
		return 0
	}
	xs = slices.Sorted(slices.Values(xs))
	return xs[len(xs)/2]
}

// Choose returns those of rows that a comma-separated list names, in the list's order:
// all of them if it is empty.
func Choose[R any](rows []R, name func(R) string, list string) ([]R, error) {
	if list == "" {
		return rows, nil
	}
	var names []string
	for _, r := range rows {
		names = append(names, name(r))
	}
	var chosen []R
	for one := range strings.SplitSeq(list, ",") {
		i := slices.Index(names, one)
		if i < 0 {
			return nil, fmt.Errorf("no row %q; there are %s", one, strings.Join(names, ", "))
		}
		chosen = append(chosen, rows[i])
	}
	return chosen, nil
}
