package store_test

import "testing"

// bytesDice reads decisions from a fuzzer's input, and zeros behind its end.
type bytesDice struct{ b []byte }

func (d *bytesDice) IntN(n int) int {
	if len(d.b) == 0 {
		return 0
	}
	x := int(d.b[0])
	d.b = d.b[1:]
	if n > 256 && len(d.b) > 0 {
		x = x<<8 | int(d.b[0])
		d.b = d.b[1:]
	}
	return x % n
}

func FuzzStoreAnswersLikeItsNaiveTwin(f *testing.F) {
	f.Add([]byte("a few operations to begin with, and some more"))
	f.Fuzz(func(t *testing.T, b []byte) {
		d := &bytesDice{b}
		p := newPair(t, d, 600, "node", "labels")
		p.plain = d.IntN(2) == 0
		for range 200 {
			if len(d.b) == 0 {
				break
			}
			p.step()
		}
		d.b = []byte{1, 2, 3, 4, 5}
		p.verify()
	})
}
