package connection

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"net/http/httptrace"
	"sync/atomic"
	"syscall"

	"github.com/kinglet-go/kinglet/source/internal/encoding"
)

// maxChunkHeader is how many bytes are searched for a chunk's header. Servers
// write the end of the last chunk and the length in hexadecimal: 12 bytes for
// anything that a watch sends.
const maxChunkHeader = 32

// Gathered is the body of an answer over HTTP/1.1. A Read goes on to the next
// chunk if the server has begun to send that.
//
// net/http reads a connection 4 KiB at a time, the client's own setting, but
// the rest of a chunk at once. With an empty buffer it cannot know whether there
// is more, and returns: in a backlog of events of 6.3 KB, each a chunk, every
// second read ends there, and the batch is two events. The kernel's buffer shows
// whether there is more.
type Gathered struct {
	io.ReadCloser
	conn atomic.Pointer[backlog]
}

// Gather returns a context for a request, and the Gathered to read its answer's
// body through: see Over.
func Gather(ctx context.Context) (context.Context, *Gathered) {
	g := &Gathered{}
	return httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{
		// A request that is tried again has another connection.
		GotConn: func(info httptrace.GotConnInfo) { g.conn.Store(backlogOf(info.Conn)) },
	}), g
}

// chunkedBody is the type of a body that returns the content of the server's
// chunks as it is. A body of another type transforms them: the received bytes do
// not show whether an inflater, for example, can return something, so another
// read could wait while there is something to deliver.
const chunkedBody = "*http.bodyEOFSignal"

// Over makes g read body, and returns g. It returns body if the connection does
// not show what it has received.
func (g *Gathered) Over(body io.ReadCloser) io.ReadCloser {
	if g.conn.Load() == nil || fmt.Sprintf("%T", body) != chunkedBody {
		return body
	}
	g.ReadCloser = body
	return g
}

// Read implements io.Reader. A small read, as of an idle watch, reads body once.
func (g *Gathered) Read(p []byte) (n int, err error) {
	n, err = g.ReadCloser.Read(p)
	if len(p) <= encoding.IdleRead {
		return n, err
	}
	for more := g.conn.Load(); err == nil && 0 < n && n < len(p) && more.begun(); {
		var m int
		m, err = g.ReadCloser.Read(p[n:])
		if n += m; m == 0 {
			break
		}
	}
	return n, err
}

// backlog peeks at the bytes that a connection has received and that were not
// read. It does not consume them.
type backlog struct {
	conn syscall.RawConn
	look func(fd uintptr)
	// seen is what look has found.
	seen []byte
	room [maxChunkHeader]byte
}

// backlogOf returns the backlog of a connection without TLS, or nil if it cannot be
// known.
func backlogOf(conn net.Conn) *backlog {
	tcp, ok := conn.(*net.TCPConn)
	if !ok || !canPeek {
		return nil
	}
	raw, err := tcp.SyscallConn()
	if err != nil {
		return nil
	}
	b := &backlog{conn: raw}
	b.look = func(fd uintptr) { b.seen = b.room[:peek(fd, b.room[:])] }
	return b
}

// begun reports whether the first byte of another chunk was received. Then a read
// waits at most for the rest of that chunk, as net/http does for every chunk.
func (b *backlog) begun() bool {
	b.seen = nil
	// The error means that the connection is closed; the next read returns it.
	_ = b.conn.Control(b.look)
	return chunkBegins(b.seen)
}

// chunkBegins reports whether p has, perhaps after the end of a chunk, the header
// of a chunk and at least one byte of its content.
func chunkBegins(p []byte) bool {
	p = bytes.TrimPrefix(p, []byte("\r\n"))
	line := bytes.IndexByte(p, '\n')
	if line < 2 || line+1 == len(p) || p[line-1] != '\r' {
		return false
	}
	for _, c := range p[:line-1] {
		if !('0' <= c && c <= '9' || 'a' <= c|0x20 && c|0x20 <= 'f') {
			return false
		}
	}
	return true
}
