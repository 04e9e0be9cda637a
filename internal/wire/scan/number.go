package scan

import "math"

// Number returns where the number that begins at b[at] ends, by JSON's
// grammar, and whether it is an integer: it has no fraction and no exponent.
// ok is false if no number begins there, or if b ends in the middle of one.
// The bytes after a number are not checked: 01 is the number 0, and a 1.
func Number(b []byte, at int) (end int, integer, ok bool) {
	i := at
	if i < len(b) && b[i] == '-' {
		i++
	}
	switch {
	case i < len(b) && b[i] == '0':
		i++
	case digits(b, i) > i:
		i = digits(b, i)
	default:
		return at, false, false
	}
	integer = true
	if i < len(b) && b[i] == '.' {
		end := digits(b, i+1)
		if end == i+1 {
			return at, false, false
		}
		i, integer = end, false
	}
	if i < len(b) && b[i]|0x20 == 'e' {
		i++
		if i < len(b) && (b[i] == '+' || b[i] == '-') {
			i++
		}
		end := digits(b, i)
		if end == i {
			return at, false, false
		}
		i, integer = end, false
	}
	return i, integer, true
}

// digits returns where the digits that begin at b[at] end, or at if there are none.
func digits(b []byte, at int) int {
	for at < len(b) && b[at]-'0' <= 9 {
		at++
	}
	return at
}

// Int returns the value of an integer as Number found it, and false if it is
// none, or not an int64.
func Int(number []byte) (int64, bool) {
	digits, limit := number, uint64(math.MaxInt64)
	if len(digits) > 0 && digits[0] == '-' {
		digits, limit = digits[1:], limit+1
	}
	// Nineteen digits do not overflow an uint64.
	if len(digits) == 0 || len(digits) > 19 {
		return 0, false
	}
	var v uint64
	for _, c := range digits {
		c -= '0'
		if c > 9 {
			return 0, false
		}
		v = v*10 + uint64(c)
	}
	if v > limit {
		return 0, false
	}
	if number[0] == '-' {
		return -int64(v), true
	}
	return int64(v), true
}

// Literal returns where the null, true or false that begins at b[at] ends. ok is
// false if none begins there. The bytes after it are not checked.
func Literal(b []byte, at int) (end int, ok bool) {
	if at >= len(b) {
		return at, false
	}
	word := "null"
	switch b[at] {
	case 't':
		word = "true"
	case 'f':
		word = "false"
	}
	end = at + len(word)
	if end > len(b) || string(b[at:end]) != word {
		return at, false
	}
	return end, true
}
