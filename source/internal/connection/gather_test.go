package connection

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/kinglet-go/kinglet/source/internal/encoding"
)

// answering starts a server of one connection that answers the first request
// with chunks, in one write, and then is silent until the test ends.
func answering(t *testing.T, chunks string) (url string) {
	t.Helper()
	return answeringWith(t, "", chunks)
}

const answerHead = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n"

// answeringWith is answering with more header lines.
func answeringWith(t *testing.T, header, chunks string) (url string) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	over, ended := make(chan struct{}), make(chan error, 1)
	go func() {
		ended <- func() error {
			conn, err := l.Accept()
			if err != nil {
				return err
			}
			defer conn.Close()
			var request [4096]byte
			if _, err := conn.Read(request[:]); err != nil {
				return err
			}
			_, err = io.WriteString(conn, answerHead+header+"\r\n"+chunks)
			<-over
			return err
		}()
	}()
	t.Cleanup(func() {
		close(over)
		l.Close()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	return "http://" + l.Addr().String()
}

// gatheredFrom gets url through a client of the test's own.
func gatheredFrom(t *testing.T, client *http.Client, url string) io.ReadCloser {
	t.Helper()
	ctx, g := Gather(t.Context())
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := client.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	body := g.Over(resp.Body)
	t.Cleanup(func() { body.Close() })
	return body
}

func plainClient(t *testing.T) *http.Client {
	tr := &http.Transport{}
	t.Cleanup(tr.CloseIdleConnections)
	return &http.Client{Transport: tr}
}

// chunkSize is more than two of net/http's buffers, so that a chunk's rest is
// read directly, and nothing of the next one with it.
const chunkSize = 9000

func chunk(letter string) string {
	return fmt.Sprintf("%x\r\n%s\r\n", chunkSize, strings.Repeat(letter, chunkSize))
}

func TestChunksThatAreThereTogetherAreReadTogether(t *testing.T) {
	if !canPeek {
		t.Log("what a connection has received is not known here")
		return
	}
	body := gatheredFrom(t, plainClient(t), answering(t, chunk("a")+chunk("b")+chunk("c")+chunk("d")))
	got := make([]byte, encoding.BusyRead)
	n, err := body.Read(got)
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

func TestAReadDoesNotWaitForAChunkThatHasNotBegun(t *testing.T) {
	for name, all := range map[string]string{
		"without the chunk's end": strings.TrimSuffix(chunk("a"), "\r\n"),
		"with nothing else":       chunk("a"),
		"half of a header":        chunk("a") + "13",
		"a header":                chunk("a") + "1388\r\n",
	} {
		t.Run(name, func(t *testing.T) {
			body := gatheredFrom(t, plainClient(t), answering(t, all))
			got := make([]byte, encoding.BusyRead)
			// It would be the test's timeout that ends a read that waits.
			for n := 0; n < chunkSize; {
				m, err := body.Read(got[n:])
				if err != nil {
					t.Fatal(err)
				}
				n += m
			}
		})
	}
}

func TestOfTLSAndHTTP2TheBodyIsReadAsItIs(t *testing.T) {
	for _, http2 := range []bool{false, true} {
		srv := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			_, _ = io.WriteString(w, "hello")
		}))
		srv.EnableHTTP2 = http2
		srv.StartTLS()
		defer srv.Close()
		body := gatheredFrom(t, srv.Client(), srv.URL)
		if _, ok := body.(*Gathered); ok {
			t.Errorf("HTTP/2 %v: what the connection has received says nothing of the body", http2)
		}
		if b, err := io.ReadAll(body); err != nil || string(b) != "hello" {
			t.Errorf("HTTP/2 %v: %q, %v", http2, b, err)
		}
	}
}

func TestAChunkHasBegunOnceSomethingOfItIsThere(t *testing.T) {
	for in, want := range map[string]bool{
		"":                       false,
		"\r\n":                   false,
		"\r\n1":                  false,
		"\r\n18a6\r\n":           false,
		"\r\n18a6\r\nx":          true,
		"18A6\r\nx":              true,
		"\n18a6\r\nx":            false,
		"\r\n\r\nx":              false,
		"18a6\nx":                false,
		"18a6;name=value\r\nx":   false,
		"x18a6\r\nx":             false,
		"\r\n0\r\n\r\n":          true, // the end, which waits for nothing
		"\x00\x00\x10\x01\r\nxy": false,
		"0123456789abcdefABCDEF": false,
	} {
		if got := chunkBegins([]byte(in)); got != want {
			t.Errorf("%q: %v, want %v", in, got, want)
		}
	}
}

func TestAClosedConnectionHasNothingReceived(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	conn, err := (&net.Dialer{}).DialContext(context.Background(), "tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	b := backlogOf(conn)
	conn.Close()
	if b != nil && b.begun() {
		t.Error("a chunk has begun on a connection that is closed")
	}
}
