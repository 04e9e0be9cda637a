package encoding

import (
	"bytes"
	"io"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// List implements Encoding. Every list type has its ListMeta as field 1 and its
// items as field 2, so the type itself is not needed.
func (protobuf) List(w *Window, l *List) error {
	r := protoList{w: w, l: l}
	if err := w.Need(len(protoMagic)); err != nil {
		return err
	}
	if !bytes.HasPrefix(w.Unread(), protoMagic) {
		return w.Malformed("list", "%w: %q", ErrEncoding, Excerpt(w.Unread()))
	}
	w.Consume(len(protoMagic))
	seen := false
	for {
		if len(w.Unread()) == 0 {
			if err := w.More(); err == io.EOF {
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
			err = r.kind(size)
		case field == 2 && seen:
			err = w.Malformed("list", "a second list in the same message")
		case field == 2 && r.l.Kind == StatusKind:
			return r.status(size)
		case field == 2:
			seen = true
			err = r.items(size)
		case field != 0:
			err = w.Skip(int64(size))
		}
		if err != nil {
			return err
		}
	}
	if !seen {
		// Every list has metadata, so every server sends this field. If the end of
		// the connection ends the body, nothing else distinguishes an empty list
		// from one that was cut off after its kind.
		return w.Malformed("list", "no message of the list's own: %w", io.ErrUnexpectedEOF)
	}
	return nil
}

// protoList reads one list.
type protoList struct {
	w *Window
	l *List
	// tm is the list's kind, as far as it was read.
	tm runtime.TypeMeta
}

// message reads until the next size bytes are unread, and returns them. It
// consumes nothing.
func (r *protoList) message(size uint64) ([]byte, error) {
	if err := r.w.Fits(size); err != nil {
		return nil, err
	}
	if err := r.w.Need(int(size)); err != nil {
		return nil, err
	}
	return r.w.Unread()[:size], nil
}

func (r *protoList) kind(size uint64) error {
	raw, err := r.message(size)
	if err != nil {
		return err
	}
	// A message that comes in parts is merged.
	if err := r.tm.Unmarshal(raw); err != nil {
		return r.w.Malformed("list", "its kind: %w", err)
	}
	r.w.Consume(len(raw))
	r.l.Kind = schema.FromAPIVersionAndKind(r.tm.APIVersion, r.tm.Kind)
	if r.l.Kind == StatusKind {
		return nil
	}
	return r.l.Check(r.l.Kind)
}

func (r *protoList) status(size uint64) error {
	raw, err := r.message(size)
	if err != nil {
		return err
	}
	var status metav1.Status
	if err := status.Unmarshal(raw); err != nil {
		return r.w.Malformed("status in place of a list", "%w", err)
	}
	return r.l.Status(&status)
}

// items reads the list's own message, of size bytes.
func (r *protoList) items(size uint64) error {
	w := r.w
	end := w.Offset() + int64(size)
	for w.Offset() < end {
		field, size, err := w.field()
		if err != nil {
			return err
		}
		if w.Offset() > end || field != 0 && size > uint64(end-w.Offset()) {
			return w.Malformed("list", "a field that is longer than the list: %d bytes", size)
		}
		switch field {
		case 0:
			continue
		case 1, 2:
		default:
			if err := w.Skip(int64(size)); err != nil {
				return err
			}
			continue
		}
		raw, err := r.message(size)
		if err != nil {
			return err
		}
		if field == 1 {
			if err := r.l.Meta.Unmarshal(raw); err != nil {
				return w.Malformed("list metadata", "%w", err)
			}
			w.Consume(len(raw))
			continue
		}
		if err := r.l.Item(len(raw)); err != nil {
			return err
		}
	}
	r.l.Flush()
	return nil
}
