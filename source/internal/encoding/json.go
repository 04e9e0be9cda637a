package encoding

import (
	"bytes"
	stdjson "encoding/json"
	"errors"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	utiljson "k8s.io/apimachinery/pkg/util/json"

	"github.com/kinglet-go/kinglet/internal/wire/formats"
	"github.com/kinglet-go/kinglet/internal/wire/scan"
)

var (
	errNotJSONObject = errors.New("not a JSON object")
	errCutShort      = errors.New("JSON that ends too early")
	errNoObject      = errors.New("not an object")
)

// json implements Encoding. An object has its kind in its own members, which may
// come in any order. Of members with one name the last counts, as in every decoder.
type json struct{}

func (json) Format() formats.Format                { return formats.JSON }
func (json) MediaType() string                     { return runtime.ContentTypeJSON }
func (json) Frames() Frames                        { return Frames{json: true, lines: true} }
func (e json) Object(raw []byte) (Object, error)   { return e.Item(raw) }
func (json) Unmarshal(raw []byte, into Meta) error { return utiljson.Unmarshal(raw, into) }

func (e json) Event(frame []byte) (Event, error) {
	var event Event
	var typ, object []byte
	err := members(frame, func(name, value []byte) bool {
		switch string(name) {
		case "type":
			typ = value
			event.Type, _ = text(value)
		case "object":
			object = value
		}
		return true
	})
	switch {
	case err != nil:
		return event, err
	case typ == nil && e.Kind(frame) == StatusKind:
		event.Object.Raw, event.Bare = frame, true
	case !isObject(object):
		event.Object.Raw, event.Err = object, errNoObject
	default:
		event.Object.Raw = object
	}
	return event, nil
}

func (json) Item(raw []byte) (Object, error) {
	if !isObject(raw) {
		return Object{}, fmt.Errorf("%w: %s", errNoObject, Glimpse(raw))
	}
	return Object{Raw: raw}, nil
}

func (json) Kind(raw []byte) schema.GroupVersionKind      { return kindIn(raw, false) }
func (json) FirstKind(raw []byte) schema.GroupVersionKind { return kindIn(raw, true) }

// kindIn returns the first kind in an object, or the last. Only what is text counts.
func kindIn(raw []byte, first bool) schema.GroupVersionKind {
	var apiVersion, kind string
	_ = members(raw, func(name, value []byte) bool {
		switch string(name) {
		case "apiVersion":
			if s, ok := text(value); ok {
				apiVersion = s
			}
		case "kind":
			if s, ok := text(value); ok {
				kind = s
			}
		}
		return !first || apiVersion == "" || kind == ""
	})
	return schema.FromAPIVersionAndKind(apiVersion, kind)
}

func (json) Identity(raw []byte) Identity {
	var id Identity
	// The error is known already; the members before it count.
	_ = members(raw, func(name, value []byte) bool {
		if string(name) != "metadata" {
			return true
		}
		id = Identity{}
		_ = members(value, func(name, value []byte) bool {
			s, ok := text(value)
			if !ok {
				return true
			}
			switch string(name) {
			case "name":
				id.Key.Name = s
			case "namespace":
				id.Key.Namespace = s
			case "uid":
				id.UID = types.UID(s)
			case "resourceVersion":
				id.Version = s
			}
			return true
		})
		return true
	})
	return id.named()
}

func (json) EmptyList(gvk schema.GroupVersionKind, lm metav1.ListMeta) ([]byte, error) {
	var list struct {
		metav1.TypeMeta `json:",inline"`
		Metadata        metav1.ListMeta `json:"metadata"`
		Items           []struct{}      `json:"items"`
	}
	list.APIVersion, list.Kind = gvk.ToAPIVersionAndKind()
	list.Metadata, list.Items = lm, []struct{}{}
	return stdjson.Marshal(&list)
}

// jsonPrefixes are the beginnings of events as Go's encoder writes them. The
// object follows, and a bracket.
var jsonPrefixes = [...]struct{ text, typ string }{
	{`{"type":"ADDED","object":`, "ADDED"},
	{`{"type":"MODIFIED","object":`, "MODIFIED"},
	{`{"type":"DELETED","object":`, "DELETED"},
}

func (json) Prefix(frame []byte) (Prefix, bool) {
	for i := range jsonPrefixes {
		p := &jsonPrefixes[i]
		if len(frame) >= len(p.text) && string(frame[:len(p.text)]) == p.text {
			return Prefix{Type: p.typ, Rest: frame[len(p.text):], Ends: endsJSON}, true
		}
	}
	return Prefix{}, false
}

func endsJSON(tail []byte) bool {
	return len(tail) > 0 && tail[0] == '}' && 1+Spaces(tail[1:]) == len(tail)
}

func isSpace(c byte) bool { return c == ' ' || c == '\n' || c == '\t' || c == '\r' }

// Spaces counts the white space at the start of b.
func Spaces(b []byte) int {
	for i, c := range b {
		if !isSpace(c) {
			return i
		}
	}
	return len(b)
}

// isObject reports whether value is an object.
func isObject(value []byte) bool {
	n := Spaces(value)
	return n < len(value) && value[n] == '{'
}

// members calls visit with each member of the object raw, in order, until visit
// returns false. Names come unquoted; both arguments may alias raw. It visits the
// members before a syntax error.
func members(raw []byte, visit func(name, value []byte) bool) error {
	raw = raw[Spaces(raw):]
	if len(raw) == 0 || raw[0] != '{' {
		return errNotJSONObject
	}
	raw = raw[1:]
	for {
		raw = raw[Spaces(raw):]
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
		raw = raw[Spaces(raw):]
		if len(raw) == 0 || raw[0] != ':' {
			return errNotJSONObject
		}
		raw = raw[1:]
		raw = raw[Spaces(raw):]
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

// text returns the text of a JSON string.
func text(value []byte) (string, bool) {
	b, ok := unquoted(value)
	return string(b), ok
}

// unquoted reads a JSON string. Its result may alias raw.
func unquoted(raw []byte) ([]byte, bool) {
	if len(raw) < 2 || raw[0] != '"' || raw[len(raw)-1] != '"' {
		return nil, false
	}
	if in := raw[1 : len(raw)-1]; bytes.IndexByte(in, '\\') < 0 {
		return in, true
	}
	var s string
	err := stdjson.Unmarshal(raw, &s)
	return []byte(s), err == nil
}
