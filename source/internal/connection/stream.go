package connection

import (
	"bytes"
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"net/http/httptrace"
	"sync/atomic"
	"time"

	"github.com/kinglet-go/kinglet/source/internal/encoding"
)

// Stream is the body of the answer to a watch. A Read goes on to the next chunk if the
// server has begun to send that, and Wait waits until several events can be read at once.
//
// net/http cannot know whether there is more after a chunk, and returns: in a backlog of
// events of 6.3 KB, each a chunk, every second read would end there.
type Stream struct {
	io.ReadCloser
	pacer *pacer
	conn  atomic.Pointer[conn]
	// events are the stream's own. They belong to the reader.
	events rate
}

type streamKey struct{}

func streamOf(ctx context.Context) *Stream {
	s, _ := ctx.Value(streamKey{}).(*Stream)
	return s
}

// Watch returns a context for the request of a watch, which Wrap gives a connection of
// its own, and the Stream to read its answer's body through: see Over. Its events may wait
// for delay.
func Watch(ctx context.Context, delay time.Duration) (context.Context, *Stream) {
	s := &Stream{pacer: pacerOf(delay)}
	ctx = context.WithValue(ctx, streamKey{}, s)
	return httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{
		// A request that is tried again has another connection.
		GotConn: func(info httptrace.GotConnInfo) {
			c := info.Conn
			if secure, ok := c.(*tls.Conn); ok {
				c = secure.NetConn()
			}
			own, _ := c.(*conn)
			s.conn.Store(own)
		},
	}), s
}

// chunkedBody is the type of a body that returns the content of the server's
// chunks as it is. A body of another type transforms them: the received bytes do
// not show whether an inflater, for example, can return something, so another
// read could wait while there is something to deliver.
const chunkedBody = "*http.bodyEOFSignal"

// Over makes s read body, and returns s. It returns body if the connection does
// not show what it has received.
func (s *Stream) Over(body io.ReadCloser) io.ReadCloser {
	if s.conn.Load() == nil || fmt.Sprintf("%T", body) != chunkedBody {
		return body
	}
	s.ReadCloser = body
	return s
}

// Read implements io.Reader. A small read, as of an idle watch, reads body once.
func (s *Stream) Read(p []byte) (n int, err error) {
	n, err = s.ReadCloser.Read(p)
	if len(p) <= encoding.IdleRead {
		return n, err
	}
	for c := s.conn.Load(); err == nil && 0 < n && n < len(p) && c.begun(); {
		var m int
		m, err = s.ReadCloser.Read(p[n:])
		if n += m; m == 0 {
			break
		}
	}
	return n, err
}

// maxChunkHeader is how many bytes are searched for a chunk's header. Servers
// write the end of the last chunk and the length in hexadecimal: 12 bytes for
// anything that a watch sends.
const maxChunkHeader = 32

// chunkBegins reports whether p has, perhaps after the end of a chunk, the header
// of a chunk and at least one byte of its content.
func chunkBegins(p []byte) bool {
	p = bytes.TrimPrefix(p[:min(len(p), maxChunkHeader)], []byte("\r\n"))
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
