package scan

import (
	"bytes"
	"fmt"
	"strconv"
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
}

// Error implements error.
func (e *ExponentError) Error() string {
	return fmt.Sprintf("quantity %q has an exponent beyond ±%d, which would take too long to compute", e.Text, maxExponent)
}

// Exponent returns an *ExponentError if text, which is a Quantity or ends with one,
// has an exponent that is too large to compute. A text too short for one is not
// parsed.
func Exponent(text []byte) error {
	// The parser trims it, too.
	text = bytes.TrimSpace(text)
	if len(text) < len("1e200001") {
		return nil
	}
	at := bytes.LastIndexAny(text, "eE")
	if at < 0 {
		return nil
	}
	n, err := strconv.ParseInt(string(text[at+1:]), 10, 64)
	// The parser keeps 32 bits of it, and returns an error if it is no number.
	if exponent := int32(n); err != nil || exponent <= maxExponent && exponent >= -maxExponent {
		return nil
	}
	return &ExponentError{Text: string(text[max(0, at-32):])}
}
