package connection

import (
	"errors"
	"io"
	"net"
	"os"
	"reflect"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"k8s.io/client-go/util/connrotation"

	"github.com/kinglet-go/kinglet/internal/errtype"
)

// readSize is how much a conn reads at a time.
const readSize = 128 << 10

// buffers are those of connections with something to read. An idle one has none.
var buffers = sync.Pool{New: func() any { return new([readSize]byte) }}

// conn is a connection that takes all that has come with one system call, and knows how
// much of that is left. It returns one TLS record at a time, so that what it has returned
// is what crypto/tls has decrypted.
type conn struct {
	net.Conn
	tcp *net.TCPConn
	raw syscall.RawConn
	// take and park are the methods takeFrom and parkAt; look sets empty.
	take, park func(fd uintptr) bool
	look       func(fd uintptr)
	// secure reports that the stream is one of TLS records: a handshake was written.
	// Through a proxy that is after its answer.
	secure atomic.Bool
	closed atomic.Bool

	// What follows belongs to the goroutine that reads.

	// buf[lo:hi] was received and not returned. buf is nil if there is nothing.
	buf    *[readSize]byte
	lo, hi int
	// err ended the stream; sticky.
	err error
	// quiet reports that the kernel was asked not to wake the process for less than
	// readSize bytes, loud that it could not be.
	quiet, loud bool
	// woken is set between two calls of park. empty reports that the last poll found nothing.
	woken, empty bool
	// expires reports that a deadline is set.
	expires bool
	// header is the part of a record's header that was returned, rest what is left to be
	// returned of the record.
	header []byte
	room   [recordHeader]byte
	rest   int
}

// recordHeader is the length of a TLS record's header: type, version, length.
const recordHeader = 5

// buffered returns a conn over c, whose TCP connection is tcp. It returns c if tcp is closed.
func buffered(c net.Conn, tcp *net.TCPConn) net.Conn {
	raw, err := tcp.SyscallConn()
	if err != nil {
		return c
	}
	open.Add(1)
	b := &conn{Conn: c, tcp: tcp, raw: raw}
	b.take, b.park = b.takeFrom, b.parkAt
	b.look = func(fd uintptr) { b.empty = !b.poll(fd) }
	b.header = b.room[:0]
	return b
}

// tcpOf returns the TCP connection that c is, or that client-go tracks to close it when
// certificates rotate. Any other wrapper may do more than to pass on what it reads.
func tcpOf(c net.Conn) *net.TCPConn {
	v := reflect.Indirect(reflect.ValueOf(c))
	if v.Kind() == reflect.Struct && v.Type().PkgPath() == reflect.TypeFor[connrotation.Dialer]().PkgPath() {
		if f := v.FieldByName("Conn"); f.IsValid() && f.CanInterface() {
			c, _ = f.Interface().(net.Conn)
		}
	}
	tcp, _ := c.(*net.TCPConn)
	return tcp
}

func (c *conn) Close() error {
	if !c.closed.Swap(true) {
		open.Add(-1)
	}
	return c.Conn.Close()
}

func (c *conn) Read(p []byte) (int, error) {
	if len(p) == 0 {
		return 0, nil
	}
	if c.buf == nil {
		c.setDeadline(time.Time{})
		if err := c.raw.Read(c.take); err != nil {
			return 0, c.failed(err)
		}
		if c.err != nil {
			return 0, c.err
		}
		c.empty = false
	}
	n := min(len(p), c.hi-c.lo)
	if c.secure.Load() {
		n = c.ofRecord(n)
	}
	copy(p, c.buf[c.lo:c.lo+n])
	if c.lo += n; c.lo == c.hi {
		c.release()
	}
	return n, nil
}

// handshake is the type of a TLS record. A request in plain text begins with a letter.
const handshake = 0x16

func (c *conn) Write(p []byte) (int, error) {
	if len(p) > 0 && p[0] == handshake {
		c.secure.Store(true)
	}
	return c.Conn.Write(p)
}

// takeFrom reads what the kernel has, and reports whether that is anything. If it is not,
// the first byte will wake the process.
func (c *conn) takeFrom(fd uintptr) bool {
	if c.poll(fd) {
		return true
	}
	if !c.quiet {
		return false
	}
	c.setQuiet(fd, false)
	return c.poll(fd)
}

