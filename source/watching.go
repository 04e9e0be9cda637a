package source

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/kinglet-go/kinglet/internal/wire/scan"
)

const (
	// A batch is sent on at this many events or bytes, whichever comes first.
	batchEvents = 256
	batchBytes  = 1 << 20
)

var errUncut = errors.New("a JSON event that does not end with its line")

// watching is one WATCH answer being decoded. Frames are cut on the caller's
// goroutine; those that are there together are decoded together.
type watching[T any] struct {
	dec   *decoder[T]
	w     window
	held  Held[T]
	yield func([]Event[T]) error
	// cut finds the frame that begins at from unread bytes, if all of it is
	// unread.
	cut func(from int) (f frame, ok bool, err error)
	// event decodes a frame's event, on any goroutine. An error means that the
	// frame is no event, and errUncut that its end was taken to be where it is
	// not.
	event func(r *reader[T], raw []byte, e *Event[T]) error
	// extent is how far a JSON frame that did not end yet was followed, and
	// searched how far for the end of its line; frameAt is where in the stream
	// the frame begins.
	extent   scan.Extent
	searched int
	frameAt  int64
	// lines says that a JSON frame ends with its line, as everybody writes
	// them, until one does not.
	lines bool
	// counted is where in the stream the last event ended. What separates
	// two events is counted with the second.
	counted int64

	// idle is the buffer to wait with, one the event that then comes, and
	// alone what decodes it.
	idle  []byte
	one   []Event[T]
	alone *reader[T]
	// busy is nil while the watch is idle.
	busy *scratch[T]
}

// frame is where one event stands: raw is its own bytes, end is where it ends
// in what is unread.
type frame struct {
	raw []byte
	end int
}

// DecodeWatch implements Decoder.
func (d *decoder[T]) DecodeWatch(body io.Reader, held Held[T], yield func([]Event[T]) error) error {
	return d.watch(body, held, nil, yield)
}

// watch is DecodeWatch, and tells onPath, which may be nil, how the answer is
// encoded.
func (d *decoder[T]) watch(body io.Reader, held Held[T], onPath func(ReadPath), yield func([]Event[T]) error) error {
	idle := make([]byte, idleRead)
	s := &watching[T]{
		dec:   d,
		held:  held,
		yield: yield,
		idle:  idle,
		one:   make([]Event[T], 0, 1),
	}
	s.w = window{r: body, buf: idle, limit: d.limit, large: s.wake}
	defer s.rest()
	if err := s.w.more(); err == io.EOF {
		return nil
	} else if err != nil {
		return err
	}
	encoding := encodingOf(s.w.unread()[0])
	if encoding != encodingUnknown {
		tell(onPath, encoding.path(), d.codec.slow)
	}
	switch encoding {
	case encodingJSON:
		s.cut, s.event, s.lines = s.jsonFrame, s.jsonEvent, true
	case encodingProtobuf:
		s.cut, s.event = s.protoFrame, protoEvent[T]
	default:
		return s.w.malformed("watch", "%w: %q", ErrEncoding, excerpt(s.w.unread()))
	}
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
		if len(s.w.unread()) == 0 {
			s.rest()
		}
		if err := s.w.more(); err != nil {
			switch {
			case s.lines && len(s.w.unread()) > 0:
				// Events that no line break follows may be among it.
				s.lines = false
			case err != io.EOF:
				return err
			case len(s.w.unread()) > 0:
				return fmt.Errorf("the watch ended inside an event: %w", io.ErrUnexpectedEOF)
			default:
				return nil
			}
		}
	}
}

// batch sends what can be decoded without reading. Frames before a broken one
// are sent as if it were not there; it is found again when it comes first.
func (s *watching[T]) batch() (sent bool, err error) {
	// Within its capacity: an array that append left behind would keep its
	// objects.
	events, most := s.one[:0], cap(s.one)
	if s.busy != nil {
		events, most = s.busy.events[:0], batchEvents
	}
	frames, err := s.frames(most)
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
	case err == errUncut:
		s.lines = false
		return s.batch()
	default:
		return false, s.w.malformed("watch event", "%w", err)
	}
	for i := range n {
		end := s.w.offset + int64(frames[i].end)
		events[i].Bytes = end - s.counted
		s.counted = end
	}
	s.w.take(frames[n-1].end)
	err = s.yield(events[:n])
	// Nothing decoded may be kept alive by a watch that is waiting.
	clear(events)
	return true, err
}

