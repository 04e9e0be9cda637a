package encoding

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer/cbor/direct"

	"github.com/kinglet-go/kinglet/internal/wire/cbor"
	"github.com/kinglet-go/kinglet/internal/wire/formats"
	"github.com/kinglet-go/kinglet/internal/wire/official"
)

// cborSyntax is the syntax of CBOR, as Kubernetes writes it (KEP-4222).
type cborSyntax struct{}

func (cborSyntax) format() formats.Format { return formats.CBOR }
func (cborSyntax) mediaType() string      { return runtime.ContentTypeCBOR }
func (cborSyntax) streamType() string     { return runtime.ContentTypeCBORSequence }

// starts implements syntax: a response starts with the self-described tag, or
// with a map.
func (cborSyntax) starts(first byte) bool { return first == cbor.Magic[0] || first>>5 == cbor.Map }

func (cborSyntax) unique() bool { return true }

func (cborSyntax) object(value []byte) bool {
	value = cbor.Untagged(value)
	return len(value) > 0 && value[0]>>5 == cbor.Map
}

func (cborSyntax) text(value []byte) (string, bool) {
	content, rest, ok := cbor.String(cbor.Untagged(value))
	return string(content), ok && len(rest) == 0
}

func (cborSyntax) unmarshal(raw []byte, into Meta) error { return official.CBOR(raw, into) }

func (cborSyntax) untyped(raw []byte) (map[string]any, error) { return official.UntypedCBOR(raw) }

func (cborSyntax) members(raw []byte, visit func(name, value []byte) bool) error {
	return cbor.Members(raw, visit)
}

func (cborSyntax) join(members []member) []byte {
	b := appendCBORHead(nil, cbor.Map, uint64(len(members)))
	for _, m := range members {
		b = append(appendCBORHead(b, cbor.Text, uint64(len(m.name))), m.name...)
		b = append(b, m.value...)
	}
	return b
}

// appendCBORHead appends the shortest head.
func appendCBORHead(b []byte, major byte, arg uint64) []byte {
	switch {
	case arg < 24:
		return append(b, major<<5|byte(arg))
	case arg < 1<<8:
		return append(b, major<<5|24, byte(arg))
	case arg < 1<<16:
		return append(b, major<<5|25, byte(arg>>8), byte(arg))
	}
	return append(b, major<<5|26, byte(arg>>24), byte(arg>>16), byte(arg>>8), byte(arg))
}

func (cborSyntax) emptyList(gvk schema.GroupVersionKind, lm metav1.ListMeta) ([]byte, error) {
	apiVersion, kind := gvk.ToAPIVersionAndKind()
	b, err := direct.Marshal(map[string]any{"apiVersion": apiVersion, "kind": kind, "metadata": &lm, "items": []any{}})
	return append(append([]byte(nil), cbor.Magic...), b...), err
}

func (cborSyntax) prefix([]byte) (Prefix, bool) { return Prefix{}, false }

func (cborSyntax) reader(w *Window) valueReader { return &cborReader{w: w} }

// cborReader reads the members of a list.
type cborReader struct {
	w *Window
	// open has, for each open container, how many members or elements are left.
	open []uint64
}

// openObject implements valueReader.
func (r *cborReader) openObject() error {
	h, err := r.head()
	if err == nil && h.Major == cbor.Tag && h.Arg == cbor.SelfDescribed {
		r.w.Consume(h.Size)
		h, err = r.head()
	}
	switch {
	case err != nil:
		return err
	case h.Major != cbor.Map:
		return r.w.Malformed("list", "%w: %s", cbor.ErrNotMap, Glimpse(r.w.Unread()))
	}
	r.w.Consume(h.Size)
	r.open = append(r.open, h.Arg)
	return nil
}

// head reads until the head of the next item is unread.
func (r *cborReader) head() (cbor.Head, error) {
	for {
		h, err := cbor.ReadHead(r.w.Unread())
		if err != nil {
			return h, r.w.Malformed("list", "%w", err)
		}
		if h.Size > 0 {
			return h, nil
		}
		if err := r.w.More(); err != nil {
			return h, unexpected(err)
		}
	}
}

// next reports whether the innermost container has something more. Otherwise it
// consumes its end.
func (r *cborReader) next() (bool, error) {
	last := len(r.open) - 1
	more := r.open[last] > 0
	if r.open[last] == cbor.Indefinite {
		if err := r.w.Need(1); err != nil {
			return false, err
		}
		if more = r.w.Unread()[0] != cbor.Break; !more {
			r.w.Consume(1)
		}
	} else if more {
		r.open[last]--
	}
	if !more {
		r.open = r.open[:last]
	}
	return more, nil
}

func (r *cborReader) name() (string, bool, error) {
	if more, err := r.next(); err != nil || !more {
		return "", false, err
	}
	raw, err := r.value()
	if err != nil {
		return "", false, err
	}
	name, rest, ok := cbor.String(raw)
	if !ok || len(rest) > 0 {
		return "", false, r.w.Malformed("list", "a name was due: %s", Glimpse(raw))
	}
	text := string(name)
	r.w.Consume(len(raw))
	return text, true, nil
}

func (r *cborReader) openArray() (bool, error) {
	h, err := r.head()
	if err != nil {
		return false, err
	}
	switch {
	case h.Major == cbor.Array:
		r.w.Consume(h.Size)
		r.open = append(r.open, h.Arg)
		return true, nil
	case r.w.Unread()[0] == cbor.Null:
		r.w.Consume(1)
		return false, nil
	}
	return false, r.w.Malformed("list", "its items are no array: %s", Glimpse(r.w.Unread()))
}

func (r *cborReader) element() (bool, error) { return r.next() }

func (r *cborReader) value() ([]byte, error) {
	var extent cbor.Extent
	return wholeValue(r.w, func(b []byte) (int, error) {
		n, err := extent.End(b)
		if err != nil {
			err = r.w.Malformed("list", "%w", err)
		}
		return n, err
	})
}

func (r *cborReader) end() error {
	if rest := r.w.Unread(); len(rest) > 0 {
		return r.w.Malformed("list", "bytes behind its end: %s", Glimpse(rest))
	}
	if err := atEnd(r.w); err != errMore {
		return err
	}
	return r.w.Malformed("list", "bytes behind its end: %s", Glimpse(r.w.Unread()))
}

func (cborSyntax) frames() Frames { return &cborFrames{} }

// cborFrames finds the items of a CBOR sequence (RFC 8742).
type cborFrames struct {
	// extent is how far an unfinished frame was followed; start is the position
	// of the frame in the stream.
	extent cbor.Extent
	start  int64
}

// Next implements Frames.
func (f *cborFrames) Next(w *Window, from int) (Frame, bool, error) {
	b := w.Unread()[from:]
	if at := w.Offset() + int64(from); f.start != at {
		f.extent, f.start = cbor.Extent{}, at
	}
	size, err := f.extent.End(b)
	if err != nil {
		return Frame{}, false, w.Malformed("watch", "%w", err)
	}
	have := size
	if size == 0 {
		have = len(b)
	}
	if err := w.Fits(uint64(have)); err != nil || size == 0 {
		return Frame{}, false, err
	}
	f.extent = cbor.Extent{}
	return Frame{Raw: b[:size:size], End: from + size}, true, nil
}

// Whole implements Frames.
func (*cborFrames) Whole([]byte) bool { return true }

// Reconsider implements Frames.
func (*cborFrames) Reconsider() bool { return false }
