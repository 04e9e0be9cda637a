package connection

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"net/http"
	"testing"
	"time"

	"github.com/kinglet-go/kinglet/source/internal/encoding"
)

const gzipHeader = "Content-Encoding: gzip\r\n"

// compressedChunks are an answer whose first chunk has all of an event, ready to
// be inflated, and whose second chunk has the beginning of what comes next,
// from which nothing can be inflated yet; nor can it with the third.
//
// The inflater asks for the end of the first chunk, five bytes, with a read of
// 4 KiB, and net/http reads as much from the connection. The second chunk ends
// there, so that the third is what the connection has received and nobody has
// read.
func compressedChunks(t *testing.T) (first []byte, chunks string) {
	t.Helper()
	const read, end = 4096, 5
	first = bytes.Repeat([]byte("first"), 8000)
	var b bytes.Buffer
	z, err := gzip.NewWriterLevel(&b, gzip.NoCompression)
	if err != nil {
		t.Fatal(err)
	}
	_, _ = z.Write(first)
	_ = z.Flush()
	whole := b.Len()
	_, _ = z.Write(bytes.Repeat([]byte("next"), 8000))
	_ = z.Flush()
	const size = read - end - len("\r\n") - len("fff\r\n")
	next := b.Bytes()[whole : whole+size+1]
	return first, fmt.Sprintf("%x\r\n%s\r\n%x\r\n%s\r\n1\r\n%s\r\n", whole, b.Bytes()[:whole], size, next[:size], next[size:])
}

// TestOfACompressedWatchNothingThatWasReadIsHeldBack: what the connection has
// received says nothing of what the inflater can make of it.
func TestOfACompressedWatchNothingThatWasReadIsHeldBack(t *testing.T) {
	want, chunks := compressedChunks(t)
	url := answeringWith(t, gzipHeader, chunks)
	body := gatheredFrom(t, plainClient(t), url)
	// A read that waits for the third chunk, which never comes, is ended.
	late := time.AfterFunc(10*time.Second, func() { body.Close() })
	defer late.Stop()
	got := make([]byte, encoding.BusyRead)
	n := 0
	for n < len(want) {
		m, err := body.Read(got[n:])
		if n += m; err != nil {
			t.Fatalf("%d bytes of %d were read: %v", n, len(want), err)
		}
	}
	if !bytes.Equal(got[:n], want) {
		t.Error("something else was read")
	}
}

// TestABodyThatSomebodyElseMadeIsReadAsItIs: a transport may undo a compression
// of its own.
func TestABodyThatSomebodyElseMadeIsReadAsItIs(t *testing.T) {
	client := plainClient(t)
	inner := client.Transport
	client.Transport = roundTripper(func(r *http.Request) (*http.Response, error) {
		resp, err := inner.RoundTrip(r)
		if err == nil {
			resp.Body = struct{ io.ReadCloser }{resp.Body}
		}
		return resp, err
	})
	if body, ok := gatheredFrom(t, client, answering(t, chunk("a"))).(*Gathered); ok {
		t.Errorf("a %T is gathered", body.ReadCloser)
	}
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }
