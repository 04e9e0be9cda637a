package official

import (
	"bytes"
	"reflect"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kinglet-go/kinglet/internal/wire/scan"
)

// A type may parse a Quantity anywhere in its own decoder, and keep it in any form, so the
// type does not show whether a text is a Quantity. Decoding does: each text with a large
// exponent is replaced by a similar one that is not a valid Quantity. If the result can be
// decoded, none of the texts was a Quantity. A decoder that ignores the error of
// ParseQuantity is not recognised.

// change returns the replacement of text, whose exponent begins at text[at].
type change func(text []byte, at int) []byte

// broken keeps the length, hashes and base64.
func broken(text []byte, at int) []byte {
	text = bytes.Clone(text)
	text[at] = 'a'
	return text
}

// beyond keeps numbers: 64 bits are not enough for the exponent.
func beyond(text []byte, at int) []byte {
	return append(bytes.Clone(text[:at+1]), "99999999999999999999"...)
}

// tame keeps the length and quantities: it makes the exponent the number's fraction, or
// more digits of it.
func tame(text []byte, at int) []byte {
	text = bytes.Clone(text)
	text[at] = '.'
	for i := at - 1; i >= 0 && (isDigit(text[i]) || text[i] == '.'); i-- {
		if text[i] == '.' {
			text[at] = '0'
		}
	}
	if sign := &text[at+1]; *sign == '+' || *sign == '-' {
		*sign = '0'
	}
	return text
}

func isDigit(c byte) bool { return '0' <= c && c <= '9' }

// syntax decodes one encoding.
type syntax struct {
	// may reports that raw may have a text with a large exponent. It is quick.
	may func(raw []byte) bool
	// rewrite returns raw with all such texts changed.
	rewrite func(raw []byte, c change) ([]byte, error)
	decode  func(raw []byte, v any) error
	// tries are the changes that leave no Quantity.
	tries []change
}

// unmarshal decodes raw into v. It returns a *scan.ExponentError if it would take
// practically forever to compute a Quantity. A FieldsV1 has none: it keeps its bytes.
func (s *syntax) unmarshal(raw []byte, v any) error {
	if _, ok := v.(*metav1.FieldsV1); !ok && s.may(raw) {
		if err := s.endless(raw, reflect.TypeOf(v).Elem()); err != nil {
			return err
		}
	}
	return s.decode(raw, v)
}

// endless returns an error if decoding raw into a value of typ might not end.
func (s *syntax) endless(raw []byte, typ reflect.Type) error {
	var refused *scan.ExponentError
	var unreadable error
	changed := func(c change) error {
		with, err := s.rewrite(raw, func(text []byte, at int) []byte {
			if refused == nil {
				refused = scan.NewExponentError(text)
			}
			return c(text, at)
		})
		if unreadable = err; err != nil || refused == nil {
			return err
		}
		return s.decode(with, reflect.New(typ).Interface())
	}
	for _, c := range s.tries {
		if changed(c) == nil {
			return nil
		}
	}
	if unreadable != nil {
		return unreadable
	}
	refused.Err = changed(tame)
	return refused
}

// hasExponent reports that b has an exponent of six digits or more: five are not enough
// for a large one.
func hasExponent(b []byte) bool { return exponentIn(b, 0) >= 0 }

// exponentIn returns where the next such exponent begins in b[from:], or -1.
func exponentIn(b []byte, from int) int {
	const enough = 6
	// One of every six bytes is in the run.
	for i := from + enough; i < len(b); i += enough {
		if !isDigit(b[i]) {
			continue
		}
		start, end := i, i+1
		for start > from && isDigit(b[start-1]) {
			start--
		}
		for end < len(b) && isDigit(b[end]) {
			end++
		}
		i = end - 1
		at := start - 1
		if at > from && (b[at] == '+' || b[at] == '-') {
			at--
		}
		if end-start >= enough && at >= from && b[at]|0x20 == 'e' {
			return at
		}
	}
	return -1
}
