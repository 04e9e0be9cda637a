package cluster

import (
	"errors"
	"net"
	"syscall"
	"testing"
)

func TestACutListenerResetsAndRefusesButDoesNotFailAccept(t *testing.T) {
	tcp, err := listen("")
	if err != nil {
		t.Fatal(err)
	}
	l := newCutListener(tcp)
	accepted := make(chan error, 2)
	go func() {
		for {
			_, err := l.Accept()
			accepted <- err
			if err != nil {
				return
			}
		}
	}()
	client, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	if err := <-accepted; err != nil {
		t.Fatal(err)
	}

	l.cut()
	if _, err := client.Read(make([]byte, 1)); !errors.Is(err, syscall.ECONNRESET) {
		t.Errorf("the client got %v, want a reset", err)
	}
	if conn, err := net.Dial("tcp", l.Addr().String()); err == nil {
		_ = conn.Close()
		t.Error("a new connection was accepted")
	}
	select {
	case err := <-accepted:
		t.Errorf("Accept returned %v before Close", err)
	default:
	}
	_ = l.Close()
	if err := <-accepted; !errors.Is(err, net.ErrClosed) {
		t.Errorf("Accept returned %v, want net.ErrClosed", err)
	}
	again, err := listen(l.Addr().String())
	if err != nil {
		t.Fatalf("the address is not free again: %v", err)
	}
	_ = again.Close()
}

func TestAConnectionThatIsAcceptedAfterTheCutIsCut(t *testing.T) {
	var conns connections
	conns.cutAll()
	ours, theirs := net.Pipe()
	conns.track(ours)
	if _, err := theirs.Read(make([]byte, 1)); err == nil {
		t.Error("it lives")
	}
}

func TestAClosedConnectionIsForgotten(t *testing.T) {
	var conns connections
	ours, _ := net.Pipe()
	if err := conns.track(ours).Close(); err != nil || len(conns.open) != 0 {
		t.Errorf("closed with %v, %d are known", err, len(conns.open))
	}
}
