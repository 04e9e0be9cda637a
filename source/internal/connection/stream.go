package connection

import (
	"bytes"
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http/httptrace"
	"sync/atomic"
	"time"

	"github.com/kinglet-go/kinglet/source/internal/encoding"
)

// Route is how the watches of a source are sent. They begin on a connection that is shared,
// and move to one of their own once they are busy, and back once they are silent: an idle
// watch costs no connection, and the pings of HTTP/2 tell it from one whose server has gone.
type Route struct {
	own atomic.Bool
	// resumes reports that a bookmark has come: the server has a history, and a watch goes on
	// from a version. Elsewhere the end of a watch loses what happens before the next.
	resumes atomic.Bool
	// until is when an own connection may be tried again, in nanoseconds; 0 for now.
	until atomic.Int64
}

// refusal is how long a source whose own connection failed, or was of no use, does without
// one.
const refusal = time.Hour

func (r *Route) refuse() {
	r.own.Store(false)
	r.until.Store(time.Now().Add(refusal).UnixNano())
}

func (r *Route) refused() bool {
	until := r.until.Load()
	return until != 0 && time.Now().UnixNano() < until
}

// Stream is the body of the answer to a watch. Over a connection of its own, or without TLS, a
// Read goes on to the next chunk if the server has begun to send that. Over one of its own,
// Wait waits until several events can be read at once.
//
// net/http cannot know whether there is more after a chunk, and returns: in a backlog of
// events of 6.3 KB, each a chunk, every second read would end there.
type Stream struct {
	io.ReadCloser
	pacer *pacer
	route *Route
	// movable reports that the stream can have a connection of its own, and has none.
	movable bool
	// scheme is that of its request, once that asked for a connection of its own.
	scheme string
	conn   atomic.Pointer[conn]
	// backlog is of a connection that is not its own, and has no TLS.
	backlog atomic.Pointer[backlog]
	// served reports that an event came over the connection.
	served atomic.Bool

	// What follows belongs to the reader.

	// initial reports that the stream is one of initial events, which are a list.
	initial bool
	// full reports that the last Read filled its buffer, or failed: there may be more in
	// net/http.
	full bool
	// events are the stream's own. busy is since when there have been many, and settles how
	// long that has to last.
	events  rate
	busy    time.Time
	settles time.Duration
}

type streamKey struct{}

func streamOf(ctx context.Context) *Stream {
	s, _ := ctx.Value(streamKey{}).(*Stream)
	return s
}

// Watch returns a context for the request of a watch, which Wrap sends as route says, and the
// Stream to read its answer's body through: see Over. Its events may wait for delay. initial
// reports that the stream begins with the initial events.
func Watch(ctx context.Context, route *Route, delay time.Duration, initial bool) (context.Context, *Stream) {
	s := &Stream{pacer: pacerOf(delay), route: route, initial: initial, settles: settled + rand.N(settled)}
	if s.pacer == nil {
		return ctx, s
	}
	ctx = context.WithValue(ctx, streamKey{}, s)
	return httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{
		// A request that is tried again has another connection.
		GotConn: func(info httptrace.GotConnInfo) {
			c := info.Conn
			secure, is := c.(*tls.Conn)
			if is {
				c = secure.NetConn()
			}
			own, _ := c.(*conn)
			s.conn.Store(own)
			s.backlog.Store(nil)
			if own == nil && !is {
				s.backlog.Store(backlogOf(c))
			}
		},
	}), s
}

// chunkedBody is the type of a body that returns the content of the server's
// chunks as it is. A body of another type transforms them: the received bytes do
// not show whether an inflater, for example, can return something, so another
// read could wait while there is something to deliver.
const chunkedBody = "*http.bodyEOFSignal"

// Over makes s read body, and returns s.
func (s *Stream) Over(body io.ReadCloser) io.ReadCloser {
	if fmt.Sprintf("%T", body) != chunkedBody {
		s.conn.Store(nil)
		s.backlog.Store(nil)
	}
	if s.route.own.Load() && s.conn.Load() == nil {
		s.route.refuse() // it is of no use, as through a proxy that is reached by TLS
	}
	s.ReadCloser = body
	return s
}

// Decline reports that the answer is not to be read through s. On a connection of its own,
// the next one may be no better.
func (s *Stream) Decline() {
	if s.scheme != "" {
		s.route.refuse()
	}
}

// Bookmark reports a bookmark, and whether the initial events end there.
func (s *Stream) Bookmark(end bool) {
	s.initial = s.initial && !end
	s.route.resumes.Store(true)
}

// Close closes the body. A connection of its own that brought no event, since a proxy ended
// it or keeps the answer for itself, is not tried again for a while.
func (s *Stream) Close() error {
	if s.conn.Load() != nil && !s.served.Load() {
		s.route.refuse()
	}
	return s.ReadCloser.Close()
}

// Read implements io.Reader. A small read, as of an idle watch, reads body once.
func (s *Stream) Read(p []byte) (n int, err error) {
	defer func() { s.full = n == len(p) || err != nil }()
	n, err = s.ReadCloser.Read(p)
	if len(p) <= encoding.IdleRead {
		return n, err
	}
	begun := s.backlog.Load().begun
	if c := s.conn.Load(); c != nil {
		begun = c.begun
	}
	for err == nil && 0 < n && n < len(p) && begun() {
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
	return len(bytes.Trim(p[:line-1], "0123456789abcdefABCDEF")) == 0
}
