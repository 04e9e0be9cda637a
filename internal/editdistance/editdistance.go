// Package editdistance finds the name that a mistyped one was meant to be.
package editdistance

// Between returns Levenshtein's distance of two texts, in bytes: how many insertions,
// deletions and substitutions make one of the other. It costs their product.
func Between(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			substitute := diagonal
			if a[i] != b[j] {
				substitute++
			}
			diagonal = row[j+1]
			row[j+1] = min(substitute, row[j]+1, diagonal+1)
		}
	}
	return row[len(b)]
}
