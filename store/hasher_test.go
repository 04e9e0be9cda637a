package store

import (
	"fmt"
	"math"
	"testing"
)

// similarKeys are as alike as those of a cluster: counters, and names that
// differ in one byte at any place, of any length.
func similarKeys() []Key {
	var keys []Key
	for i := range 20000 {
		keys = append(keys, Key{Namespace: fmt.Sprintf("namespace-%02d", i%20), Name: fmt.Sprintf("web-%d", i/20)})
	}
	for n := range 300 {
		name := make([]byte, n)
		for i := range name {
			for _, c := range "\x00ab" {
				name[i] = byte(c)
				keys = append(keys, Key{Namespace: "a", Name: string(name)}, Key{Name: string(name) + "."})
			}
			name[i] = 'a'
		}
	}
	return keys
}

func TestSimilarKeysHaveFingerprintsThatDifferInEveryPart(t *testing.T) {
	keys := similarKeys()
	for _, byText := range []bool{false, true} {
		h := newHasher(byText)
		prints := map[uint64]Key{}
		seen := map[Key]bool{}
		const buckets = 256
		var byBits [4][buckets]int
		n := 0
		for _, k := range keys {
			if seen[k] {
				continue
			}
			seen[k] = true
			n++
			f := h.of(k)
			if other, ok := prints[f.print]; ok {
				t.Fatalf("by text %v: %q and %q have one print", byText, k, other)
			}
			prints[f.print] = k
			for i := range byBits {
				byBits[i][f.tag>>(8*i)%buckets]++
			}
		}
		// Each byte of the tag chooses something: the segment, the byte of a
		// place, the group. With random tags chi-square is 255 ± 23.
		for i, counts := range byBits {
			want := float64(n) / buckets
			chi := 0.0
			for _, c := range counts {
				chi += (float64(c) - want) * (float64(c) - want) / want
			}
			if math.Abs(chi-255) > 8*23 {
				t.Errorf("by text %v: byte %d of the tags is not spread evenly: chi-square is %.0f", byText, i, chi)
			}
		}
	}
}
