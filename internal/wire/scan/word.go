package scan

import (
	"encoding/binary"
	"math/bits"
)

// Eight bytes in one word, the first one lowest. A flag is the highest bit of
// its byte.
const (
	ones  = 0x0101010101010101
	low7  = 0x7f * ones
	flags = 0x80 * ones
)

// differ has a flag for each byte of x that is not c; other bits are noise.
// x7 is x&low7. The sum does not carry from one byte to the next:
// 0x7f+0x7f = 0xfe.
func differ(x, x7 uint64, c byte) uint64 {
	return (x7 ^ uint64(c)*ones) + low7 | x
}

// first is the index of the byte that the lowest flag stands in.
func first(f uint64) int { return bits.TrailingZeros64(f) >> 3 }

// tail returns the last n < 8 bytes of b as a word, with zeros behind them.
func tail(b []byte, n int) uint64 {
	if len(b) >= 8 {
		return binary.LittleEndian.Uint64(b[len(b)-8:]) >> (8 * uint(8-n))
	}
	var x uint64
	for i, c := range b[len(b)-n:] {
		x |= uint64(c) << (8 * uint(i))
	}
	return x
}

// escape takes the flags of bytes behind a backslash out of quote and returns
// it, and whether the word's n bytes end in a backslash that takes the next
// word's first byte. escaped is what it returned of the word before.
func escape(quote, slash uint64, escaped bool, n int) (uint64, bool) {
	if escaped {
		quote &^= 0x80
		slash &^= 0x80
	}
	for slash != 0 {
		i := bits.TrailingZeros64(slash)
		if i>>3 == n-1 {
			return quote, true
		}
		// The flag of the backslash, and that of the byte behind it.
		both := uint64(1)<<i | uint64(1)<<(i+8)
		slash &^= both
		quote &^= both
	}
	return quote, false
}
