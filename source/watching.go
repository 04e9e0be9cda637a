package source

import (
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/kinglet-go/kinglet/source/internal/encoding"
)

const (
	// A batch is sent on at this many events or bytes, whichever comes first.
	batchEvents = 256
	batchBytes  = 1 << 20
)

var errNotWhole = errors.New("an event that does not end where it was taken to")

// watching is one WATCH answer being decoded. Frames are found on the caller's
// goroutine; those that arrived together are decoded together.
type watching[T any] struct {
	dec    *decoder[T]
	enc    encoding.Encoding
	frames encoding.Frames
	w      *encoding.Window
	held   Held[T]
	yield  func([]Event[T]) error
	// counted is where in the stream the last event ended. Bytes between two
	// events count for the second.
	counted int64

	// idle is the buffer of an idle watch. one holds the next event, which alone
	// decodes.
	idle  []byte
	one   []Event[T]
	alone *reader[T]
	// busy is nil while the watch is idle.
	busy *scratch[T]
}

// DecodeWatch implements Decoder.
func (d *decoder[T]) DecodeWatch(body io.Reader, held Held[T], yield func([]Event[T]) error) error {
	return d.watch(body, held, nil, yield)
}

// watch is DecodeWatch, and reports the encoding to onPath, which may be nil.
func (d *decoder[T]) watch(body io.Reader, held Held[T], onPath func(ReadPath), yield func([]Event[T]) error) error {
	idle := make([]byte, encoding.IdleRead)
	s := &watching[T]{
		dec:   d,
		held:  held,
		yield: yield,
		idle:  idle,
		one:   make([]Event[T], 0, 1),
	}
	s.w = encoding.NewWindow(body, idle, d.limit, s.wake)
	defer s.rest()
	if err := s.w.More(); err == io.EOF {
		return nil
	} else if err != nil {
		return err
	}
	if s.enc = encoding.Of(s.w.Unread()[0]); s.enc == nil {
		return s.w.Malformed("watch", "%w: %q", ErrEncoding, encoding.Excerpt(s.w.Unread()))
	}
	tell(onPath, pathOf(s.enc), d.codec.slow)
	s.frames = s.enc.Frames()
	return s.run()
}

func (s *watching[T]) run() error {
	for {
		sent, err := s.batch()
		if err != nil {
			return err
		}
		if sent {
			continue
		}
		if len(s.w.Unread()) == 0 {
			s.rest()
		}
		if err := s.w.More(); err != nil {
			switch {
			case len(s.w.Unread()) > 0 && s.frames.Reconsider():
				// It may hold events that end otherwise than expected.
			case err != io.EOF:
				return err
			case len(s.w.Unread()) > 0:
				return fmt.Errorf("the watch ended inside an event: %w", io.ErrUnexpectedEOF)
			default:
				return nil
			}
		}
	}
}

// batch sends the events that can be decoded without another read. Frames before a
// broken one are sent first; the next call then finds the broken one.
func (s *watching[T]) batch() (sent bool, err error) {
	// events stays within its capacity: an array that append replaced would keep
	// its objects alive.
	events, most := s.one[:0], cap(s.one)
	if s.busy != nil {
		events, most = s.busy.events[:0], batchEvents
	}
	frames, err := s.next(most)
	if len(frames) == 0 {
		return false, err
	}
	if s.busy != nil {
		events = slices.Grow(events, len(frames))
		s.busy.events = events
	}
	events = events[:len(frames)]
	n, err := s.decode(frames, events)
	switch {
	case n > 0:
	case err == errNotWhole && s.frames.Reconsider():
		return s.batch()
	default:
		return false, s.w.Malformed("watch event", "%w", err)
	}
	for i := range n {
		end := s.w.Offset() + int64(frames[i].End)
		events[i].Bytes = end - s.counted
		s.counted = end
	}
	s.w.Consume(frames[n-1].End)
	err = s.yield(events[:n])
	// A waiting watch must keep no object alive.
	clear(events)
	return true, err
}

// next finds up to most frames in the unread bytes.
func (s *watching[T]) next(most int) ([]encoding.Frame, error) {
	var room [1]encoding.Frame
	frames := room[:0]
	if s.busy != nil {
		frames = s.busy.frames[:0]
	}
	at := 0
	for len(frames) < most && at < batchBytes {
		f, ok, err := s.frames.Next(s.w, at)
		if err != nil || !ok {
			if len(frames) > 0 {
				err = nil
			}
			return s.keep(frames), err
		}
		frames = append(frames, f)
		at = f.End
	}
	return s.keep(frames), nil
}

func (s *watching[T]) keep(frames []encoding.Frame) []encoding.Frame {
	if s.busy != nil {
		s.busy.frames = frames
	}
	return frames
}

// decode decodes frames into events, and returns how many precede the first that
// failed.
func (s *watching[T]) decode(frames []encoding.Frame, events []Event[T]) (int, error) {
	if s.busy == nil {
		if s.alone == nil {
			s.alone = s.dec.codec.reader(s.held)
		}
		if err := s.event(s.alone, frames[0].Raw, &events[0]); err != nil {
			return 0, err
		}
		return 1, nil
	}
	s.busy.errs = slices.Grow(s.busy.errs[:0], len(frames))[:len(frames)]
	errs := s.busy.errs
	s.busy.workers.each(s.dec.codec, len(frames), s.held, func(r *reader[T], i int) {
		errs[i] = s.event(r, frames[i].Raw, &events[i])
	})
	for i, err := range errs {
		if err != nil {
			return i, err
		}
	}
	return len(frames), nil
}

// wake gives the window a larger buffer.
func (s *watching[T]) wake(size int) []byte {
	if s.busy == nil {
		s.busy = s.dec.takeScratch()
		s.alone = nil
	}
	return s.busy.buffer(size)
}

// rest gives the larger buffers back. The window must be empty, or no longer used.
func (s *watching[T]) rest() {
	s.w.Reset(s.idle)
	if s.busy != nil {
		s.dec.giveScratch(s.busy)
		s.busy = nil
	}
}

// event decodes a frame. It is called from several goroutines.
func (s *watching[T]) event(r *reader[T], frame []byte, e *Event[T]) error {
	if r.usualEvent(s.enc, frame, e) {
		return nil
	}
	if !s.frames.Whole(frame) {
		return errNotWhole
	}
	return r.event(s.enc, frame, e)
}
