package connection

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/kinglet-go/kinglet/source/internal/encoding"
)

// answerTo starts a server of one connection, which answers a request with chunks, in one
// write, and then is silent until the test ends. It returns the stream of a watch of it.
func answerTo(t *testing.T, chunks string) *Stream {
	t.Helper()
	l := must(net.Listen("tcp", "127.0.0.1:0"))
	over, ended := make(chan struct{}), make(chan error, 1)
	go func() {
		ended <- func() error {
			c, err := l.Accept()
			if err != nil {
				return err
			}
			defer c.Close()
			var request [4096]byte
			if _, err := c.Read(request[:]); err != nil {
				return err
			}
			_, err = io.WriteString(c, "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"+chunks)
			<-over
			return err
		}()
	}()
	base := &http.Transport{}
	ctx, s := Watch(t.Context(), &Route{}, time.Hour, false)
	req := must(http.NewRequestWithContext(ctx, http.MethodGet, "http://"+l.Addr().String(), nil))
	resp := must(Wrap(base).RoundTrip(req))
	t.Cleanup(func() {
		resp.Body.Close()
		close(over)
		l.Close()
		if err := <-ended; err != nil {
			t.Error(err)
		}
		base.CloseIdleConnections()
	})
	s.Over(resp.Body)
	if s.conn.Load() != nil {
		t.Fatal("it has a connection of its own")
	}
	return s
}

// chunkSize is more than two of net/http's buffers, so that a chunk's rest is read directly,
// and nothing of the next one with it.
const chunkSize = 9000

func chunk(letter string) string {
	return fmt.Sprintf("%x\r\n%s\r\n", chunkSize, strings.Repeat(letter, chunkSize))
}

func TestChunksOfASharedConnectionThatAreThereTogetherAreReadTogether(t *testing.T) {
	s := answerTo(t, chunk("a")+chunk("b")+chunk("c")+chunk("d"))
	got := make([]byte, encoding.BusyRead)
	n, err := s.Read(got)
	if err != nil {
		t.Fatal(err)
	}
	want := ""
	for _, letter := range []string{"a", "b", "c", "d"} {
		want += strings.Repeat(letter, chunkSize)
	}
	if string(got[:n]) != want {
		t.Errorf("one read returned %d bytes of %d", n, len(want))
	}
}

func TestAReadOfASharedConnectionDoesNotWaitForAChunkThatHasNotBegun(t *testing.T) {
	for name, all := range map[string]string{
		"without the chunk's end": strings.TrimSuffix(chunk("a"), "\r\n"),
		"with nothing else":       chunk("a"),
		"half of a header":        chunk("a") + "13",
		"a header":                chunk("a") + "1388\r\n",
	} {
		t.Run(name, func(t *testing.T) {
			s := answerTo(t, all)
			got := make([]byte, encoding.BusyRead)
			// It would be the test's timeout that ends a read that waits.
			for n := 0; n < chunkSize; {
				m, err := s.Read(got[n:])
				if err != nil {
					t.Fatal(err)
				}
				n += m
			}
		})
	}
}
