// Package editdistance measures how similar two names are, to find the one that a
// mistyped name was meant to be.
package editdistance

// Between returns the Levenshtein distance of two texts, in bytes: how many insertions,
// deletions and substitutions turn one into the other. Its cost is the product of their
// lengths.
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
