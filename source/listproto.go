package source

import (
	"bytes"
	"io"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// protoMagic is what every protobuf object of Kubernetes begins with. Behind
// it stands a runtime.Unknown: the kind as field 1, the object's own message
// as field 2.
var protoMagic = []byte("k8s\x00")

// protobuf decodes a list from protobuf. Every list type has its ListMeta as
// field 1 and its items as field 2, so the type itself is not needed.
func (l *listing[T]) protobuf() error {
	w := l.w
	if err := w.need(len(protoMagic)); err != nil {
		return err
	}
	if !bytes.HasPrefix(w.unread(), protoMagic) {
		return w.malformed("list", "%w: %q", ErrEncoding, excerpt(w.unread()))
	}
	w.take(len(protoMagic))
	seen := false
	for {
		if len(w.unread()) == 0 {
			if err := w.more(); err == io.EOF {
				break
			} else if err != nil {
				return err
			}
		}
		field, size, err := w.field()
		if err != nil {
			return err
		}
		switch {
		case field == 1:
			err = l.protoKind(size)
		case field == 2 && seen:
			err = w.malformed("list", "a second list in the same message")
		case field == 2 && l.gvk == statusKind:
			return l.protoStatus(size)
		case field == 2:
			seen = true
			err = l.protoList(size)
		case field != 0:
			err = w.skip(int64(size))
		}
		if err != nil {
			return err
		}
	}
	if !seen {
		// Every list has metadata, so every server sends this field. Where the end
		// of the connection is that of the body, nothing else tells an empty list
		// from one that was cut off behind its kind.
		return w.malformed("list", "no message of the list's own: %w", io.ErrUnexpectedEOF)
	}
	return l.finish()
}

// message reads until the next size bytes are unread, and returns them
// untaken.
func (l *listing[T]) message(size uint64) ([]byte, error) {
	if err := l.w.fits(size); err != nil {
		return nil, err
	}
	if err := l.w.need(int(size)); err != nil {
		return nil, err
	}
	return l.w.unread()[:size], nil
}

func (l *listing[T]) protoKind(size uint64) error {
	raw, err := l.message(size)
	if err != nil {
		return err
	}
	// A message that comes in parts is merged.
	if err := l.tm.Unmarshal(raw); err != nil {
		return l.w.malformed("list", "its kind: %w", err)
	}
	l.w.take(len(raw))
	l.gvk = schema.FromAPIVersionAndKind(l.tm.APIVersion, l.tm.Kind)
	if l.gvk == statusKind {
		return nil
	}
	return l.codec.kind.checkList(l.gvk)
}

func (l *listing[T]) protoStatus(size uint64) error {
	raw, err := l.message(size)
	if err != nil {
		return err
	}
	var status metav1.Status
	if err := status.Unmarshal(raw); err != nil {
		return l.w.malformed("status in place of a list", "%w", err)
	}
	return statusError(&status)
}

// protoList decodes the list's own message, size bytes from here.
func (l *listing[T]) protoList(size uint64) error {
	w := l.w
	end := w.offset + int64(size)
	l.item = func(r *reader[T], raw []byte) (Item[T], bool) { return r.itemFromProto(raw), false }
	for w.offset < end {
		field, size, err := w.field()
		if err != nil {
			return err
		}
		if w.offset > end || field != 0 && size > uint64(end-w.offset) {
			return w.malformed("list", "a field that is longer than the list: %d bytes", size)
		}
		switch field {
		case 0:
			continue
		case 1, 2:
		default:
			if err := w.skip(int64(size)); err != nil {
				return err
			}
			continue
		}
		raw, err := l.message(size)
		if err != nil {
			return err
		}
		if field == 1 {
			if err := l.meta.Unmarshal(raw); err != nil {
				return w.malformed("list metadata", "%w", err)
			}
			w.take(len(raw))
			continue
		}
		if err := l.add(len(raw)); err != nil {
			return err
		}
	}
	l.decode()
	return nil
}
