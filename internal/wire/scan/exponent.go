package scan

import (
	"bytes"
	"fmt"
	"strconv"
	"unicode"
)

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
