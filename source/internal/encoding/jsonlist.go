package encoding

import (
	"fmt"
	"io"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	utiljson "k8s.io/apimachinery/pkg/util/json"

	"github.com/kinglet-go/kinglet/internal/wire/scan"
)

// maxOtherBytes bounds the copy of a list's members other than its items. They are
// needed only if the "list" turns out to be a Status.
const maxOtherBytes = 64 << 10

// List implements Encoding. The members may come in any order: lists of custom
// resources have kind and metadata after the items.
func (json) List(w *Window, l *List) error {
	r := jsonReader{w}
	if err := r.token('{'); err != nil {
		return err
	}
	var apiVersion, kind string
	// others is an object of the other members, without its end.
	var others []byte
	err := r.each('}', func() error {
		name, err := r.name()
		if err != nil {
			return err
		}
		if name == "items" {
			l.Items = true
			if apiVersion != "" && kind != "" && l.Kind != StatusKind {
				if err := l.Check(l.Kind); err != nil {
					return err
				}
			}
			return r.items(l)
		}
		raw, err := r.value()
		if err != nil {
			return err
		}
		switch name {
		case "apiVersion":
			apiVersion, _ = text(raw)
		case "kind":
			kind, _ = text(raw)
		case "metadata":
			// A Status has metadata too.
			if err := listMeta(raw, &l.Meta); err != nil {
				return w.Malformed("list metadata", "%w", err)
			}
		}
		if !l.Items && len(others)+len(name)+len(raw) < maxOtherBytes {
			others = appendMember(others, name, raw)
		}
		w.Consume(len(raw))
		l.Kind = schema.FromAPIVersionAndKind(apiVersion, kind)
		return nil
	})
	if err == nil {
		err = r.end()
	}
	switch {
	case err != nil:
		return err
	case l.Kind == StatusKind:
		var status metav1.Status
		if err := utiljson.Unmarshal(append(others, '}'), &status); err != nil {
			return w.Malformed("status in place of a list", "%w", err)
		}
		return l.Status(&status)
	case !l.Items && l.Kind.Empty():
		return w.Malformed("list", "neither kind nor items")
	}
	return nil
}

// appendMember appends a member to an object without its end.
func appendMember(object []byte, name string, value []byte) []byte {
	separator := byte(',')
	if len(object) == 0 {
		separator = '{'
	}
	return fmt.Appendf(append(object, separator), "%q:%s", name, value)
}

// listMeta decodes a list's metadata into lm, as part of a list without items.
func listMeta(raw []byte, lm *metav1.ListMeta) error {
	var list metav1.PartialObjectMetadataList
	list.ListMeta = *lm
	err := utiljson.Unmarshal(append(appendMember(nil, "metadata", raw), '}'), &list)
	*lm = list.ListMeta
	return err
}

// jsonReader reads a list.
type jsonReader struct{ w *Window }

// each calls read for each member or element up to the closing bracket, and consumes the
// commas between them and the bracket.
func (r jsonReader) each(closing byte, read func() error) error {
	for first := true; ; first = false {
		c, err := r.peek()
		if err == nil && c == closing {
			r.w.Consume(1)
			return nil
		}
		if err == nil && !first {
			if err = r.token(','); err == nil {
				_, err = r.peek()
			}
		}
		if err == nil {
			err = read()
		}
		if err != nil {
			return err
		}
	}
}

// items reads the array of items, one by one. It may be null.
func (r jsonReader) items(l *List) error {
	if r.w.Unread()[0] != '[' {
		raw, err := r.value()
		if err == nil && string(raw) != "null" {
			err = r.w.Malformed("list", "its items are no array: %s", Glimpse(raw))
		}
		r.w.Consume(len(raw))
		return err
	}
	r.w.Consume(1)
	err := r.each(']', func() error {
		raw, err := r.value()
		if err != nil {
			return err
		}
		return l.Item(len(raw))
	})
	if err == nil {
		l.Flush()
	}
	return err
}

// name consumes the name of the next member and the colon behind it. The first byte of
// the value is unread then.
func (r jsonReader) name() (string, error) {
	raw, err := r.value()
	if err != nil {
		return "", err
	}
	name, ok := unquoted(raw)
	if !ok {
		return "", r.w.Malformed("list", "a name was due: %s", Glimpse(raw))
	}
	text := string(name)
	r.w.Consume(len(raw))
	if err := r.token(':'); err != nil {
		return "", err
	}
	_, err = r.peek()
	return text, err
}

// peek moves past white space and returns the byte that follows, unread.
func (r jsonReader) peek() (byte, error) {
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

func (r jsonReader) token(want byte) error {
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

// value reads until the next value is unread in full. It returns the value and
// consumes nothing.
func (r jsonReader) value() ([]byte, error) {
	if err := r.w.Need(1); err != nil {
		return nil, err
	}
	switch c := r.w.Unread()[0]; c {
	case ',', ':', '}', ']':
		return nil, r.w.Malformed("list", "%q where a value was due", c)
	}
	var extent scan.Extent
	for {
		b := r.w.Unread()
		n := extent.End(b)
		have := n
		if n == 0 {
			have = len(b)
		}
		if err := r.w.Fits(uint64(have)); err != nil {
			return nil, err
		}
		if n > 0 {
			return b[:n], nil
		}
		if err := r.w.More(); err != nil {
			return nil, unexpected(err)
		}
	}
}

// end consumes the white space after the list, so that the connection can be
// reused for another request.
func (r jsonReader) end() error {
	for {
		b := r.w.Unread()
		n := Spaces(b)
		r.w.Consume(n)
		if n < len(b) {
			return r.w.Malformed("list", "text behind its end: %s", Glimpse(b[n:]))
		}
		switch err := r.w.More(); {
		case err == io.EOF:
			return nil
		case err != nil:
			return err
		}
	}
}
