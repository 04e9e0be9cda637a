package source

import (
	"fmt"
	"io"
	"weak"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kinglet-go/kinglet/source/internal/encoding"
)

// Decoder is the seam where bytes become objects; doc.go says what is on
// either side of it. A Decoder serves one caller at a time.
type Decoder[T any] interface {
	// Accept is the Accept header to ask a server with, for a watch or a list.
	Accept(watch bool) string

	// DecodeList reads the 200 answer to a LIST until its end and yields it in
	// pages, the last one without More. Its first byte shows the encoding. A
	// *metav1.Status in its place is returned as an apierrors.APIStatus.
	//
	// held may be nil, and is a hint: a decoder may return the held object if
	// it did not change, and share parts of it with one that did. yield's error
	// ends the call and is returned unchanged.
	DecodeList(body io.Reader, held Held[T], yield func(Page[T]) error) error

	// DecodeWatch reads the 200 answer to a WATCH until its end, which is nil
	// if it comes between two events. All events that can be decoded without
	// another read are one batch; the batch is reused after yield returns.
	DecodeWatch(body io.Reader, held Held[T], yield func([]Event[T]) error) error
}

// NewDecoder returns the decoder that FromREST uses for objects of gv, for a body
// from elsewhere.
func NewDecoder[T any](gv schema.GroupVersion, opts Options) (Decoder[T], error) {
	if err := opts.validate(); err != nil {
		return nil, err
	}
	d, err := newDecoder[T](gv, &opts)
	if err != nil {
		return nil, err
	}
	return d, nil
}

func newDecoder[T any](gv schema.GroupVersion, opts *Options) (*decoder[T], error) {
	c, err := newCodec[T](gv, opts)
	if err != nil {
		return nil, err
	}
	return &decoder[T]{decoding: decoding[T]{codec: c, limit: opts.maxObjectBytes()}}, nil
}

// decoder cuts the stream into objects and has its codec decode them.
type decoder[T any] struct {
	decoding[T]
	// spare is the last scratch that was used. It is weak: a busy stream finds it
	// again, an idle one leaves it to the next garbage collection.
	spare weak.Pointer[scratch[T]]
}

// decoding is how a source decodes. It does not change once the source is read.
type decoding[T any] struct {
	codec *codec[T]
	limit int
}

// another returns a decoder that decodes as d does. It may be called, and used,
// while d is in use.
func (d *decoder[T]) another() *decoder[T] { return &decoder[T]{decoding: d.decoding} }

// scratch is memory that only a busy stream needs.
type scratch[T any] struct {
	workers workers[T]
	bufs    [len(readSizes)][]byte
	frames  []encoding.Frame
	events  []Event[T]
	errs    []error
}

// readSizes are the sizes of reads that need a buffer of their own.
var readSizes = [...]int{encoding.SmallRead, encoding.BusyRead}

// buffer returns a buffer of at least size bytes, of one of readSizes if that
// suffices.
func (s *scratch[T]) buffer(size int) []byte {
	for i, n := range readSizes {
		if n >= size {
			if s.bufs[i] == nil {
				s.bufs[i] = make([]byte, n)
			}
			return s.bufs[i]
		}
	}
	return make([]byte, size)
}

func (d *decoder[T]) takeScratch() *scratch[T] {
	s := d.spare.Value()
	d.spare = weak.Pointer[scratch[T]]{}
	if s == nil {
		s = &scratch[T]{}
	}
	return s
}

func (d *decoder[T]) giveScratch(s *scratch[T]) {
	s.workers.release()
	d.spare = weak.Make(s)
}

// Accept implements Decoder.
func (d *decoder[T]) Accept(watch bool) string { return d.codec.kind.accept(watch) }

// DecodeList implements Decoder.
func (d *decoder[T]) DecodeList(body io.Reader, held Held[T], yield func(Page[T]) error) error {
	return d.list(body, held, nil, yield)
}

// list is DecodeList, and reports the encoding to onPath, which may be nil.
func (d *decoder[T]) list(body io.Reader, held Held[T], onPath func(ReadPath), yield func(Page[T]) error) error {
	s := d.takeScratch()
	defer d.giveScratch(s)
	w := encoding.NewWindow(body, s.buffer(encoding.SmallRead), d.limit, s.buffer)
	if err := w.Need(1); err != nil {
		return fmt.Errorf("the list has no content: %w", err)
	}
	enc := encoding.Of(w.Unread()[0])
	if enc == nil {
		return w.Malformed("list", "%w: %q", ErrEncoding, encoding.Excerpt(w.Unread()))
	}
	tell(onPath, pathOf(enc), d.codec.slow)
	l := &listing[T]{codec: d.codec, enc: enc, w: w, held: held, workers: &s.workers, yield: yield}
	return l.read()
}
