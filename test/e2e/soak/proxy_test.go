package main

import (
	"io"
	"math/rand/v2"
	"net"
	"sync"
	"testing"
)

// echo is a server that sends back what it gets.
func echo(t *testing.T) (address string) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var running sync.WaitGroup
	running.Go(func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			running.Go(func() {
				defer conn.Close()
				_, _ = io.Copy(conn, conn) // until the proxy goes
			})
		}
	})
	t.Cleanup(func() { _ = l.Close(); running.Wait() })
	return l.Addr().String()
}

// through returns a proxy and a connection through it that works.
func through(t *testing.T) (*proxy, net.Conn) {
	p, err := newProxy(echo(t))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.stop)
	conn, err := p.dial(t.Context(), "", "")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	say(t, conn, "hello")
	return p, conn
}

func say(t *testing.T, conn net.Conn, text string) {
	t.Helper()
	if _, err := conn.Write([]byte(text)); err != nil {
		t.Fatal(err)
	}
	heard := make([]byte, len(text))
	if _, err := io.ReadFull(conn, heard); err != nil || string(heard) != text {
		t.Fatalf("%q, %v", heard, err)
	}
}

func all(p *proxy, do func(*tunnel)) int { return p.some(rand.New(rand.NewPCG(1, 1)), 1, do) }

func TestAHalfOpenConnectionSwallowsAndSaysNothing(t *testing.T) {
	p, conn := through(t)
	if n := all(p, func(f *tunnel) { f.frozen.Store(true) }); n != 1 {
		t.Fatalf("%d connections", n)
	}
	if _, err := conn.Write([]byte("anybody?")); err != nil {
		t.Fatal(err)
	}
	silent := make(chan error, 1)
	go func() {
		_, err := conn.Read(make([]byte, 1))
		silent <- err
	}()
	// Another one is as good as ever, and what it says comes later.
	other, err := p.dial(t.Context(), "", "")
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close()
	say(t, other, "hello")
	select {
	case err := <-silent:
		t.Fatalf("it answered: %v", err)
	default:
	}
	p.hangUp()
	if err := <-silent; err == nil {
		t.Error("data came out of a half-open connection")
	}
}

func TestATornConnectionEndsInTheMidstOfAPiece(t *testing.T) {
	p, conn := through(t)
	all(p, func(f *tunnel) { f.torn.Store(true) })
	if _, err := conn.Write([]byte("12345678")); err != nil {
		t.Fatal(err)
	}
	got, err := io.ReadAll(conn)
	if len(got) >= 8 || err == nil {
		t.Errorf("%q, %v: neither torn nor reset", got, err)
	}
}

func TestConnectionsAreResetAndRefused(t *testing.T) {
	p, conn := through(t)
	all(p, (*tunnel).reset)
	if _, err := conn.Read(make([]byte, 1)); err == nil {
		t.Error("it is not reset")
	}
	p.refuse.Store(true)
	// The reset may come before the dial has returned.
	if refused, err := p.dial(t.Context(), "", ""); err == nil {
		defer refused.Close()
		if _, err := refused.Read(make([]byte, 1)); err == nil {
			t.Error("it is not refused")
		}
	}
	p.heal()
	again, err := p.dial(t.Context(), "", "")
	if err != nil {
		t.Fatal(err)
	}
	defer again.Close()
	say(t, again, "hello")
}
