package encoding

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	utiljson "k8s.io/apimachinery/pkg/util/json"

	"github.com/kinglet-go/kinglet/internal/wire/formats"
	"github.com/kinglet-go/kinglet/internal/wire/scan"
)

var (
	errNotJSONObject = errors.New("not a JSON object")
	errCutShort      = errors.New("JSON that ends too early")
)

// jsonSyntax is the syntax of JSON.
type jsonSyntax struct{}

func (jsonSyntax) format() formats.Format { return formats.JSON }
func (jsonSyntax) mediaType() string      { return runtime.ContentTypeJSON }
func (jsonSyntax) streamType() string     { return runtime.ContentTypeJSON }
func (jsonSyntax) starts(first byte) bool { return first == '{' || isSpace(first) }

func (jsonSyntax) unique() bool { return false }

func (jsonSyntax) object(value []byte) bool {
	n := Spaces(value)
	return n < len(value) && value[n] == '{'
}

func (jsonSyntax) text(value []byte) (string, bool) {
	b, ok := unquoted(value)
	return string(b), ok
}

func (jsonSyntax) unmarshal(raw []byte, into Meta) error { return utiljson.Unmarshal(raw, into) }

func (jsonSyntax) untyped(raw []byte) (m map[string]any, err error) {
	err = utiljson.Unmarshal(raw, &m)
	return m, err
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

// members implements syntax. Names come unquoted.
func (jsonSyntax) members(raw []byte, visit func(name, value []byte) bool) error {
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

// unquoted reads a JSON string. Its result may alias raw.
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

func (jsonSyntax) join(members []member) []byte {
	b := []byte{'{'}
	for i, m := range members {
		if i > 0 {
			b = append(b, ',')
		}
		b = fmt.Appendf(b, "%q:%s", m.name, m.value)
	}
	return append(b, '}')
}

func (jsonSyntax) emptyList(gvk schema.GroupVersionKind, lm metav1.ListMeta) ([]byte, error) {
	var list struct {
		metav1.TypeMeta `json:",inline"`
		Metadata        metav1.ListMeta `json:"metadata"`
		Items           []struct{}      `json:"items"`
	}
	list.APIVersion, list.Kind = gvk.ToAPIVersionAndKind()
	list.Metadata, list.Items = lm, []struct{}{}
	return json.Marshal(&list)
}

func (jsonSyntax) reader(w *Window) valueReader { return &jsonReader{w: w} }

// jsonReader reads the members of a list.
type jsonReader struct {
	w *Window
	// first reports that no comma is due.
	first bool
}

func (r *jsonReader) openObject() error {
	r.first = true
	return r.token('{')
}

func (r *jsonReader) name() (string, bool, error) {
	ok, err := r.next('}')
	if err != nil || !ok {
		return "", false, err
	}
	raw, err := r.value()
	if err != nil {
		return "", false, err
	}
	name, ok := unquoted(raw)
	if !ok {
		return "", false, r.w.Malformed("list", "a name was due: %s", Glimpse(raw))
	}
	text := string(name)
	r.w.Consume(len(raw))
	if err := r.token(':'); err != nil {
		return "", false, err
	}
	_, err = r.peek()
	return text, true, err
}

// next consumes the comma before the next member or element, or else the closing
// bracket, when it returns false.
func (r *jsonReader) next(closing byte) (bool, error) {
	c, err := r.peek()
	if err != nil {
		return false, err
	}
	if c == closing {
		r.w.Consume(1)
		r.first = false
		return false, nil
	}
	if !r.first {
		if err := r.token(','); err != nil {
			return false, err
		}
		if _, err := r.peek(); err != nil {
			return false, err
		}
	}
	r.first = false
	return true, nil
}

func (r *jsonReader) openArray() (bool, error) {
	c, err := r.peek()
	if err != nil {
		return false, err
	}
	if c == '[' {
		r.w.Consume(1)
		r.first = true
		return true, nil
	}
	raw, err := r.value()
	if err != nil {
		return false, err
	}
	if string(raw) != "null" {
		return false, r.w.Malformed("list", "its items are no array: %s", Glimpse(raw))
	}
	r.w.Consume(len(raw))
	return false, nil
}

func (r *jsonReader) element() (bool, error) { return r.next(']') }

// peek moves past white space and returns the byte that follows, unread.
func (r *jsonReader) peek() (byte, error) {
	for {
		if err := r.w.Need(1); err != nil {
			return 0, err
		}
		b := r.w.Unread()
		n := Spaces(b)
		if n < len(b) {
			c := b[n]
			r.w.Consume(n)
			return c, nil
		}
		r.w.Consume(n)
	}
}

func (r *jsonReader) token(want byte) error {
	c, err := r.peek()
	if err != nil {
		return err
	}
	if c != want {
		return r.w.Malformed("list", "%q where %q was due", c, want)
	}
	r.w.Consume(1)
	return nil
}

func (r *jsonReader) value() ([]byte, error) {
	if err := r.w.Need(1); err != nil {
		return nil, err
	}
	switch c := r.w.Unread()[0]; c {
	case ',', ':', '}', ']':
		return nil, r.w.Malformed("list", "%q where a value was due", c)
	}
	var extent scan.Extent
	return wholeValue(r.w, func(b []byte) (int, error) { return extent.End(b), nil })
}

// wholeValue reads until end returns the size of the value at the start of what
// is unread. end returns 0 for a value that goes on.
func wholeValue(w *Window, end func(b []byte) (int, error)) ([]byte, error) {
	for {
		b := w.Unread()
		n, err := end(b)
		if err != nil {
			return nil, err
		}
		if n > 0 {
			if err := w.Fits(uint64(n)); err != nil {
				return nil, err
			}
			return b[:n], nil
		}
		if err := w.Fits(uint64(len(b))); err != nil {
			return nil, err
		}
		if err := w.More(); err != nil {
			return nil, unexpected(err)
		}
	}
}

// end consumes the white space after the list, so that the connection can be
// reused for another request.
func (r *jsonReader) end() error {
	for {
		b := r.w.Unread()
		if n := Spaces(b); n < len(b) {
			r.w.Consume(n)
			return r.w.Malformed("list", "text behind its end: %s", Glimpse(b[n:]))
		}
		r.w.Consume(len(b))
		if err := atEnd(r.w); err != errMore {
			return err
		}
	}
}

var errMore = errors.New("there is more")

// atEnd reads once more. It returns nil at the end of the stream and errMore if
// something came.
func atEnd(w *Window) error {
	switch err := w.More(); {
	case err == nil:
		return errMore
	case err == io.EOF:
		return nil
	default:
		return err
	}
}
