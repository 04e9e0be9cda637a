package connection

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kinglet-go/kinglet/internal/tests/testbubble"
	"github.com/kinglet-go/kinglet/source/internal/encoding"
)

// forever is a delay that no test waits for.
const forever = time.Hour

// streaming starts a server whose handler is write, over HTTP/1.1, with or without TLS, and
// returns the body of a watch of it. The answer ends with the test.
func streaming(t *testing.T, secure bool, delay time.Duration, write func(http.ResponseWriter)) *Stream {
	t.Helper()
	over := make(chan struct{})
	srv := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusOK)
		write(w)
		<-over
	}))
	if secure {
		srv.StartTLS()
	} else {
		srv.Start()
	}
	base := srv.Client().Transport
	route := &Route{}
	route.own.Store(true)
	ctx, s := Watch(t.Context(), route, delay, false)
	req := must(http.NewRequestWithContext(ctx, http.MethodGet, srv.URL, nil))
	resp := must(Wrap(base).RoundTrip(req))
	t.Cleanup(func() {
		close(over)
		resp.Body.Close()
		srv.Close()
	})
	s.Over(resp.Body)
	if s.conn.Load() == nil {
		t.Fatal("what the connection has received is not known")
	}
	return s
}

// send writes a chunk.
func send(w http.ResponseWriter, chunk string) {
	_, _ = io.WriteString(w, chunk)
	_ = http.NewResponseController(w).Flush()
}

// readAll reads n bytes at least.
func readAll(t *testing.T, s *Stream, n int) (got []byte, reads int) {
	t.Helper()
	buf := make([]byte, encoding.BusyRead)
	for len(got) < n {
		m, err := s.Read(buf)
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, buf[:m]...)
		reads++
	}
	return got, reads
}

// TestEventsThatAreThereTogetherAreReadTogether has one read take what ten writes sent.
func TestEventsThatAreThereTogetherAreReadTogether(t *testing.T) {
	for _, secure := range []bool{false, true} {
		t.Run(fmt.Sprintf("TLS %v", secure), func(t *testing.T) {
			want := ""
			written := make(chan struct{})
			s := streaming(t, secure, forever, func(w http.ResponseWriter) {
				for i := range 10 {
					event := strings.Repeat(string(rune('a'+i)), 6300)
					want += event
					send(w, event)
				}
				close(written)
			})
			<-written
			got, reads := readAll(t, s, len(want))
			if string(got) != want || reads > 5 {
				t.Errorf("%d reads returned %d bytes of %d", reads, len(got), len(want))
			}
		})
	}
}

// TestAReadDoesNotWaitForAnEventThatHasNotBegun: the end of a long chunk is a record of its
// own, and short pieces of the next one say nothing yet.
func TestAReadDoesNotWaitForAnEventThatHasNotBegun(t *testing.T) {
	for _, secure := range []bool{false, true} {
		for _, size := range []int{100, 9000, 60_000} {
			written := make(chan struct{})
			s := streaming(t, secure, forever, func(w http.ResponseWriter) {
				send(w, strings.Repeat("a", size))
				close(written)
			})
			<-written
			// It would be the test's timeout that ends a read that waits.
			readAll(t, s, size)
		}
	}
}

// TestConnectionsOfTheirOwnHaveABound: beyond it watches share one, and do not try to move.
func TestConnectionsOfTheirOwnHaveABound(t *testing.T) {
	gone := make(chan struct{})
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		send(w, "x")
		<-r.Context().Done()
		gone <- struct{}{}
	}))
	defer srv.Close()
	for _, c := range []struct {
		others   int32
		own, has bool
	}{{most - 1, true, true}, {most, true, false}, {most, false, false}} {
		before := open.Add(c.others)
		route := &Route{}
		route.own.Store(c.own)
		ctx, s := Watch(t.Context(), route, forever, false)
		resp := must(Wrap(srv.Client().Transport).RoundTrip(must(http.NewRequestWithContext(ctx, http.MethodGet, srv.URL, nil))))
		if s.Over(resp.Body); s.conn.Load() != nil != c.has || open.Load() != before != c.has || s.movable || route.refused() {
			t.Errorf("%+v: own %v, %d open, movable %v, refused %v", c, s.conn.Load() != nil, open.Load(), s.movable, route.refused())
		}
		resp.Body.Close()
		<-gone // the server sees the end of a connection that is not counted any more
		if open.Load() != before {
			t.Errorf("%+v: %d open, %d before", c, open.Load(), before)
		}
		open.Add(-c.others)
	}
}

