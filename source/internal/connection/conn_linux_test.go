package connection

import (
	"bytes"
	"context"
	"io"
	"math/rand/v2"
	"net"
	"testing"
	"time"

	"k8s.io/client-go/util/connrotation"
)

// pair returns both ends of a connection, the first as watches have it.
func pair(t *testing.T, dial func(context.Context, string, string) (net.Conn, error)) (ours, theirs net.Conn) {
	t.Helper()
	l := must(net.Listen("tcp", "127.0.0.1:0"))
	defer l.Close()
	dialed := must(dial(t.Context(), "tcp", l.Addr().String()))
	theirs = must(l.Accept())
	ours = buffered(dialed, tcpOf(dialed))
	t.Cleanup(func() { ours.Close(); theirs.Close() })
	return ours, theirs
}

// TestAConnectionReturnsARecordAtATime sends records of random lengths in random pieces, and
// reads them in others. What was returned never goes beyond a record, and begun tells
// whether a whole one is there that is not too short for an event.
func TestAConnectionReturnsARecordAtATime(t *testing.T) {
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	r := rand.New(rand.NewPCG(seed, 0))
	ours, theirs := pair(t, (&net.Dialer{}).DialContext)
	c := ours.(*conn)
	must(c.Write([]byte{handshake}))
	must(theirs.Read(make([]byte, 1)))
	var stream []byte
	ends := map[int]bool{}
	for range 300 {
		n := r.IntN(200)
		if r.IntN(3) == 0 {
			n = r.IntN(1 << 14)
		}
		stream = append(stream, 0x17, 3, 3, byte(n>>8), byte(n))
		for range n {
			stream = append(stream, byte(r.Uint32()))
		}
		ends[len(stream)] = true
	}
	pieces := rand.New(rand.NewPCG(seed, 1))
	go func() {
		for rest := stream; len(rest) > 0; {
			n := min(1+pieces.IntN(30_000), len(rest))
			if _, err := theirs.Write(rest[:n]); err != nil {
				return
			}
			rest = rest[n:]
		}
		theirs.Close()
	}()
	var got []byte
	buf := make([]byte, 1<<15)
	for {
		n, err := c.Read(buf[:1+r.IntN(len(buf))])
		for at := len(got) + 1; at < len(got)+n; at++ {
			if ends[at] {
				t.Fatalf("a read went from %d to %d, and a record ends at %d", len(got), len(got)+n, at)
			}
		}
		got = append(got, buf[:n]...)
		if err == io.EOF {
			break
		} else if err != nil {
			t.Fatal(err)
		}
		there, from := len(got)+c.hi-c.lo, len(got)
		whole := false
		for at := from + recordHeader; at <= there && ends[len(got)]; at++ {
			if ends[at] {
				whole = whole || at-from > chunkEnd
				from = at
			}
		}
		if len(got) > 0 && c.begun() != whole {
			t.Fatalf("at %d, with %d there, begun is %v", len(got), there, !whole)
		}
		if r.IntN(4) == 0 {
			c.receive(time.Now().Add(time.Duration(r.IntN(300)) * time.Microsecond))
		}
	}
	if !bytes.Equal(got, stream) {
		t.Errorf("%d bytes arrived otherwise than %d were sent", len(got), len(stream))
	}
	if n, err := c.Read(buf); n != 0 || err != io.EOF {
		t.Errorf("after the end: %d, %v", n, err)
	}
}

// TestAConnectionThatRotatesIsKnown: client-go closes it when certificates change.
func TestAConnectionThatRotatesIsKnown(t *testing.T) {
	rotating := connrotation.NewDialer((&net.Dialer{}).DialContext)
	ours, _ := pair(t, rotating.DialContext)
	c, ok := ours.(*conn)
	if !ok {
		t.Fatalf("a %T is not known", ours)
	}
	ended := make(chan error, 1)
	go func() {
		_, err := c.Read(make([]byte, 1))
		ended <- err
	}()
	rotating.CloseAll()
	if err := <-ended; err == nil {
		t.Error("it was not closed")
	}
}
