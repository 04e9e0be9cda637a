package source

import (
	"fmt"
	"io"
)

const (
	// idleRead is what a watch waits with: a bookmark takes 100 to 1,000 bytes.
	// Below 4 KiB a read costs no HTTP/2 window update.
	idleRead = 1 << 10
	// smallRead is the size of a read when there is more to come, busyRead
	// when there is more than that. Below about 100 KB each read's window
	// update weighs more than its bytes; what is decoded at once is shared out
	// among cores, so twice as much.
	smallRead = 16 << 10
	busyRead  = 256 << 10
	// maxEmptyReads in a row mean a reader that is broken.
	maxEmptyReads = 100
)

// reads are the sizes of reads that need a buffer of their own.
var reads = [...]int{smallRead, busyRead}

// window is the part of a stream that was read and not yet taken. It grows
// with what really arrives, never with what a length announces.
type window struct {
	r io.Reader
	// buf[lo:hi] is unread. Invariant: 0 <= lo <= hi <= len(buf).
	buf    []byte
	lo, hi int
	// limit is the most bytes that one object may take.
	limit int
	// offset is where buf[lo] stands in the stream.
	offset int64
	// large gives a buffer of at least so many bytes.
	large func(size int) []byte
	// pinned says that taken bytes are still looked at; unpin ends that, and
	// is called before they would be overwritten.
	pinned bool
	unpin  func()
	// err is what ended reading; sticky.
	err error
}

func (w *window) unread() []byte { return w.buf[w.lo:w.hi] }

// take moves past n unread bytes.
func (w *window) take(n int) {
	w.lo += n
	w.offset += int64(n)
	if w.lo == w.hi && !w.pinned {
		w.lo, w.hi = 0, 0
	}
}

// more reads once, and returns once at least one byte more is unread. At the
// end it returns io.EOF, or what went wrong.
func (w *window) more() error {
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

// makeRoom sees to it that there is room behind hi.
func (w *window) makeRoom() {
	if w.pinned && len(w.buf)-w.hi < len(w.buf)/4 {
		w.pinned = false
		w.unpin()
		if w.lo == w.hi {
			// All of it was used, so there is more to come.
			w.lo, w.hi = 0, 0
			if len(w.buf) < busyRead {
				w.buf = w.large(busyRead)
			}
		}
	}
	size, n := len(w.buf), w.hi-w.lo
	switch {
	case w.hi == size && size < busyRead:
		// It was filled, so there is more to come.
		next := smallRead
		if size >= smallRead {
			next = busyRead
		}
		w.moveTo(w.large(next))
	case w.pinned || size-w.hi >= size/2:
	case w.lo > 0 && n <= size/2:
		// Rather than a short read.
		w.moveTo(w.buf)
	case w.hi == size:
		w.moveTo(make([]byte, 2*size))
	}
}

func (w *window) moveTo(buf []byte) {
	w.hi = copy(buf, w.unread())
	w.lo = 0
	w.buf = buf
}

// need reads until n bytes are unread. The stream's end before that is
// io.ErrUnexpectedEOF.
func (w *window) need(n int) error {
	for w.hi-w.lo < n {
		if err := w.more(); err != nil {
			return unexpected(err)
		}
	}
	return nil
}

// skip moves past n bytes, however many they are, without keeping them.
func (w *window) skip(n int64) error {
	for n > 0 {
		if err := w.need(1); err != nil {
			return err
		}
		step := min(n, int64(w.hi-w.lo))
		w.take(int(step))
		n -= step
	}
	return nil
}

// fits returns a *TooLargeError for more than the limit.
func (w *window) fits(n uint64) error {
	if n > uint64(w.limit) {
		return &TooLargeError{Bytes: int64(min(n, 1<<62)), Limit: int64(w.limit)}
	}
	return nil
}

func (w *window) malformed(what, format string, args ...any) error {
	return &MalformedError{What: what, Offset: w.offset, Err: fmt.Errorf(format, args...)}
}

// unexpected turns an end that came too early into io.ErrUnexpectedEOF.
func unexpected(err error) error {
	if err == io.EOF {
		return io.ErrUnexpectedEOF
	}
	return err
}
