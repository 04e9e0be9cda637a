package scan

import (
	"encoding/binary"
	"math/bits"
)

// maxDepth is how deep values may nest for Valid. Real objects stay below 40.
const maxDepth = 128

// Valid returns where the value that begins at b[at] ends if encoding/json would
// accept the value, and false if not. It also refuses values that nest deeper than
// maxDepth.
func Valid(b []byte, at int) (end int, ok bool) {
	var open [maxDepth]byte
	depth, i := 0, at
	for {
		// A value begins here.
		if i = Space(b, i); i >= len(b) {
			return i, false
		}
		switch c := b[i]; c {
		case '{', '[':
			if depth == maxDepth {
				return i, false
			}
			// '}' is '{'+2, as ']' is '['+2.
			open[depth] = c + 2
			depth++
			if i = Space(b, i+1); i >= len(b) || b[i] != c+2 {
				if c == '{' {
					if i, ok = MemberName(b, i); !ok {
						return i, false
					}
				}
				continue
			}
			depth--
			i++
		case '"':
			if i, ok = StringEnd(b, i); !ok {
				return i, false
			}
		case 'n', 't', 'f':
			if i, ok = Literal(b, i); !ok {
				return i, false
			}
		default:
			if i, _, ok = Number(b, i); !ok {
				return i, false
			}
		}
		// A value ended here.
		for ; ; i++ {
			if depth == 0 {
				return i, true
			}
			if i = Space(b, i); i >= len(b) {
				return i, false
			}
			if b[i] == open[depth-1] {
				depth--
				continue
			}
			if b[i] != ',' {
				return i, false
			}
			if i++; open[depth-1] == '}' {
				if i, ok = MemberName(b, Space(b, i)); !ok {
					return i, false
				}
			}
			break
		}
	}
}

// MemberName skips a member's name and the colon after it.
func MemberName(b []byte, at int) (int, bool) {
	i, ok := StringEnd(b, at)
	if !ok {
		return i, false
	}
	if i = Space(b, i); i >= len(b) || b[i] != ':' {
		return i, false
	}
	return i + 1, true
}

// StringEnd returns where the string that begins at b[at] ends, and false if
// none begins there or encoding/json would refuse it.
func StringEnd(b []byte, at int) (end int, ok bool) {
	if at >= len(b) || b[at] != '"' {
		return at, false
	}
	i := at + 1
	for {
		for ; len(b)-i >= 8; i += 8 {
			x := binary.LittleEndian.Uint64(b[i:])
			q, s := x^'"'*ones, x^'\\'*ones
			// Only the lowest flag of each is exact, and only that is used.
			stop := ((q-ones)&^q | (s-ones)&^s | (x-0x20*ones)&^x) & flags
			if stop != 0 {
				i += bits.TrailingZeros64(stop) >> 3
				break
			}
		}
		if i >= len(b) {
			return i, false
		}
		switch c := b[i]; {
		case c == '"':
			return i + 1, true
		case c == '\\':
			n := escape(b, i)
			if n == 0 {
				return i, false
			}
			i += n
		case c < ' ':
			return i, false
		default:
			i++
		}
	}
}

// escape returns the length of the escape that begins at b[at], or 0 if it is none.
func escape(b []byte, at int) int {
	if at+1 >= len(b) {
		return 0
	}
	switch b[at+1] {
	case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
		return 2
	case 'u':
		if at+6 > len(b) {
			return 0
		}
		for _, c := range b[at+2 : at+6] {
			if c-'0' > 9 && c|0x20-'a' > 5 {
				return 0
			}
		}
		return 6
	}
	return 0
}

// Text returns the text of the string at b[at] and where it ends, or -1 for a string
// that encoding/json refuses. A text with an escape is written to scratch, and valid
// until the next call.
func Text(b []byte, at int, scratch *[]byte) (text []byte, end int) {
	text, end, plain, ok := String(b, at)
	if ok && !plain {
		text, ok = Unescape((*scratch)[:0], text)
		*scratch = text
	}
	if !ok {
		return nil, -1
	}
	return text, end
}

// Item returns where the next element of an array begins, or the name of an object's
// next member. at is where the one before ended, or for the first one the place
// after the opening bracket. At the closing bracket, more is false and Item returns
// the place after it. It returns -1 if there is anything else.
func Item(b []byte, at int, first bool, closing byte) (next int, more bool) {
	at = Space(b, at)
	switch {
	case at >= len(b):
		return -1, false
	case b[at] == closing:
		return at + 1, false
	case first:
		return at, true
	case b[at] == ',':
		return Space(b, at+1), true
	}
	return -1, false
}

// Colon returns where the value begins after a name that ended at at, which is within
// b, or -1.
func Colon(b []byte, at int) int {
	if at = Space(b, at); at >= len(b) || b[at] != ':' {
		return -1
	}
	if at = Space(b, at+1); at < len(b) {
		return at
	}
	return -1
}