func TestABodyThatTheTransportUnpacksIsReadAsItIs(t *testing.T) {
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		w.Header().Set("Content-Encoding", "gzip")
	}))
	defer srv.Close()
	route := &Route{}
	route.own.Store(true)
	ctx, s := Watch(t.Context(), route, forever, false)
	resp := must(Wrap(srv.Client().Transport).RoundTrip(must(http.NewRequestWithContext(ctx, http.MethodGet, srv.URL, nil))))
	defer resp.Body.Close()
	if s.Over(resp.Body); s.conn.Load() != nil {
		t.Error("received bytes say nothing of what an inflater has")
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

// busy makes the pacer of s think that events come all the time.
func busy(s *Stream, now time.Time) {
	for s.events.count < steady || !s.pacer.pays(1, now) {
		s.events.add(1, 4*steady, now)
	}
}

// TestABusyStreamWaitsForItsTick reads what was sent meanwhile at once.
func TestABusyStreamWaitsForItsTick(t *testing.T) {
	const delay = 30 * time.Millisecond
	for _, secure := range []bool{false, true} {
		next := make(chan struct{})
		s := streaming(t, secure, delay, func(w http.ResponseWriter) {
			for range 2 {
				send(w, strings.Repeat("a", 5000))
				<-next
			}
		})
		readAll(t, s, 5000)
		now := time.Now()
		tick := s.pacer.tick(now)
		busy(s, now)
		next <- struct{}{}
		if s.Wait(1) {
			t.Error("it is to move")
		}
		if woken := time.Now(); woken.Before(tick) {
			t.Errorf("TLS %v: it woke %v before the tick", secure, tick.Sub(woken))
		}
		readAll(t, s, 5000)
		close(next)
	}
}

// TestAStreamWhoseReadWasFilledReadsOn: net/http may hold what follows, and the connection
// nothing.
func TestAStreamWhoseReadWasFilledReadsOn(t *testing.T) {
	s := streaming(t, false, forever, func(w http.ResponseWriter) { send(w, strings.Repeat("a", 4*encoding.IdleRead)) })
	busy(s, time.Now())
	for buf := make([]byte, encoding.IdleRead); ; {
		if n, err := s.Read(buf); err != nil || n < len(buf) {
			t.Fatal(n, err)
		}
		if s.conn.Load().buf == nil {
			break
		}
	}
	waited := make(chan struct{})
	go func() { s.Wait(1); close(waited) }()
	select {
	case <-waited:
	case <-time.After(10 * time.Second):
		t.Fatal("it waits, and three quarters of what came are in net/http")
	}
}

// TestAConnectionThatIsNotAnsweredIsDoneWithout: the reflector gives the watch up.
func TestAConnectionThatIsNotAnsweredIsDoneWithout(t *testing.T) {
	srv := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }))
	defer srv.Close()
	route := &Route{}
	route.own.Store(true)
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	ctx, _ = Watch(ctx, route, forever, false)
	if _, err := Wrap(&http.Transport{}).RoundTrip(must(http.NewRequestWithContext(ctx, http.MethodGet, srv.URL, nil))); err == nil || !route.refused() {
		t.Errorf("error %v; refused: %v", err, route.refused())
	}
}

