package source

import (
	"errors"
	"fmt"
	"io"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kinglet-go/kinglet/internal/errtype"
	"github.com/kinglet-go/kinglet/source/internal/connection"
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
	// stream is nil for other readers than a server's answer. read are the events since its
	// last Wait.
	stream *connection.Stream
	read   int
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

// watch decodes the 200 answer to a WATCH until its end, which is nil if it comes
// between two events. All events that can be decoded without another read are one
// batch; the batch is reused after yield returns. The encoding is reported to
// onPath, which may be nil.
func (d *decoder[T]) watch(body io.Reader, held Held[T], onPath func(ReadPath), yield func([]Event[T]) error) error {
	idle := make([]byte, encoding.IdleRead)
	s := &watching[T]{
		dec:   d,
		held:  held,
		yield: yield,
		idle:  idle,
		one:   make([]Event[T], 0, 1),
	}
	s.stream, _ = body.(*connection.Stream)
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
			if s.stream != nil {
				if s.stream.Wait(s.read) {
					// The next watch goes on from here.
					return nil
				}
				s.read = 0
			}
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
		if s.stream != nil && events[i].Type == Bookmark {
			s.stream.Bookmark(events[i].InitialEventsEnd)
		}
	}
	s.w.Consume(frames[n-1].End)
	s.read += n
	err = s.yield(events[:n])
	// A waiting watch must keep no object alive.
	clear(events)
	return true, err
}

// next finds up to most frames in the unread bytes.
func (s *watching[T]) next(most int) (frames []encoding.Frame, err error) {
	var room [1]encoding.Frame
	frames = room[:0]
	if s.busy != nil {
		frames = s.busy.frames[:0]
	}
	for at := 0; len(frames) < most && at < batchBytes; {
		f, ok, failed := s.frames.Next(s.w, at)
		if failed != nil || !ok {
			err = failed
			break
		}
		frames = append(frames, f)
		at = f.End
	}
	if s.busy != nil {
		s.busy.frames = frames
	}
	if len(frames) > 0 {
		err = nil
	}
	return frames, err
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

func unknownType(name string) error { return fmt.Errorf("an event of unknown type %q", name) }

// event decodes a frame of a watch into e. An error means that the frame is no
// event; every other failure is in e.
func (r *reader[T]) event(enc encoding.Encoding, frame []byte, e *Event[T]) error {
	ev, err := enc.Event(frame)
	if err != nil {
		return err
	}
	e.Type = eventType(ev.Type)
	o := ev.Object
	switch {
	case ev.Bare:
		errorEvent(enc, o, e)
	case e.Type == Unknown:
		e.Item = identified[T](enc.Identity(o.Raw))
		e.Err = unknownType(ev.Type)
	case ev.Err != nil:
		e.noObject(o.Raw)
	case e.Type == Error || o.Kind == encoding.StatusKind:
		errorEvent(enc, o, e)
	case e.Type == Bookmark:
		r.bookmark(enc, o, e)
	default:
		item := r.watched(enc, o)
		if isStatus(item.Err) {
			errorEvent(enc, o, e)
			return nil
		}
		e.Item = item
	}
	return nil
}

// usualEvent decodes a frame of the form that servers write, without first
// looking for the end of the object. It returns false if it cannot.
func (r *reader[T]) usualEvent(enc encoding.Encoding, frame []byte, e *Event[T]) bool {
	p, ok := enc.Prefix(frame)
	if !ok || r.wire == nil {
		return false
	}
	obj, n, err := r.prefix(enc, p.Rest)
	if err != nil || !p.Ends(p.Rest[n:]) {
		return false
	}
	raw := p.Rest[:n]
	d := r.withKind(enc, obj, encoding.Object{Raw: raw}, schema.GroupVersionKind{})
	item := r.ofWatch(enc, d, nil, raw)
	if item.Err != nil {
		return false
	}
	e.Type, e.Item = eventType(p.Type), item
	return true
}

// bookmark decodes the metadata of a bookmark's object.
func (r *reader[T]) bookmark(enc encoding.Encoding, o encoding.Object, e *Event[T]) {
	var at metav1.PartialObjectMetadata
	var err error
	if o.Enveloped {
		err = r.kind.check(o.Kind)
	}
	if err == nil {
		err = enc.Unmarshal(o.Raw, &at)
	}
	if err == nil && !o.Enveloped {
		gvk := enc.Kind(o.Raw)
		if gvk == encoding.StatusKind {
			errorEvent(enc, o, e)
			return
		}
		err = r.kind.check(gvk)
	}
	e.bookmark(&at.ObjectMeta, err)
}

// errorEvent makes e an Error event with the Status, or whatever else the server
// sent instead of an object.
func errorEvent[T any](enc encoding.Encoding, o encoding.Object, e *Event[T]) {
	e.Type = Error
	kind := encoding.KindOf(enc, o).Kind
	if kind == encoding.StatusKind.Kind {
		var status metav1.Status
		if err := enc.Unmarshal(o.Raw, &status); err != nil {
			e.Err = fmt.Errorf("a status that cannot be decoded: %w: %q", err, encoding.Excerpt(o.Raw))
			return
		}
		e.Err = statusError(&status)
		return
	}
	e.Err = fmt.Errorf("the server sent as an error: %w: unexpected object of kind %q", ErrNoStatus, kind)
}

// isStatus reports whether err is about a Status instead of an object.
func isStatus(err error) bool {
	k, ok := errtype.As[*KindError](err)
	return ok && k.Got == encoding.StatusKind
}

// noObject turns e, whose type is known, into an event without an object.
func (e *Event[T]) noObject(got []byte) {
	err := fmt.Errorf("%s with no object in it: %s", e.Type, encoding.Glimpse(got))
	t := Unknown
	if e.Type == Error {
		t = Error
		err = fmt.Errorf("%w: no object in it: %s", ErrNoStatus, encoding.Glimpse(got))
	}
	*e = Event[T]{Type: t}
	e.Err = err
}

// bookmark turns e into a bookmark at m, or into an Unknown event if err is set.
// Bookmarks of hand-made watches may have no version: only the annotation decides
// whether one ends the initial events.
func (e *Event[T]) bookmark(m metav1.Object, err error) {
	if err != nil {
		*e = Event[T]{Type: Unknown}
		e.Err = fmt.Errorf("%s: %w", Bookmark, err)
		return
	}
	*e = Event[T]{Type: Bookmark}
	e.ResourceVersion = m.GetResourceVersion()
	e.InitialEventsEnd = m.GetAnnotations()[metav1.InitialEventsAnnotationKey] == "true"
}

// keptEvents is the largest capacity of a batch that is kept for reuse: small
// enough for a thousand idle watches.
const keptEvents = 8

// reuse empties a delivered batch, so that it keeps no object alive, and drops
// one that grew in a burst.
func reuse[T any](batch []Event[T]) []Event[T] {
	if cap(batch) > keptEvents {
		return nil
	}
	clear(batch)
	return batch[:0]
}
