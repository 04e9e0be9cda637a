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

// maxChunkHeader is how far a chunk's header is looked for. Servers write the
// end of the last chunk and the length in hexadecimal: 12 bytes for anything
// that a watch sends.
const maxChunkHeader = 32

// Gathered is the body of an answer over HTTP/1.1 that is read on for as long
// as that cannot wait for something that the server has not begun to send.
//
// net/http reads a connection 4 KiB at a time, the client's own setting, but
// the rest of a chunk at once. With nothing left in its buffer it cannot know
// whether there is more, and returns: of a backlog of events of 6.3 KB, each a
// chunk, every second read ends there, and the batch is two events. What the
// kernel holds tells.
type Gathered struct {
	io.ReadCloser
	conn atomic.Pointer[backlog]
}

// Gather returns a context for a request, and what its answer's body is
// then to be read through: see Over.
func Gather(ctx context.Context) (context.Context, *Gathered) {
	g := &Gathered{}
	return httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{
		// A request that is tried again has another connection.
		GotConn: func(info httptrace.GotConnInfo) { g.conn.Store(backlogOf(info.Conn)) },
	}), g
}

// chunkedBody is the type of a body that is what the server's chunks have in
// them. One of any other type is made of them by somebody: what was received
// says nothing of what an inflater, for one, can make of it, so that another read
// could wait while there is something to deliver.
const chunkedBody = "*http.bodyEOFSignal"

// Over makes g read body. Where the connection does not tell what is there,
// body is all that is needed.
func (g *Gathered) Over(body io.ReadCloser) io.ReadCloser {
	if g.conn.Load() == nil || fmt.Sprintf("%T", body) != chunkedBody {
		return body
	}
	g.ReadCloser = body
	return g
}

// Read implements io.Reader. One that asks for little, as a watch at rest does,
// is the body's.
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

// backlog is what a connection has received and nobody has read. It is only
// looked at.
type backlog struct {
	conn syscall.RawConn
	look func(fd uintptr)
	// seen is what look has found.
	seen []byte
	room [maxChunkHeader]byte
}

// backlogOf is that of a connection without TLS; nil where it cannot be known.
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

// begun reports whether a chunk follows whose first byte is there, so that only
// its rest has to be waited for, as net/http waits for the rest of every chunk.
func (b *backlog) begun() bool {
	b.seen = nil
	// The error says that the connection is closed, which the next read says
	// as well.
	_ = b.conn.Control(b.look)
	return chunkBegins(b.seen)
}

// chunkBegins reports whether p has the end of a chunk, perhaps, then the
// header of one, and something of that.
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
