package official

import (
	"bytes"
	"encoding/binary"
	stdjson "encoding/json"
	"reflect"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/json"

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

var (
	jsonSyntax = &syntax{
		// An escape may hide a digit.
		may:     func(raw []byte) bool { return hasExponent(raw) || bytes.Contains(raw, []byte(`\u`)) },
		rewrite: rewriteJSON,
		decode:  json.Unmarshal,
		tries:   []change{broken, beyond},
	}
	protobufSyntax = &syntax{
		may:     hasExponent,
		rewrite: rewriteProtobuf,
		decode:  func(raw []byte, v any) error { return v.(Protobuf).Unmarshal(raw) },
		// The length is before the text.
		tries: []change{broken},
	}
)

// rewriteJSON changes strings, names included, and numbers. What is no JSON is refused
// before any of it is decoded, so it may stay as it is.
func rewriteJSON(raw []byte, c change) ([]byte, error) {
	var with, scratch []byte
	kept := 0 // what was copied
	for i := 0; i < len(raw); {
		var text []byte
		var end int
		switch number := raw[i] == '-' || isDigit(raw[i]); {
		case raw[i] == '"':
			text, end = scan.Text(raw, i, &scratch)
		case number:
			end, _, _ = scan.Number(raw, i)
			text = raw[i:max(i, end)]
		}
		if end <= i {
			i++
			continue
		}
		if at := scan.LargeExponent(text); at >= 0 {
			with = append(with, raw[kept:i]...)
			text = c(text, at)
			if n, _, ok := scan.Number(text, 0); raw[i] != '"' && ok && n == len(text) {
				with = append(with, text...)
			} else {
				quoted, err := stdjson.Marshal(string(text))
				if err != nil {
					return nil, err
				}
				with = append(with, quoted...)
			}
			kept = end
		}
		i = end
	}
	if kept == 0 {
		return raw, nil
	}
	return append(with, raw[kept:]...), nil
}

// rewriteProtobuf changes texts of a length that is known; where raw cannot be read as
// messages, all that looks like an exponent.
func rewriteProtobuf(raw []byte, c change) ([]byte, error) {
	with := bytes.Clone(raw)
	inMessage(raw, 0, len(raw), maxMessages, func(start, end, at int) {
		copy(with[start:end], c(raw[start:end], at-start))
	})
	return with, nil
}

// maxMessages is how deep messages are followed, more than any type nests.
const maxMessages = 200

// inMessage calls found with each text in raw[from:to] that has a large exponent, and
// with where the exponent begins. Any bytes may be a message.
func inMessage(raw []byte, from, to, depth int, found func(start, end, at int)) {
	for from < to && depth > 0 {
		start, end, text := field(raw[from:to])
		if end < 0 {
			break
		}
		start, end = from+start, from+end
		if text {
			if at := scan.LargeExponent(raw[start:end]); at >= 0 {
				found(start, end, start+at)
			}
			// A message may end with such a text, and have another before it.
			inMessage(raw, start, end, depth-1, found)
		}
		from = end
	}
	for at := exponentIn(raw[:to], from); at >= 0; at = exponentIn(raw[:to], at+1) {
		start, end := at, at+2
		for start > from && (isDigit(raw[start-1]) || bytes.IndexByte([]byte("+-."), raw[start-1]) >= 0) {
			start--
		}
		for end < to && isDigit(raw[end]) {
			end++
		}
		found(start, end, at)
	}
}

// field returns where the value of the first field of a message is. text: it may be a
// text. end is -1 for a field that is broken, or a group.
func field(raw []byte) (start, end int, text bool) {
	tag, start := binary.Uvarint(raw)
	if start <= 0 {
		return 0, -1, false
	}
	size := uint64(0)
	switch value, n := binary.Uvarint(raw[start:]); tag & 7 {
	case 0, 2:
		if n <= 0 {
			return 0, -1, false
		}
		start += n
		if text = tag&7 == 2; text {
			size = value
		}
	case 1:
		size = 8
	case 5:
		size = 4
	default:
		return 0, -1, false
	}
	if size > uint64(len(raw)-start) {
		return 0, -1, false
	}
	return start, start + int(size), text
}
