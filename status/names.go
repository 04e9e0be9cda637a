package status

import "strconv"

// unique numbers names that stand more than once, in place.
func unique(names []string) []string {
	taken := make(map[string]bool, len(names))
	for _, n := range names {
		taken[n] = true
	}
	next := make(map[string]int, len(names))
	for i, n := range names {
		number := next[n]
		if number == 0 {
			next[n] = 1
			continue // the first keeps its name
		}
		for {
			number++
			candidate := n + "#" + strconv.Itoa(number)
			if !taken[candidate] {
				names[i], taken[candidate] = candidate, true
				break
			}
		}
		next[n] = number
	}
	return names
}
