package scan

import (
	"bytes"
	"fmt"
	"math"
	"strconv"
	"unicode"
)

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

// maxExponent is the largest exponent of a Quantity that is parsed. To parse
// 1e-200000 takes 4.5 ms; a random one, far larger, kept a test busy for the 30
// minutes after which it was stopped.
const maxExponent = 200_000

// ExponentError reports that a Quantity was not parsed, because parsing could keep
// the decoder busy practically for ever: apimachinery computes the power of ten.
type ExponentError struct {
	// Text is the quantity, or the end of it.
	Text string
	// Err is why the object would be refused without the exponent as well, or nil. Then
	// nothing shows that the text is a quantity.
	Err error
}

// Error implements error.
func (e *ExponentError) Error() string {
	if e.Err != nil {
		return fmt.Sprintf("%v; and %q has an exponent beyond ±%d, which would take too long to compute", e.Err, e.Text, maxExponent)
	}
	return fmt.Sprintf("quantity %q has an exponent beyond ±%d, which would take too long to compute", e.Text, maxExponent)
}

// Unwrap returns Err.
func (e *ExponentError) Unwrap() error { return e.Err }

// NewExponentError returns the error for a quantity.
func NewExponentError(text []byte) *ExponentError {
	return &ExponentError{Text: string(text[max(0, len(text)-32):])}
}

// Exponent returns an *ExponentError if text, which is a Quantity or ends with one,
// has an exponent that is too large to compute. A text too short for one is not
// parsed.
func Exponent(text []byte) error {
	at := LargeExponent(text)
	if at < 0 {
		return nil
	}
	return NewExponentError(bytes.TrimSpace(text))
}

// LargeExponent returns where the exponent of text begins, with its e, if text ends with
// one that is too large to compute, or -1.
func LargeExponent(text []byte) int {
	// The parser trims it, too.
	trimmed := bytes.TrimRightFunc(text, unicode.IsSpace)
	if len(trimmed) < len("1e200001") {
		return -1
	}
	at := bytes.LastIndexAny(trimmed, "eE")
	if at < 0 {
		return -1
	}
	n, err := strconv.ParseInt(string(trimmed[at+1:]), 10, 64)
	// The parser keeps 32 bits of it, and returns an error if it is no number.
	if exponent := int32(n); err != nil || exponent <= maxExponent && exponent >= -maxExponent {
		return -1
	}
	return at
}

// Space returns where the white space that begins at b[at] ends, or at if there is
// none.
func Space(b []byte, at int) int {
	if at < len(b) && b[at] > ' ' {
		return at
	}
	return space(b, at)
}

func space(b []byte, at int) int {
	for ; at < len(b); at++ {
		switch b[at] {
		case ' ', '\n', '\t', '\r':
		default:
			return at
		}
	}
	return at
}