// TestAWaitEnds has a delay that lasts longer than the test.
func TestAWaitEnds(t *testing.T) {
	for name, end := range map[string]func(t *testing.T, w http.ResponseWriter, s *Stream){
		"once a large read is there": func(_ *testing.T, w http.ResponseWriter, _ *Stream) {
			send(w, strings.Repeat("a", 2*readSize))
		},
		"when it is closed": func(t *testing.T, _ http.ResponseWriter, s *Stream) {
			if err := s.Close(); err != nil {
				t.Error(err)
			}
		},
		"when the server goes": func(t *testing.T, w http.ResponseWriter, _ *Stream) {
			if c, _, err := http.NewResponseController(w).Hijack(); err == nil {
				c.Close()
			} else {
				t.Error(err)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			waiting, ended := make(chan *Stream), make(chan struct{})
			s := streaming(t, false, forever, func(w http.ResponseWriter) {
				send(w, "a")
				if s, ok := <-waiting; ok {
					end(t, w, s)
				}
				<-ended
			})
			readAll(t, s, 1)
			busy(s, time.Now())
			waiting <- s
			s.Wait(1)
			close(ended)
		})
	}
}

// TestAStreamIsWokenByTheFirstByteAfterItsTicks: at ticks the kernel was asked to be silent.
func TestAStreamIsWokenByTheFirstByteAfterItsTicks(t *testing.T) {
	next := make(chan struct{})
	s := streaming(t, true, forever, func(w http.ResponseWriter) {
		for range 3 {
			send(w, "a")
			<-next
		}
	})
	readAll(t, s, 1)
	for range 2 {
		if s.conn.Load().receive(time.Now().Add(time.Millisecond)) {
			t.Fatal("nothing was sent")
		}
		woken := make(chan bool)
		go func() { woken <- s.conn.Load().await(time.Now().Add(forever)) }()
		next <- struct{}{}
		if !<-woken {
			t.Error("it did not notice")
		}
		readAll(t, s, 1)
	}
	close(next)
}

func TestAStreamOfTenEventsASecondMovesToAConnectionOfItsOwn(t *testing.T) {
	for perSecond, want := range map[int]bool{6: false, 20: true, 1000: true} {
		synctest.Test(t, func(t *testing.T) {
			_, s := Watch(t.Context(), &Route{}, forever, false)
			s.movable = true
			s.Bookmark(false)
			moves := func(during time.Duration) (move bool) {
				for end := time.Now().Add(during); !move && time.Now().Before(end); testbubble.Pass(time.Second / time.Duration(perSecond)) {
					move = s.Wait(1)
				}
				return move
			}
			for range 10 {
				if s.Wait(100) {
					t.Errorf("%d events a second: it moves for bursts", perSecond)
				}
				testbubble.Pass(2 * settled)
			}
			if moves(settled) {
				t.Errorf("%d events a second: it moves too early", perSecond)
			}
			if got := moves(settled + time.Second); got != want || s.route.own.Load() != want {
				t.Errorf("%d events a second: %v, want %v", perSecond, got, want)
			}
		})
	}
}

func TestASilentStreamMovesToASharedConnection(t *testing.T) {
	s := streaming(t, false, time.Millisecond, func(w http.ResponseWriter) { send(w, "a") })
	readAll(t, s, 1)
	if !s.wait(1, time.Millisecond) || s.route.own.Load() {
		t.Error("it stays")
	}
}

// TestAConnectionThatCannotBeHadIsDoneWithout: watches stay with the shared one for a while.
func TestAConnectionThatCannotBeHadIsDoneWithout(t *testing.T) {
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
	}))
	defer srv.Close()
	dials := 0
	rt := &http.Transport{DialContext: func(ctx context.Context, network, address string) (net.Conn, error) {
		if dials++; dials == 1 {
			return nil, errors.New("one is enough")
		}
		return (&net.Dialer{}).DialContext(ctx, network, address)
	}}
	defer rt.CloseIdleConnections()
	wrapped, route := Wrap(rt), &Route{}
	for range 2 {
		route.own.Store(true)
		ctx, _ := Watch(t.Context(), route, forever, false)
		must(wrapped.RoundTrip(must(http.NewRequestWithContext(ctx, http.MethodGet, srv.URL, nil)))).Body.Close()
	}
	if dials != 2 {
		t.Errorf("%d connections were dialed", dials)
	}
}

