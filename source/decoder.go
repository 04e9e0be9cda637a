package source

import (
	"fmt"
	"io"
	"weak"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Decoder is the seam where bytes become objects; doc.go says what is on
// either side of it. A Decoder serves one caller at a time.
type Decoder[T any] interface {
	// Accept is the Accept header to ask a server with, for a watch or a list.
	Accept(watch bool) string

	// DecodeList reads the 200 answer to a LIST until its end and yields it in
	// pages, the last one without More. Whether it is JSON or protobuf shows
	// in its first byte. A *metav1.Status in its place is returned as an
	// apierrors.APIStatus.
	//
	// held may be nil, and is a hint: a decoder may answer with what is held
	// for an object that did not change, and may share parts of it with one
	// that did. yield's error ends it and is returned unchanged.
	DecodeList(body io.Reader, held Held[T], yield func(Page[T]) error) error

	// DecodeWatch reads the 200 answer to a WATCH until its end, which is nil
	// if it comes between two events. What can be decoded without reading
	// again is one batch; the batch is reused after yield returns.
	DecodeWatch(body io.Reader, held Held[T], yield func([]Event[T]) error) error
}

// NewDecoder returns the decoder that FromREST uses for objects of gv. It is
// for those who have a body from elsewhere.
func NewDecoder[T any](gv schema.GroupVersion, opts Options) (Decoder[T], error) {
	if err := opts.validate(); err != nil {
		return nil, err
	}
	return newDecoder[T](gv, &opts)
}

func newDecoder[T any](gv schema.GroupVersion, opts *Options) (Decoder[T], error) {
	k, err := newKind[T](gv, opts.Scheme)
	if err != nil {
		return nil, err
	}
	return &decoder[T]{kind: k, limit: opts.maxObjectBytes()}, nil
}

// decoder cuts the stream into objects and has apimachinery decode each.
type decoder[T any] struct {
	kind  *kind[T]
	limit int
	// spare is the scratch of the last time something was busy. It is weak: a
	// busy stream finds it again, an idle one leaves it to the next
	// collection.
	spare weak.Pointer[scratch[T]]
}

// scratch is what only a busy stream needs.
type scratch[T any] struct {
	buf    []byte
	events []Event[T]
}

func (d *decoder[T]) takeScratch() *scratch[T] {
	s := d.spare.Value()
	d.spare = weak.Pointer[scratch[T]]{}
	if s == nil {
		s = &scratch[T]{buf: make([]byte, busyRead)}
	}
	return s
}

func (d *decoder[T]) giveScratch(s *scratch[T]) { d.spare = weak.Make(s) }

// Accept implements Decoder.
func (d *decoder[T]) Accept(watch bool) string { return d.kind.accept(watch) }

// DecodeList implements Decoder.
func (d *decoder[T]) DecodeList(body io.Reader, _ Held[T], yield func(Page[T]) error) error {
	s := d.takeScratch()
	defer d.giveScratch(s)
	w := &window{r: body, buf: s.buf, limit: d.limit}
	l := &listing[T]{kind: d.kind, w: w, yield: yield}
	if err := w.need(1); err != nil {
		return fmt.Errorf("the list has no content: %w", err)
	}
	var err error
	switch encodingOf(w.unread()[0]) {
	case encodingJSON:
		err = l.json()
	case encodingProtobuf:
		err = l.protobuf()
	default:
		err = w.malformed("list", "neither JSON nor protobuf: %q", excerpt(w.unread()))
	}
	return err
}

// encoding is how an answer is encoded.
type encoding uint8

const (
	encodingUnknown encoding = iota
	encodingJSON
	encodingProtobuf
)

// encodingOf recognises an answer by its first byte. A protobuf list begins
// with "k8s\x00", a protobuf frame with the high byte of a length that
// maxMaxObjectBytes keeps below 0x09.
func encodingOf(first byte) encoding {
	switch {
	case first == '{' || isSpace(first):
		return encodingJSON
	case first == protoMagic[0] || first < '\t':
		return encodingProtobuf
	}
	return encodingUnknown
}

// excerpt is the start of b, for an error.
func excerpt(b []byte) []byte { return b[:min(len(b), 64)] }
