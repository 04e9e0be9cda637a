package encoding

import (
	"bytes"
	"encoding/binary"

	"github.com/kinglet-go/kinglet/internal/wire/scan"
)

// Frames finds the events of one watch in a Window. Every server ends those in JSON with
// a line break, which is cheap to find; one that does not is followed bracket by bracket.
type Frames struct {
	json bool
	// lines reports that an event is assumed to end with its line.
	lines bool
	// extent is how far the brackets of an unfinished frame were followed.
	// searched is how far the end of its line, or betweenEvents, was searched for.
	// start is the position of the frame in the stream.
	extent   scan.Extent
	searched int
	start    int64
}

// Next returns the frame that starts at offset from in the unread bytes. It is not ok if
// more has to be read first. It consumes white space in front of the first frame.
func (f *Frames) Next(w *Window, from int) (Frame, bool, error) {
	if !f.json {
		return nextProto(w, from)
	}
	b := w.Unread()[from:]
	n := Spaces(b)
	if n == len(b) {
		if from == 0 {
			w.Consume(n)
		}
		return Frame{}, false, nil
	}
	b, from = b[n:], from+n
	if b[0] != '{' {
		return Frame{}, false, w.Malformed("watch", "an event was due: %s", Glimpse(b))
	}
	if at := w.Offset() + int64(from); f.start != at {
		f.extent, f.searched, f.start = scan.Extent{}, 0, at
	}
	size, broken := f.size(b)
	if broken {
		return Frame{}, false, w.Malformed("watch", "an event goes on where the next begins: %s", Glimpse(b))
	}
	have := size
	if size == 0 {
		have = len(b)
	}
	if err := w.Fits(uint64(have)); err != nil || size == 0 {
		return Frame{}, false, err
	}
	return Frame{Raw: b[:size:size], End: from + size}, true, nil
}

// nextProto returns the frame at an offset: a length in four bytes, then a WatchEvent.
func nextProto(w *Window, from int) (f Frame, ok bool, err error) {
	const header = 4
	b := w.Unread()[from:]
	if len(b) < header {
		return f, false, nil
	}
	size := binary.BigEndian.Uint32(b)
	if err := w.Fits(uint64(size)); err != nil {
		return f, false, err
	}
	b = b[header:]
	if uint64(len(b)) < uint64(size) {
		return f, false, nil
	}
	return Frame{Raw: b[:size:size], End: from + header + int(size)}, true, nil
}

// betweenEvents is in no JSON: an event that goes on behind it has lost a bracket or a quote.
var betweenEvents = []byte("}\n{")

// size returns the size of the frame at the start of b, or 0 if it goes on. It is broken
// if it has betweenEvents.
func (f *Frames) size(b []byte) (size int, broken bool) {
	if f.lines {
		// JSON has no line break in a string, so this is the end, unless the
		// text is indented.
		if n := bytes.IndexByte(b[f.searched:], '\n'); n >= 0 {
			return f.searched + n, false
		}
		f.searched = len(b)
		// A server that writes no line break ends the event with a bracket. In
		// the middle of an event that is rare enough to follow all brackets.
		if last := b[len(b)-1]; last != '}' && !isSpace(last) {
			return 0, false
		}
		return f.extent.End(b), false
	}
	if size = f.extent.End(b); size > 0 {
		b = b[:size]
	}
	broken = bytes.Contains(b[max(0, f.searched-len(betweenEvents)+1):], betweenEvents)
	f.searched = len(b)
	return size, broken
}

// Whole reports whether a frame that Next returned is one event, and all of it. Next may
// have guessed. Whole may be called from several goroutines.
func (f *Frames) Whole(raw []byte) bool {
	if !f.lines {
		return true
	}
	n := new(scan.Extent).End(raw)
	return n > 0 && n+Spaces(raw[n:]) == len(raw)
}

// Reconsider makes Next look at the first frame again without guessing. It returns false
// if Next did not guess.
func (f *Frames) Reconsider() bool {
	was := f.lines
	f.lines, f.searched = false, 0
	return was
}
