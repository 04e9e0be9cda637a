package main

import (
	"cmp"
	"io"
	"math/rand/v2"
	"net"
	"testing"
	"time"
)

// Each trouble breaks a connection in its way, and the next one is as good as ever.
func TestTheProxyDoesToConnectionsWhatItIsTold(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	go func() { // sends back what it gets
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			go func() { defer conn.Close(); _, _ = io.Copy(conn, conn) }()
		}
	}()
	p, err := newProxy(l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer p.stop()
	for _, trouble := range []struct {
		name   string
		make   func(*tunnel)
		silent bool
	}{
		{"half-open", func(f *tunnel) { f.frozen.Store(true) }, true},
		{"torn", func(f *tunnel) { f.torn.Store(true) }, false},
		{"reset", (*tunnel).reset, false},
	} {
		conn, err := p.dial(t.Context(), "", "")
		if err != nil {
			t.Fatal(err)
		}
		heard := make([]byte, 8)
		_, _ = conn.Write([]byte("12345678"))
		if _, err := io.ReadFull(conn, heard); err != nil || string(heard) != "12345678" {
			t.Fatalf("before it is %s: %q, %v", trouble.name, heard, err)
		}
		p.some(rand.New(rand.NewPCG(1, 1)), 1, trouble.make)
		_, broken := conn.Write([]byte("12345678"))
		_ = conn.SetReadDeadline(time.Now().Add(200 * time.Millisecond))
		got, err := io.ReadAll(conn)
		err = cmp.Or(broken, err)
		timeout, isTimeout := err.(net.Error)
		if silent := isTimeout && timeout.Timeout() && len(got) == 0; silent != trouble.silent || len(got) >= 8 || err == nil {
			t.Errorf("%s: %q, %v", trouble.name, got, err)
		}
		p.hangUp()
		conn.Close()
	}
	p.refuse.Store(true)
	// The reset may come before the dial has returned.
	if conn, err := p.dial(t.Context(), "", ""); err == nil {
		if _, err := conn.Read(make([]byte, 1)); err == nil {
			t.Error("it is not refused")
		}
		conn.Close()
	}
}
