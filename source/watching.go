package source

import (
	"encoding/binary"
	"fmt"
	"io"
)

const (
	// A batch is sent on at this many events or bytes, whichever comes first.
	batchEvents = 256
	batchBytes  = 1 << 20
)

// watching is one WATCH answer being decoded.
type watching[T any] struct {
	dec   *decoder[T]
	w     window
	yield func([]Event[T]) error
	// frame decodes the next frame if all of it is unread.
	frame func(*Event[T]) (ok bool, err error)
	// scan is how far the JSON frame at the window's start was searched.
	scan jsonScan
	// counted is where in the stream the last event ended. What separates
	// two events is counted with the second.
	counted int64

	// idle is the buffer to wait with, one the event that then comes.
	idle []byte
	one  []Event[T]
	// busy is nil while the watch is idle.
	busy *scratch[T]
}

// DecodeWatch implements Decoder.
func (d *decoder[T]) DecodeWatch(body io.Reader, _ Held[T], yield func([]Event[T]) error) error {
	idle := make([]byte, idleRead)
	s := &watching[T]{
		dec:   d,
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
	switch encodingOf(s.w.unread()[0]) {
	case encodingJSON:
		s.frame = s.jsonFrame
	case encodingProtobuf:
		s.frame = s.protoFrame
	default:
		return s.w.malformed("watch", "neither JSON nor protobuf: %q", excerpt(s.w.unread()))
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

// batch sends what can be decoded without reading. What was decoded before a
// broken frame is sent before the error is returned.
func (s *watching[T]) batch() (sent bool, err error) {
	// Within its capacity: an array that append left behind would keep its
	// objects.
	events, most := s.one[:0], cap(s.one)
	if s.busy != nil {
		events, most = s.busy.events[:0], batchEvents
	}
	start := s.w.offset
	var bad error
	for len(events) < most && s.w.offset-start < batchBytes {
		var e Event[T]
		ok, err := s.frame(&e)
		if err != nil {
			bad = err
			break
		}
		if !ok {
			break
		}
		e.Bytes = s.w.offset - s.counted
		s.counted = s.w.offset
		events = append(events, e)
	}
	if len(events) == 0 {
		return false, bad
	}
	err = s.yield(events)
	// Nothing decoded may be kept alive by a watch that is waiting.
	clear(events)
	if s.busy != nil {
		s.busy.events = events[:0]
	}
	if err == nil {
		err = bad
	}
	return true, err
}

// wake gives the window the large buffer.
func (s *watching[T]) wake() []byte {
	if s.busy == nil {
		s.busy = s.dec.takeScratch()
	}
	return s.busy.buf
}

// rest gives the large buffer back. The window must be empty, or done with.
func (s *watching[T]) rest() {
	s.w.buf, s.w.lo, s.w.hi = s.idle, 0, 0
	if s.busy != nil {
		s.dec.giveScratch(s.busy)
		s.busy = nil
	}
}

// protoFrame takes one frame: four bytes of length, and a WatchEvent.
func (s *watching[T]) protoFrame(e *Event[T]) (bool, error) {
	const header = 4
	b := s.w.unread()
	if len(b) < header {
		return false, nil
	}
	size := binary.BigEndian.Uint32(b)
	if err := s.w.fits(uint64(size)); err != nil {
		return false, err
	}
	frame := b[header:]
	if uint64(len(frame)) < uint64(size) {
		return false, nil
	}
	frame = frame[:size]
	if err := s.dec.protoEvent(frame, e); err != nil {
		return false, s.w.malformed("watch event", "%w", err)
	}
	s.w.take(header + int(size))
	return true, nil
}

// jsonFrame takes one JSON object and the white space before it.
func (s *watching[T]) jsonFrame(e *Event[T]) (bool, error) {
	b := s.w.unread()
	if s.scan == (jsonScan{}) {
		if n := spaces(b); n > 0 {
			s.w.take(n)
			b = b[n:]
		}
		if len(b) == 0 {
			return false, nil
		}
		if b[0] != '{' {
			return false, s.w.malformed("watch", "an event was due: %q", excerpt(b))
		}
	}
	n := s.scan.end(b)
	size := n
	if n == 0 {
		size = len(b)
	}
	if err := s.w.fits(uint64(size)); err != nil || n == 0 {
		return false, err
	}
	s.scan = jsonScan{}
	if err := s.dec.jsonEvent(b[:n], e); err != nil {
		return false, s.w.malformed("watch event", "%w", err)
	}
	s.w.take(n)
	return true, nil
}
