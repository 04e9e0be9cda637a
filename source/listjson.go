package source

import (
	"bytes"
	"fmt"
	"io"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/json"

	"github.com/kinglet-go/kinglet/internal/wire/scan"
)

// maxOtherBytes bounds what is kept of a list's members other than its items:
// they are only of interest if the "list" turns out to be a Status.
const maxOtherBytes = 64 << 10

// json decodes a list from JSON. Its members may come in any order: custom
// resources' have kind and metadata behind the items.
func (l *listing[T]) json() error {
	var apiVersion, kind string
	var other bytes.Buffer
	hasItems := false
	err := l.jsonMembers(func(name string) error {
		if name == "items" {
			hasItems = true
			if apiVersion != "" && kind != "" && l.gvk != statusKind {
				if err := l.codec.kind.checkList(l.gvk); err != nil {
					return err
				}
			}
			return l.jsonItems()
		}
		raw, err := l.jsonValue()
		if err != nil {
			return err
		}
		switch name {
		case "apiVersion":
			apiVersion, _ = unquote(raw)
		case "kind":
			kind, _ = unquote(raw)
		case "metadata":
			if err := json.Unmarshal(raw, &l.meta); err != nil {
				// A Status has one too.
				return l.w.malformed("list metadata", "%w", err)
			}
		}
		if !hasItems && other.Len()+len(raw) < maxOtherBytes {
			fmt.Fprintf(&other, ",%q:%s", name, raw)
		}
		l.w.take(len(raw))
		l.gvk = schema.FromAPIVersionAndKind(apiVersion, kind)
		return nil
	})
	if err != nil {
		return err
	}
	if l.gvk == statusKind {
		return l.jsonStatus(other.Bytes())
	}
	if !hasItems && l.gvk.Empty() {
		return l.w.malformed("list", "neither kind nor items")
	}
	return l.finish()
}

func (l *listing[T]) jsonStatus(other []byte) error {
	text := append([]byte{'{'}, bytes.TrimPrefix(other, []byte{','})...)
	var status metav1.Status
	if err := json.Unmarshal(append(text, '}'), &status); err != nil {
		return l.w.malformed("status in place of a list", "%w", err)
	}
	return statusError(&status)
}

// jsonMembers calls value with each member's name, which has to take the
// value, and reads to the end of the stream.
func (l *listing[T]) jsonMembers(value func(name string) error) error {
	if err := l.jsonToken('{'); err != nil {
		return err
	}
	for first := true; ; first = false {
		c, err := l.jsonNext()
		if err != nil {
			return err
		}
		if c == '}' {
			l.w.take(1)
			return l.jsonEnd()
		}
		if !first {
			if err := l.jsonToken(','); err != nil {
				return err
			}
			if _, err := l.jsonNext(); err != nil {
				return err
			}
		}
		raw, err := l.jsonValue()
		if err != nil {
			return err
		}
		name, ok := unquote(raw)
		if !ok {
			return l.w.malformed("list", "a name was due: %s", glimpse(raw))
		}
		l.w.take(len(raw))
		if err := l.jsonToken(':'); err != nil {
			return err
		}
		if _, err := l.jsonNext(); err != nil {
			return err
		}
		if err := value(name); err != nil {
			return err
		}
	}
}

// jsonItems decodes the array of items, one by one.
func (l *listing[T]) jsonItems() error {
	c, err := l.jsonNext()
	if err != nil {
		return err
	}
	if c != '[' {
		raw, err := l.jsonValue()
		if err != nil {
			return err
		}
		if string(raw) != "null" {
			return l.w.malformed("list", "its items are no array: %s", glimpse(raw))
		}
		l.w.take(len(raw))
		return nil
	}
	l.w.take(1)
	l.item = l.jsonItem
	for first := true; ; first = false {
		c, err := l.jsonNext()
		if err != nil {
			return err
		}
		if c == ']' {
			l.w.take(1)
			l.decode()
			return nil
		}
		if !first {
			if err := l.jsonToken(','); err != nil {
				return err
			}
			if _, err := l.jsonNext(); err != nil {
				return err
			}
		}
		raw, err := l.jsonValue()
		if err != nil {
			return err
		}
		if err := l.add(len(raw)); err != nil {
			return err
		}
	}
}

// jsonItem decodes one item. It may be called from any goroutine.
func (l *listing[T]) jsonItem(r *reader[T], raw []byte) (Item[T], bool) {
	if raw[0] != '{' {
		return brokenItem[T](StageDecode, identity{}, fmt.Errorf("%w: %s", errNotJSONObject, glimpse(raw))), false
	}
	return r.itemFromJSON(raw, l.gvk)
}

// jsonNext moves past white space and returns the byte behind it, untaken.
func (l *listing[T]) jsonNext() (byte, error) {
	for {
		if err := l.w.need(1); err != nil {
			return 0, err
		}
		b := l.w.unread()
		n := spaces(b)
		if n < len(b) {
			c := b[n]
			l.w.take(n)
			return c, nil
		}
		l.w.take(n)
	}
}

func (l *listing[T]) jsonToken(want byte) error {
	c, err := l.jsonNext()
	if err != nil {
		return err
	}
	if c != want {
		return l.w.malformed("list", "%q where %q was due", c, want)
	}
	l.w.take(1)
	return nil
}

// jsonValue reads until the value that begins at the next byte is unread in
// full, and returns it untaken.
func (l *listing[T]) jsonValue() ([]byte, error) {
	if err := l.w.need(1); err != nil {
		return nil, err
	}
	switch c := l.w.unread()[0]; c {
	case ',', ':', '}', ']':
		return nil, l.w.malformed("list", "%q where a value was due", c)
	}
	var extent scan.Extent
	for {
		b := l.w.unread()
		if n := extent.End(b); n > 0 {
			if err := l.w.fits(uint64(n)); err != nil {
				return nil, err
			}
			return b[:n], nil
		}
		if err := l.w.fits(uint64(len(b))); err != nil {
			return nil, err
		}
		if err := l.w.more(); err != nil {
			return nil, unexpected(err)
		}
	}
}

// jsonEnd sees to it that nothing but white space follows, which also leaves
// the connection fit for another request.
func (l *listing[T]) jsonEnd() error {
	for {
		b := l.w.unread()
		if n := spaces(b); n < len(b) {
			l.w.take(n)
			return l.w.malformed("list", "text behind its end: %s", glimpse(b[n:]))
		}
		l.w.take(len(b))
		if err := l.w.more(); err == io.EOF {
			return nil
		} else if err != nil {
			return err
		}
	}
}
