package scan

import (
	"encoding/binary"
	"math/bits"
)

// A word is eight bytes, the first one lowest. A flag is the highest bit of its
// byte.
const (
	ones  = 0x0101010101010101
	low7  = 0x7f * ones
	flags = 0x80 * ones
)

// differ has a flag for each byte of x7 that is not c; other bits are noise.
// No byte of x7 is above 0x7f, so the sum does not carry from one to the next:
// 0x7f+0x7f = 0xfe.
func differ(x7 uint64, c byte) uint64 { return (x7 ^ uint64(c)*ones) + low7 }

// first returns the index of the byte with the lowest flag.
func first(f uint64) int { return bits.TrailingZeros64(f) >> 3 }

// tail returns the last n < 8 bytes of b as a word, with zeros after them.
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

// slashes returns the flags of the backslashes in x, and those of the bytes that
// they escape, if no two backslashes are adjacent. If the two results share a flag,
// some are adjacent; use runs then. escaped is slash>>56 of the word before: the
// flag of the first byte if that word ends with an escaping backslash.
func slashes(x, escaped uint64) (slash, behind uint64) {
	slash = ^(differ(x&low7, '\\') | x) & flags
	return slash, slash<<8 | escaped
}

// runs returns the flags of the backslashes that are not escaped themselves, and
// those of the bytes after them.
func runs(slash, escaped uint64) (meant, behind uint64) {
	behind = escaped
	for rest := slash; rest != 0; rest &= rest - 1 {
		if lowest := rest & -rest; behind&lowest == 0 {
			meant |= lowest
			behind |= lowest << 8
		}
	}
	return meant, behind
}

// quotes returns the flags of the quotes in x that are not escaped.
func quotes(x, behind uint64) uint64 {
	return ^(differ(x&low7, '"') | x | behind) & flags
}
