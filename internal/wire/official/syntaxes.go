package official

import (
	"bytes"
	"encoding/binary"
	stdjson "encoding/json"

	"k8s.io/apimachinery/pkg/util/json"

	"github.com/kinglet-go/kinglet/internal/wire/scan"
)

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
