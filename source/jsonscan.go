package source

import (
	"bytes"
	"encoding/json"
	"errors"

	"github.com/kinglet-go/kinglet/internal/wire/scan"
)

func isSpace(c byte) bool { return c == ' ' || c == '\n' || c == '\t' || c == '\r' }

// spaces counts the white space at the start of b.
func spaces(b []byte) int {
	for i, c := range b {
		if !isSpace(c) {
			return i
		}
	}
	return len(b)
}

var (
	errNotJSONObject = errors.New("not a JSON object")
	errCutShort      = errors.New("JSON that ends too early")
)

// members calls visit with each member of the JSON object raw, in order,
// until visit returns false. Names come unquoted; both alias raw. It goes as far as the text
// can be followed, so that what stands before a fault is still seen.
func members(raw []byte, visit func(name, value []byte) bool) error {
	raw = raw[spaces(raw):]
	if len(raw) == 0 || raw[0] != '{' {
		return errNotJSONObject
	}
	raw = raw[1:]
	for {
		raw = raw[spaces(raw):]
		switch {
		case len(raw) == 0:
			return errCutShort
		case raw[0] == '}':
			return nil
		case raw[0] == ',':
			raw = raw[1:]
			continue
		case raw[0] != '"':
			return errNotJSONObject
		}
		n := new(scan.Extent).End(raw)
		if n == 0 {
			return errCutShort
		}
		name, ok := unquoted(raw[:n])
		if !ok {
			return errNotJSONObject
		}
		raw = raw[n:]
		raw = raw[spaces(raw):]
		if len(raw) == 0 || raw[0] != ':' {
			return errNotJSONObject
		}
		raw = raw[1:]
		raw = raw[spaces(raw):]
		n = new(scan.Extent).End(raw)
		if n == 0 {
			return errCutShort
		}
		if !visit(name, raw[:n]) {
			return nil
		}
		raw = raw[n:]
	}
}

// unquoted reads a JSON string. What it returns may alias raw.
func unquoted(raw []byte) ([]byte, bool) {
	if len(raw) < 2 || raw[0] != '"' || raw[len(raw)-1] != '"' {
		return nil, false
	}
	if in := raw[1 : len(raw)-1]; bytes.IndexByte(in, '\\') < 0 {
		return in, true
	}
	var s string
	err := json.Unmarshal(raw, &s)
	return []byte(s), err == nil
}

// unquote reads a JSON string into one of its own.
func unquote(raw []byte) (string, bool) {
	s, ok := unquoted(raw)
	return string(s), ok
}
