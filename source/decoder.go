package source

import (
	"fmt"
	"io"
	"runtime"
	"sync"
	"sync/atomic"
	"weak"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kinglet-go/kinglet/internal/wire/share"
	"github.com/kinglet-go/kinglet/source/internal/encoding"
)

// decoder is the seam where bytes become objects; doc.go says what is on either
// side of it. It cuts a response into objects and has its codec decode them. Any
// number of responses may be decoded at once.
type decoder[T any] struct {
	codec *codec[T]
	// limit is the most bytes that an object may take.
	limit int

	mu sync.Mutex
	// spare is the last scratch that was used. It is weak: a busy stream finds it
	// again, an idle one leaves it to the next garbage collection. guarded by mu
	spare weak.Pointer[scratch[T]]
}

func newDecoder[T any](gv schema.GroupVersion, opts *Options) (*decoder[T], error) {
	c, err := newCodec[T](gv, opts)
	if err != nil {
		return nil, err
	}
	return &decoder[T]{codec: c, limit: opts.maxObjectBytes()}, nil
}

// list decodes the 200 answer to a LIST until its end and yields it in pages, the
// last one without More. Its first byte shows the encoding, which is reported to
// onPath; that may be nil. A *metav1.Status in its place is returned as an
// apierrors.APIStatus. yield's error ends the call and is returned unchanged. If metadata is
// set, the answer may be a list of metadata: see ListRequest.metadata.
func (d *decoder[T]) list(metadata bool, body io.Reader, held Held[T], onPath func(ReadPath), yield func(Page[T]) error) error {
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
	l := &listing[T]{codec: d.codec, metadata: metadata, enc: enc, w: w, held: held, workers: &s.workers, yield: yield}
	return l.read()
}

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
	d.mu.Lock()
	defer d.mu.Unlock()
	s := d.spare.Value()
	d.spare = weak.Pointer[scratch[T]]{}
	if s == nil {
		s = &scratch[T]{}
	}
	return s
}

func (d *decoder[T]) giveScratch(s *scratch[T]) {
	s.workers.release()
	d.mu.Lock()
	defer d.mu.Unlock()
	d.spare = weak.Make(s)
}

const (
	// minPerWorker is the fewest objects for each worker. Waking another core
	// costs as much as half an object, so it is done only where there is a
	// backlog: a read of 128 KiB brings 20 events of pods.
	minPerWorker = 8
	// workerChunk is how many objects a worker takes at a time, so that workers
	// rarely contend for the counter.
	workerChunk = 4
)

// workers decode the objects cut out of a stream, on all cores.
type workers[T any] struct {
	readers []*reader[T]
	// recent is what the readers share besides the table.
	recent *share.Recent
}

// reader returns the i-th reader.
func (w *workers[T]) reader(codec *codec[T], i int, held Held[T]) *reader[T] {
	for i >= len(w.readers) {
		w.readers = append(w.readers, &reader[T]{codec: codec})
	}
	r := w.readers[i]
	r.begin(held)
	if w.recent == nil && r.remembers() {
		w.recent = &share.Recent{}
	}
	r.session.Recent = w.recent
	return r
}

// each calls do once for every i below n, from several goroutines, the caller's
// among them, and returns when all calls have.
func (w *workers[T]) each(codec *codec[T], n int, held Held[T], do func(r *reader[T], i int)) {
	count := min(runtime.GOMAXPROCS(0), n/minPerWorker)
	if count <= 1 {
		r := w.reader(codec, 0, held)
		for i := range n {
			do(r, i)
		}
		r.session.Count()
		return
	}
	var next atomic.Int64
	work := func(r *reader[T]) {
		defer r.session.Count()
		for {
			i := int(next.Add(workerChunk)) - workerChunk
			if i >= n {
				return
			}
			for j := i; j < min(i+workerChunk, n); j++ {
				do(r, j)
			}
		}
	}
	var others sync.WaitGroup
	for i := 1; i < count; i++ {
		r := w.reader(codec, i, held)
		others.Go(func() { work(r) })
	}
	work(w.reader(codec, 0, held))
	others.Wait()
}

// release drops the readers' references to Held.
func (w *workers[T]) release() {
	for _, r := range w.readers {
		r.held = nil
	}
}