func TestAServerThatIsAwayIsNoReasonToDoWithout(t *testing.T) {
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
	}))
	srv.Close()
	rt := &http.Transport{}
	route := &Route{}
	route.own.Store(true)
	ctx, _ := Watch(t.Context(), route, forever, false)
	if _, err := Wrap(rt).RoundTrip(must(http.NewRequestWithContext(ctx, http.MethodGet, srv.URL, nil))); err == nil || route.refused() || !route.own.Load() {
		t.Errorf("error %v; refused: %v, own: %v", err, route.refused(), route.own.Load())
	}
}

// TestAConnectionThatBringsNothingIsDoneWithout: a proxy may end it, or keep the answer until
// it is complete.
func TestAConnectionThatBringsNothingIsDoneWithout(t *testing.T) {
	for events, refused := range []bool{true, false} {
		s := streaming(t, false, time.Millisecond, func(w http.ResponseWriter) { send(w, "a") })
		readAll(t, s, 1)
		if !s.wait(events, time.Millisecond) {
			t.Error("it stays")
		}
		if s.Close(); s.route.refused() != refused {
			t.Errorf("%d events: refused is %v", events, !refused)
		}
	}
}

// TestAConnectionNoticesADeadPeerWithinAMinute asks the kernel what it will do.
func TestAConnectionNoticesADeadPeerWithinAMinute(t *testing.T) {
	s := streaming(t, true, forever, func(w http.ResponseWriter) { send(w, "a") })
	option := func(level, name int) (value int) {
		var err error
		if cerr := s.conn.Load().raw.Control(func(fd uintptr) { value, err = syscall.GetsockoptInt(int(fd), level, name) }); cerr != nil || err != nil {
			t.Fatal(cerr, err)
		}
		return value
	}
	if option(syscall.SOL_SOCKET, syscall.SO_KEEPALIVE) == 0 {
		t.Error("no keep-alive")
	}
	idle, interval, count := option(syscall.IPPROTO_TCP, syscall.TCP_KEEPIDLE), option(syscall.IPPROTO_TCP, syscall.TCP_KEEPINTVL), option(syscall.IPPROTO_TCP, syscall.TCP_KEEPCNT)
	if noticed := idle + count*interval; noticed > 60 {
		t.Errorf("a dead peer is noticed after %d + %d*%d = %d s", idle, count, interval, noticed)
	}
}

func TestItPaysToWaitWhileEventsComeTogether(t *testing.T) {
	now := time.Now()
	feed := func(p *pacer, every, during time.Duration) (pays bool) {
		for end := now.Add(during); now.Before(end); now = now.Add(every) {
			pays = p.pays(1, now)
		}
		return pays
	}
	p := &pacer{delay: 20 * time.Millisecond}
	if feed(p, 50*time.Millisecond, 10*time.Second) {
		t.Error("20 a second are .4 in a delay")
	}
	if !feed(p, 5*time.Millisecond, time.Second) {
		t.Error("200 a second are 4 in a delay")
	}
	if !feed(p, 14*time.Millisecond, time.Second) || feed(p, 25*time.Millisecond, 2*time.Second) {
		t.Error("once it waits, 70 a second are enough and 40 are not")
	}
	p.pays(100_000, now)
	if p.pays(0, now.Add(time.Second)) {
		t.Error("a burst is not forgotten after a second")
	}
}

func TestDelaysThatDivideEachOtherShareTicks(t *testing.T) {
	now := start.Add(time.Duration(1234567890))
	ten, fifty := pacerOf(10*time.Millisecond), pacerOf(50*time.Millisecond)
	if ten != pacerOf(10*time.Millisecond) || pacerOf(0) != nil {
		t.Error("there is one pacer for a delay, and none for no delay")
	}
	var ticks []time.Time
	for at := now; len(ticks) < 6; {
		at = ten.tick(at)
		ticks = append(ticks, at)
	}
	if tick := fifty.tick(now); !slices.Contains(ticks, tick) || tick.Sub(now) > 50*time.Millisecond || !tick.After(now) {
		t.Errorf("%v is none of %v", tick, ticks)
	}
}
