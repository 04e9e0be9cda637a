package scan

import (
	"encoding/binary"
	"math/bits"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"
)

// String reads the string whose opening quote is at b[at]. content is the bytes
// between the quotes; it aliases b. plain: content is the string's text, without an
// escape, a control character or invalid UTF-8; otherwise Unescape returns the text.
// ok is false if no string begins at b[at] or if it ends beyond b.
func String(b []byte, at int) (content []byte, end int, plain, ok bool) {
	if at >= len(b) || b[at] != '"' {
		return nil, at, false, false
	}
	start := at + 1
	var seen uint64 // a flag for bytes beyond ASCII
	for i := start; i < len(b); i += 8 {
		var x uint64
		if len(b)-i >= 8 {
			x = binary.LittleEndian.Uint64(b[i:])
		} else {
			// The zeros after the end count as control characters, and so end
			// the search.
			x = tail(b, len(b)-i)
		}
		x7 := x & low7
		// x7+0x60 has a flag from 0x20 on.
		stop := ^(differ(x7, '"')&differ(x7, '\\')&(x7+0x60*ones) | x) & flags
		if stop == 0 {
			seen |= x
			continue
		}
		// Only what is before the lowest flag counts.
		seen |= x & (stop&-stop - 1)
		i += first(stop)
		if i < len(b) && b[i] == '"' {
			content = b[start:i:i]
			return content, i + 1, seen&flags == 0 || utf8.Valid(content), true
		}
		return unusual(b, at, i)
	}
	return nil, at, false, false
}

// unusual finds the end of a string that begins at b[at] and has, at b[from],
// a backslash or a control character.
func unusual(b []byte, at, from int) (content []byte, end int, plain, ok bool) {
	// There is no escape before from, so the search may begin there.
	e := Extent{at: from - at}
	n := e.quotes(b[at:])
	if n == 0 {
		return nil, at, false, false
	}
	return b[at+1 : at+n-1 : at+n-1], at + n, false, true
}

// Unescape appends to dst the text of a string with content between its quotes, as
// encoding/json decodes it: invalid UTF-8, and half of a surrogate pair, become
// U+FFFD. It returns false, and an undefined result, for content that encoding/json
// refuses: control characters, unknown escapes, a quote.
func Unescape(dst, content []byte) ([]byte, bool) {
	for i := 0; i < len(content); {
		c := content[i]
		switch {
		case c == '\\':
			if i+1 == len(content) {
				return dst, false
			}
			i += 2
			switch content[i-1] {
			case '"', '\\', '/':
				dst = append(dst, content[i-1])
			case 'b':
				dst = append(dst, '\b')
			case 'f':
				dst = append(dst, '\f')
			case 'n':
				dst = append(dst, '\n')
			case 'r':
				dst = append(dst, '\r')
			case 't':
				dst = append(dst, '\t')
			case 'u':
				r, ok := hex4(content[i:])
				if !ok {
					return dst, false
				}
				i += 4
				if utf16.IsSurrogate(r) {
					r, i = pair(r, content, i)
				}
				dst = utf8.AppendRune(dst, r)
			default:
				return dst, false
			}
		case c == '"', c < ' ':
			return dst, false
		case c < utf8.RuneSelf:
			dst = append(dst, c)
			i++
		default:
			r, size := utf8.DecodeRune(content[i:])
			dst = utf8.AppendRune(dst, r)
			i += size
		}
	}
	return dst, true
}

// pair joins the surrogate r with the escape at content[i], if that is its other
// half, and returns where the next character is.
func pair(r rune, content []byte, i int) (rune, int) {
	if len(content)-i >= 6 && content[i] == '\\' && content[i+1] == 'u' {
		if r2, ok := hex4(content[i+2:]); ok {
			if joined := utf16.DecodeRune(r, r2); joined != unicode.ReplacementChar {
				return joined, i + 6
			}
		}
	}
	return unicode.ReplacementChar, i
}

func hex4(b []byte) (rune, bool) {
	if len(b) < 4 {
		return 0, false
	}
	var r rune
	for _, c := range b[:4] {
		switch {
		case '0' <= c && c <= '9':
			c -= '0'
		case 'a' <= c && c <= 'f':
			c -= 'a' - 10
		case 'A' <= c && c <= 'F':
			c -= 'A' - 10
		default:
			return 0, false
		}
		r = r<<4 | rune(c)
	}
	return r, true
}

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
