package encoding

import (
	"bytes"

	"github.com/kinglet-go/kinglet/internal/wire/scan"
)

// jsonFrames finds events that are JSON objects. Every server ends them with a
// line break, which is cheap to find; one that does not is followed bracket by
// bracket.
type jsonFrames struct {
	// lines reports that an event is assumed to end with its line.
	lines bool
	// extent is how far the brackets of an unfinished frame were followed.
	// searched is how far the end of its line was searched for. start is the
	// position of the frame in the stream.
	extent   scan.Extent
	searched int
	start    int64
}

// Next implements Frames. It consumes white space in front of the first frame.
func (f *jsonFrames) Next(w *Window, from int) (Frame, bool, error) {
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
	size := f.size(b)
	have := size
	if size == 0 {
		have = len(b)
	}
	if err := w.Fits(uint64(have)); err != nil || size == 0 {
		return Frame{}, false, err
	}
	return Frame{Raw: b[:size:size], End: from + size}, true, nil
}

// size returns the size of the frame at the start of b, or 0 if it goes on.
func (f *jsonFrames) size(b []byte) int {
	if f.lines {
		// JSON has no line break in a string, so this is the end, unless the
		// text is indented.
		if n := bytes.IndexByte(b[f.searched:], '\n'); n >= 0 {
			return f.searched + n
		}
		f.searched = len(b)
		// A server that writes no line break ends the event with a bracket. In
		// the middle of an event that is rare enough to follow all brackets.
		if last := b[len(b)-1]; last != '}' && !isSpace(last) {
			return 0
		}
	}
	return f.extent.End(b)
}

// Whole implements Frames.
func (f *jsonFrames) Whole(raw []byte) bool {
	if !f.lines {
		return true
	}
	n := new(scan.Extent).End(raw)
	return n > 0 && n+Spaces(raw[n:]) == len(raw)
}

// Reconsider implements Frames.
func (f *jsonFrames) Reconsider() bool {
	was := f.lines
	f.lines = false
	return was
}