// frames cuts up to most frames out of what is unread.
func (s *watching[T]) frames(most int) ([]frame, error) {
	var room [1]frame
	frames := room[:0]
	if s.busy != nil {
		frames = s.busy.frames[:0]
	}
	at := 0
	for len(frames) < most && at < batchBytes {
		f, ok, err := s.cut(at)
		if err != nil || !ok {
			if len(frames) > 0 {
				err = nil
			}
			return s.keep(frames), err
		}
		frames = append(frames, f)
		at = f.end
	}
	return s.keep(frames), nil
}

func (s *watching[T]) keep(frames []frame) []frame {
	if s.busy != nil {
		s.busy.frames = frames
	}
	return frames
}

// decode makes events of frames, and returns how many it made before the first
// that it could not.
func (s *watching[T]) decode(frames []frame, events []Event[T]) (int, error) {
	if s.busy == nil {
		if s.alone == nil {
			s.alone = s.dec.codec.reader(s.held)
		}
		if err := s.event(s.alone, frames[0].raw, &events[0]); err != nil {
			return 0, err
		}
		return 1, nil
	}
	s.busy.errs = slices.Grow(s.busy.errs[:0], len(frames))[:len(frames)]
	errs := s.busy.errs
	s.busy.crew.each(s.dec.codec, len(frames), s.held, func(r *reader[T], i int) {
		errs[i] = s.event(r, frames[i].raw, &events[i])
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

// rest gives the larger buffers back. The window must be empty, or done with.
func (s *watching[T]) rest() {
	s.w.buf, s.w.lo, s.w.hi = s.idle, 0, 0
	if s.busy != nil {
		s.dec.giveScratch(s.busy)
		s.busy = nil
	}
}

// protoFrame cuts out four bytes of length, and a WatchEvent.
func (s *watching[T]) protoFrame(from int) (f frame, ok bool, err error) {
	const header = 4
	b := s.w.unread()[from:]
	if len(b) < header {
		return f, false, nil
	}
	size := binary.BigEndian.Uint32(b)
	if err := s.w.fits(uint64(size)); err != nil {
		return f, false, err
	}
	b = b[header:]
	if uint64(len(b)) < uint64(size) {
		return f, false, nil
	}
	return frame{raw: b[:size:size], end: from + header + int(size)}, true, nil
}

// jsonFrame cuts out one JSON object and the white space before it.
func (s *watching[T]) jsonFrame(from int) (f frame, ok bool, err error) {
	b := s.w.unread()[from:]
	n := spaces(b)
	if n == len(b) {
		if from == 0 {
			s.w.take(n)
		}
		return f, false, nil
	}
	b, from = b[n:], from+n
	if b[0] != '{' {
		return f, false, s.w.malformed("watch", "an event was due: %s", glimpse(b))
	}
	if at := s.w.offset + int64(from); s.frameAt != at {
		s.extent, s.searched, s.frameAt = scan.Extent{}, 0, at
	}
	size := s.jsonEnd(b)
	have := size
	if size == 0 {
		have = len(b)
	}
	if err := s.w.fits(uint64(have)); err != nil || size == 0 {
		return f, false, err
	}
	return frame{raw: b[:size:size], end: from + size}, true, nil
}

// jsonEnd returns where the frame at the start of b ends, or 0 if not in b.
func (s *watching[T]) jsonEnd(b []byte) int {
	if s.lines {
		// No JSON has a line break in a string, so this is the end or else
		// the text was laid out for people.
		if n := bytes.IndexByte(b[s.searched:], '\n'); n >= 0 {
			return s.searched + n
		}
		s.searched = len(b)
		// Whoever ends an event with no line break ends it with a bracket: in
		// the middle of an event that is rare enough to follow all brackets.
		if last := b[len(b)-1]; last != '}' && !isSpace(last) {
			return 0
		}
	}
	return s.extent.End(b)
}

// jsonEvent decodes a frame that may have been cut at the end of its line.
func (s *watching[T]) jsonEvent(r *reader[T], raw []byte, e *Event[T]) error {
	if r.plainEvent(raw, e) {
		return nil
	}
	if s.lines {
		if n := new(scan.Extent).End(raw); n == 0 || n+spaces(raw[n:]) != len(raw) {
			return errUncut
		}
	}
	return jsonEvent(r, raw, e)
}
