package encoding

import (
	"fmt"
	"io"
)

const (
	// IdleRead is the buffer of a watch that waits: a bookmark takes 100 to
	// 1,000 bytes. Below 4 KiB a read costs no HTTP/2 window update.
	IdleRead = 1 << 10
	// SmallRead is the size of a read when more is expected, BusyRead when that
	// was not enough. Below about 100 KB the window update of each read costs
	// more than its bytes. Several cores decode a read, so it is twice as large.
	SmallRead = 16 << 10
	BusyRead  = 256 << 10
	// maxEmptyReads in a row mean that the reader is broken.
	maxEmptyReads = 100
)

// Window is the part of a stream that was read and not yet consumed.
type Window struct {
	r io.Reader
	// buf[lo:hi] is unread. Invariant: 0 <= lo <= hi <= len(buf).
	buf    []byte
	lo, hi int
	// limit is the most bytes that one object may take.
	limit int
	// offset is the position of buf[lo] in the stream.
	offset int64
	// larger returns a buffer of at least size bytes.
	larger func(size int) []byte
	// release, if it is set, is called before bytes are overwritten that were
	// consumed and are still in use. pinned reports that there are any.
	release func()
	pinned  bool
	// err ended the stream; sticky.
	err error
}

// NewWindow returns a window over r that starts with buf and gets its larger
// buffers from larger. No object may take more than limit bytes.
func NewWindow(r io.Reader, buf []byte, limit int, larger func(size int) []byte) *Window {
	return &Window{r: r, buf: buf, limit: limit, larger: larger}
}

// Unread returns the bytes that were read and not consumed. They are valid
// until the next call of More or Need.
func (w *Window) Unread() []byte { return w.buf[w.lo:w.hi] }

// Offset is the position of the first unread byte in the stream.
func (w *Window) Offset() int64 { return w.offset }

// Consume moves past n unread bytes.
func (w *Window) Consume(n int) {
	w.lo += n
	w.offset += int64(n)
	if w.lo == w.hi && !w.pinned {
		w.lo, w.hi = 0, 0
	}
}

// Pin keeps consumed bytes valid until release is called, which happens before
// they are overwritten.
func (w *Window) Pin(release func()) { w.pinned, w.release = true, release }

// Unpin reports that consumed bytes are no longer in use.
func (w *Window) Unpin() { w.pinned = false }

// Reset makes buf the window's buffer. Nothing may be unread.
func (w *Window) Reset(buf []byte) { w.buf, w.lo, w.hi = buf, 0, 0 }

// More reads once, and returns when at least one more byte is unread. At the
// end of the stream it returns io.EOF, or the error that ended it.
func (w *Window) More() error {
	if w.err != nil {
		return w.err
	}
	w.makeRoom()
	for range maxEmptyReads {
		n, err := w.r.Read(w.buf[w.hi:])
		w.hi += n
		if err != nil {
			w.err = err
		}
		if n > 0 {
			return nil
		}
		if err != nil {
			return err
		}
	}
	w.err = io.ErrNoProgress
	return w.err
}

// makeRoom makes room after hi.
func (w *Window) makeRoom() {
	if w.pinned && len(w.buf)-w.hi < len(w.buf)/4 {
		w.pinned = false
		w.release()
		if w.lo == w.hi {
			// All of the buffer was used, so more is expected.
			w.lo, w.hi = 0, 0
			if len(w.buf) < BusyRead {
				w.buf = w.larger(BusyRead)
			}
		}
	}
	size, n := len(w.buf), w.hi-w.lo
	switch {
	case w.hi == size && size < BusyRead:
		// The last read filled the buffer, so more is expected.
		next := SmallRead
		if size >= SmallRead {
			next = BusyRead
		}
		w.moveTo(w.larger(next))
	case w.pinned || size-w.hi >= size/2:
	case w.lo > 0 && n <= size/2:
		// Moving is cheaper than a short read.
		w.moveTo(w.buf)
	case w.hi == size:
		w.moveTo(make([]byte, 2*size))
	}
}

func (w *Window) moveTo(buf []byte) {
	w.hi = copy(buf, w.Unread())
	w.lo = 0
	w.buf = buf
}

// Need reads until n bytes are unread. The end of the stream before that is
// io.ErrUnexpectedEOF.
func (w *Window) Need(n int) error {
	for w.hi-w.lo < n {
		if err := w.More(); err != nil {
			return unexpected(err)
		}
	}
	return nil
}

// Skip consumes n bytes, however many they are, without buffering them.
func (w *Window) Skip(n int64) error {
	for n > 0 {
		if err := w.Need(1); err != nil {
			return err
		}
		step := min(n, int64(w.hi-w.lo))
		w.Consume(int(step))
		n -= step
	}
	return nil
}

// Fits returns a *TooLargeError if n is more than the limit.
func (w *Window) Fits(n uint64) error {
	if n > uint64(w.limit) {
		return &TooLargeError{Bytes: int64(min(n, 1<<62)), Limit: int64(w.limit)}
	}
	return nil
}

// Malformed returns a *MalformedError at the first unread byte.
func (w *Window) Malformed(what, format string, args ...any) error {
	return &MalformedError{What: what, Offset: w.offset, Err: fmt.Errorf(format, args...)}
}

// unexpected turns io.EOF into io.ErrUnexpectedEOF.
func unexpected(err error) error {
	if err == io.EOF {
		return io.ErrUnexpectedEOF
	}
	return err
}