// poll reports whether there was anything to read, or the end.
func (c *conn) poll(fd uintptr) bool {
	if c.err != nil {
		return true
	}
	c.buf = buffers.Get().(*[readSize]byte)
	n, err := readFrom(fd, c.buf[:])
	if n > 0 {
		c.lo, c.hi = 0, n
		return true
	}
	c.release()
	switch {
	case err == nil:
		c.err = io.EOF
	case err == syscall.EAGAIN:
		return false
	default:
		c.err = c.failed(os.NewSyscallError("read", err))
	}
	return true
}

func (c *conn) failed(err error) error {
	if raw, ok := errtype.As[*net.OpError](err); ok {
		err = raw.Err
	}
	return &net.OpError{Op: "read", Net: "tcp", Source: c.LocalAddr(), Addr: c.RemoteAddr(), Err: err}
}

// receive sleeps until at, or until there are readSize bytes, or the stream ends. It
// reports whether the next Read returns at once.
func (c *conn) receive(at time.Time) bool {
	if c.buf != nil || c.loud {
		return true
	}
	c.setDeadline(at)
	c.woken = false
	if err := c.raw.Read(c.park); err != nil && !errors.Is(err, os.ErrDeadlineExceeded) {
		return true
	}
	err := c.raw.Control(c.look)
	return !c.empty || err != nil
}

// await waits for the first byte, or the end, until at. It reports whether the next Read
// returns at once.
func (c *conn) await(at time.Time) bool {
	if c.buf != nil {
		return true
	}
	c.setDeadline(at)
	return !errors.Is(c.raw.Read(c.take), os.ErrDeadlineExceeded)
}

// parkAt is called before receive sleeps, and once the kernel reports the connection as
// readable.
func (c *conn) parkAt(fd uintptr) bool {
	if c.woken {
		return true
	}
	c.woken = true
	if !c.quiet || !c.empty {
		// Asked again, the kernel reports what has come meanwhile.
		c.setQuiet(fd, true)
	}
	return c.loud
}

// setQuiet asks the kernel.
func (c *conn) setQuiet(fd uintptr, quiet bool) {
	least := 1
	if quiet {
		least = readSize
	}
	err := setLeast(fd, least)
	c.quiet, c.loud = quiet && err == nil, err != nil
}

// setDeadline sets that of reads, unless none is set and none is to be.
func (c *conn) setDeadline(at time.Time) {
	if c.expires || !at.IsZero() {
		c.expires = !at.IsZero()
		// An error is the next read's.
		_ = c.tcp.SetReadDeadline(at)
	}
}

func (c *conn) release() {
	buffers.Put(c.buf)
	c.buf, c.lo, c.hi = nil, 0, 0
}

// ofRecord returns how many of the next n bytes belong to the record under way, and
// counts them.
func (c *conn) ofRecord(n int) int {
	if c.rest == 0 {
		n = min(n, recordHeader-len(c.header))
		c.header = append(c.header, c.buf[c.lo:c.lo+n]...)
		if len(c.header) == recordHeader {
			c.rest = recordLength(c.header)
			c.header = c.header[:0]
		}
		return n
	}
	n = min(n, c.rest)
	c.rest -= n
	return n
}

func recordLength(header []byte) int { return int(header[3])<<8 | int(header[4]) }

// chunkEnd is more than the length of a record that holds nothing but the end of a chunk, or
// the header of one, with any cipher. Servers send a record of the end alone after each
// event that is longer than their buffer.
const chunkEnd = 128

// begun reports whether another read would find the beginning of an event. Then it waits
// at most for the rest.
func (c *conn) begun() bool {
	if c.buf == nil {
		return false
	}
	unread := c.buf[c.lo:c.hi]
	if !c.secure.Load() {
		return chunkBegins(unread)
	}
	if c.rest > 0 || len(c.header) > 0 {
		return false
	}
	for len(unread) >= recordHeader {
		n := recordHeader + recordLength(unread)
		if n > len(unread) {
			return false
		}
		if n > chunkEnd {
			return true
		}
		unread = unread[n:]
	}
	return false
}
